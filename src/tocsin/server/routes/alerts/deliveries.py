"""Routes of dead letters and of the replays that send them again.

Next: ``server/alerts/dead_letters.py``.
"""

from __future__ import annotations

import re
from typing import Annotated
from uuid import uuid4

from fastapi import Query, Response
from starlette.concurrency import run_in_threadpool

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.message import MessageStatus
from tocsin.model.replay import DeadLetter, ForgetRequest, Replay, ReplayState, Selection
from tocsin.server.access.pages import visible_page
from tocsin.server.access.permissions import require
from tocsin.server.alerts import dead_letters
from tocsin.server.alerts.hourly_counts import count_trial
from tocsin.server.http.answer_shapes import json_of
from tocsin.server.http.body_values import parse_id, value_in
from tocsin.server.http.errors import parse_as
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, answer, list_answer
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.outbox.dead_letters import DeadLetterPlace

ROW = ENTITY_TYPES["eventsubscription"]

_CURSOR = re.compile(r"(?P<at>\d{1,15})\.(?P<id>[0-9a-f-]{36})")
_CRITERIA = ("alert", "destination", "reason", "since", "until")
_KEYS = frozenset({"message", "delivered", *_CRITERIA})
_AT_ONCE = 20
_MOST_REPLAYS = 100
Named = Annotated[str | None, Query(max_length=300, description="Id or name of an alert.")]

router = DeclaredRoutes(prefix="/events/deliveries", tags=["subscriptions"])


@router.get("", openapi_extra=answers("DeadLetterPage", refuses="404"))
def list_dead_letters(
    caller: Asked,
    *,
    alert: Named = None,
    destination: Annotated[str | None, Query(max_length=300, description="Id or name of a destination.")] = None,
    reason: Annotated[str | None, Query(max_length=40, description="Why they failed, e.g. `rejected`.")] = None,
    since: Annotated[str | None, Query(max_length=40)] = None,
    until: Annotated[str | None, Query(max_length=40, description="End: `1d`, a date, or epoch milliseconds.")] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: Annotated[str | None, Query(max_length=60)] = None,
) -> Response:
    """List dead letters, newest first: messages that were given up, of alerts that you may edit.

    ``alert`` and ``destination`` are ids or names; ``since`` and ``until`` say when they were given up (``7d``, a date,
    epoch ms). A ``reason`` such as ``muted`` also finds what was not sent on purpose.
    """
    require(caller, Operation.VIEW_BASIC, ROW)
    selection = dead_letters.Wanted(alert, destination, reason, since, until).selection(caller)
    letters, start = caller.parts.alert_stores.dead_letters, None if after is None else _place(after)

    def page(last: DeadLetter | None, count: int) -> BoundedList[DeadLetter]:
        place = start if last is None else DeadLetterPlace(last.updated_at_ms, last.id)
        return letters.page(selection, place, count)

    read = visible_page(page, lambda found: dead_letters.shown_letters(found, caller), limit)
    paging = {"after": f"{read.last.updated_at_ms}.{read.last.id}"} if read.has_more and read.last else {}
    return answer({"data": dead_letters.letters_json(read.entries, caller), "paging": paging})


@router.post("/replays", status_code=202, openapi_extra=answers("Replay", reads="ReplayRequest"))
def start_replay(body: DocumentBody, caller: Asked) -> Response:
    """Send dead letters again, behind due messages: one (``message``), or those that a selection covers.

    A selection is an ``alert``, ``destination``, ``reason``, ``since`` and ``until``, as in the list. One message that
    was delivered is sent again with ``delivered: true``.
    """
    require(caller, Operation.VIEW_BASIC, ROW)
    if unknown := sorted(body.keys() - _KEYS):
        raise InvalidInput(f"is unknown; known keys: {', '.join(sorted(_KEYS))}", field=unknown[0])
    request = {key: value for key, value in body.items() if value is not None}
    if not request.keys() - {"delivered"}:
        raise InvalidInput("Say what to replay: a message, or an alert, destination, reason, since or until.")
    started = _of_one(request, caller) if "message" in request else _of_many(request, caller)
    return answer(
        json_of(dead_letters.REPLAY, started),
        202,
        {"Location": f"{caller.root}/api/v1{router.prefix}/replays/{started.id}"},
    )


@router.post("/forget", openapi_extra=answers("ForgottenMessages", reads="ForgetRequest"))
def forget_dead_letters(body: DocumentBody, caller: Asked) -> Response:
    """Let dead letters be none any more (``messages``, at most 100 ids), for a ``reason`` that their histories show.

    They are listed by the reason `forgotten` from then on, and can still be replayed.
    """
    require(caller, Operation.VIEW_BASIC, ROW)
    request = parse_as(ForgetRequest, body)
    letters = dead_letters.found_letters([str(one) for one in request.messages], caller)
    because = f"{caller.actor.name}: {request.reason}"
    now_ms = caller.parts.clock.now_ms()
    count = caller.parts.alert_stores.dead_letters.forget([one.id for one in letters], because=because, now_ms=now_ms)
    return answer({"forgotten": count})


