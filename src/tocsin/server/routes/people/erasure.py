"""Routes of erasures: administrators request one and read its certificate; the pipeline runs it.

Next: ``jobs/erasure.py``, ``store/upkeep/erasure/requests.py``.
"""

from __future__ import annotations

from uuid import uuid4

from fastapi import Response

from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.erasure import Erasure
from tocsin.model.people import Person
from tocsin.model.requested_job import JobState
from tocsin.server.alerts.backtests import NO_PIPELINE, UNSEEN_MS
from tocsin.server.http.answer_shapes import json_of
from tocsin.server.http.erasure_shape import ERASURE, ToldErasure
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, answer

router = DeclaredRoutes(prefix="/users", tags=["users"])


@router.post("/{user_id}/erase", openapi_extra=answers("Erasure", reads="ErasureRequest", also=("202",)))
def ask(user_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Erase a user: hard-delete it, and replace its names and addresses by a pseudonym in all stored data.

    ``confirm`` is the name of the user, or the id where it is deleted already; with ``dryRun`` nothing is changed.
    """
    erasure = _erasure_of(str(user_id), body, caller)
    caller.parts.erasures.add(erasure)
    response = answer(json_of(ERASURE, _with_message(erasure, caller)))
    response.status_code = 202
    response.headers["Location"] = f"{caller.root}/api/v1/users/{user_id}/erase"
    return response


@router.get("/{user_id}/erase", openapi_extra=answers("Erasure", never="409"))
def read(user_id: PathId, caller: Asked) -> Response:
    """Return the newest erasure of a user: its state, then its certificate."""
    _check_administrator(caller)
    erasure = caller.parts.erasures.newest_of(str(user_id))
    if erasure is None:
        raise NotFound(f"no erasure of user {user_id} was requested")
    return answer(json_of(ERASURE, _with_message(erasure, caller)))


def _with_message(erasure: Erasure, caller: Caller) -> ToldErasure:
    """Return an erasure, and what there is to say about its state."""
    unseen_ms = caller.parts.clock.now_ms() - caller.parts.erasures.pipeline_seen_at_ms()
    is_waiting = erasure.state is JobState.WAITING and unseen_ms > UNSEEN_MS
    return ToldErasure(erasure, NO_PIPELINE if is_waiting else None)


def _erasure_of(user_id: str, body: Document, caller: Caller) -> Erasure:
    """Return the erasure that a body requests, once everything about it is right."""
    _check_administrator(caller)
    if unknown := body.keys() - {"dryRun", "confirm"}:
        raise InvalidInput("is unknown; send dryRun, confirm", field=min(unknown))
    is_dry = body.get("dryRun", False)
    if not isinstance(is_dry, bool):
        raise InvalidInput("must be true or false", field="dryRun")
    person = caller.parts.people.by_id(user_id)
    identity = caller.parts.erasures.identity_of(user_id)
    if person is None and not identity.names:
        raise NotFound(f"user {user_id} not found: nothing that is stored names it")
    if user_id == caller.actor.id:
        raise InvalidInput("is you: another administrator has to erase you", field="id")
    if not is_dry:
        _check_confirmation(body.get("confirm"), person, user_id)
    now_ms = caller.parts.clock.now_ms()
    return Erasure(str(uuid4()), user_id, caller.actor.id, now_ms, is_dry, identity)


def _check_administrator(caller: Caller) -> None:
    if not caller.actor.is_admin:
        raise Forbidden("Only administrators erase users.")


def _check_confirmation(confirmation: object, person: Person | None, user_id: str) -> None:
    expected = user_id if person is None else person.name
    if confirmation != expected:
        expectation = "the id of the user" if person is None else "the name of the user"
        raise InvalidInput(f"must be {expectation}: an erasure cannot be taken back", field="confirm")