@router.get("/replays", openapi_extra=answers("ReplayPage"))
def list_replays(caller: Asked) -> Response:
    """List your newest replays; administrators see those of everybody."""
    require(caller, Operation.VIEW_BASIC, ROW)
    requester_id = None if caller.actor.is_admin else caller.actor.id
    replays = caller.parts.alert_stores.replays.newest(requester_id, limit=_MOST_REPLAYS)
    return list_answer([json_of(dead_letters.REPLAY, one) for one in replays])


@router.get("/replays/{replay_id}", openapi_extra=answers("Replay"))
def read_replay(replay_id: PathId, caller: Asked) -> Response:
    """Return the state and progress of a replay."""
    require(caller, Operation.VIEW_BASIC, ROW)
    return answer(json_of(dead_letters.REPLAY, _own_replay(str(replay_id), caller)))


@router.delete("/replays/{replay_id}", openapi_extra=answers("Replay"))
def cancel_replay(replay_id: PathId, caller: Asked) -> Response:
    """Cancel a replay: waiting messages stay as they were, messages in hand are sent."""
    require(caller, Operation.VIEW_BASIC, ROW)
    replay = _own_replay(str(replay_id), caller)
    caller.parts.alert_stores.replays.cancel(replay.id)
    return answer(json_of(dead_letters.REPLAY, _advance(replay.id, caller)))


@router.get("/{message_id}", openapi_extra=answers("Delivery"))
async def read_delivery(message_id: PathId, caller: Asked) -> Response:
    """Return a message with all attempts, and the request that a replay would send, secrets masked."""
    return answer(await _read(str(message_id), caller))


async def _read(message_id: str, caller: Caller) -> Document:
    letter, document, attempts = await run_in_threadpool(_letter_and_attempts, message_id, caller)
    rehearsal = await run_in_threadpool(dead_letters.rehearsed_dispatch, letter, caller)
    if isinstance(rehearsal, str):
        return {**document, "attempts": attempts, "requests": [], "requestsNote": f"Not shown: {rehearsal}."}
    return {**document, "attempts": attempts, "requests": await dead_letters.rehearse(*rehearsal, caller)}


def _letter_and_attempts(message_id: str, caller: Caller) -> tuple[DeadLetter, Document, list[Document]]:
    require(caller, Operation.VIEW_BASIC, ROW)
    letter = dead_letters.found_letter(message_id, caller)
    return letter, dead_letters.letters_json([letter], caller)[0], dead_letters.attempts_json(message_id, caller)


def _of_one(request: Document, caller: Caller) -> Replay:
    if surplus := sorted(request.keys() - {"message", "delivered"}):
        raise InvalidInput("cannot be combined with message", field=surplus[0])
    delivered = value_in(request, "delivered", bool, "must be true or false", default=False)
    letter = dead_letters.found_letter(parse_id(request["message"], "must be an id", field="message"), caller)
    if delivered and letter.status is MessageStatus.DELIVERED:
        count_trial(caller)
    replay = _new(Selection(), caller)
    caller.parts.alert_stores.replays.add_of_one(replay, letter.id, delivered=delivered)
    return _advance(replay.id, caller)


def _of_many(request: Document, caller: Caller) -> Replay:
    if "delivered" in request:
        raise InvalidInput("is for a single message: send its id as message", field="delivered")
    for key in ("alert", "destination", "reason"):
        if key in request and not isinstance(request[key], str):
            raise InvalidInput("must be a string", field=key)
    criteria = dead_letters.Wanted(**{key: request.get(key) for key in _CRITERIA})
    replay = _new(criteria.selection(caller), caller)
    caller.parts.alert_stores.replays.add(replay)
    return _advance(replay.id, caller)


def _new(selection: Selection, caller: Caller) -> Replay:
    return Replay(str(uuid4()), caller.actor.id, caller.parts.clock.now_ms(), selection, ReplayState.COLLECTING)


def _advance(replay_id: str, caller: Caller) -> Replay:
    """Return a replay that has begun to collect or take back its messages; workers go on with what is left."""
    for _ in range(_AT_ONCE):
        if not caller.parts.alert_stores.replays.advance(replay_id, now_ms=caller.parts.clock.now_ms()):
            break
    return _own_replay(replay_id, caller)


def _own_replay(replay_id: str, caller: Caller) -> Replay:
    """Return a replay of the caller's; administrators have access to all."""
    replay = caller.parts.alert_stores.replays.find(replay_id)
    if replay is None or not (caller.actor.is_admin or replay.requested_by == caller.actor.id):
        raise NotFound(f"replay {replay_id} not found")
    return replay


def _place(cursor: str) -> DeadLetterPlace:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidInput("is not a cursor of this list", field="after")
    return DeadLetterPlace(int(match["at"]), match["id"])
