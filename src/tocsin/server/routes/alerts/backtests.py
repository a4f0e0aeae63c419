"""Routes of backtests: request, progress, result and cancellation; the pipeline runs them.

Next: ``server/alerts/backtests.py``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated
from uuid import uuid4

from fastapi import Query, Response
from starlette.concurrency import run_in_threadpool

from tocsin.alerts.request import check_alert, parse_alert
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.operations import new_entity_id
from tocsin.model.access import Operation
from tocsin.model.backtest import Backtest
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.requested_job import OPEN, JobState
from tocsin.model.stored import Key
from tocsin.server.access.permissions import require, visible_document, visible_references
from tocsin.server.alerts.backtests import GIVEN_UP_MS, NO_PIPELINE, backtest_json, in_sight
from tocsin.server.alerts.facts import read_receivers
from tocsin.server.alerts.related import check_related
from tocsin.server.alerts.time_arguments import moment
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, answer
from tocsin.server.routes.alerts.subscriptions import check_resources, put_over

ROW = ENTITY_TYPES["eventsubscription"]

_UNNAMED = "backtest"
_LOOK_EVERY_S = 0.1
_NAMED_TYPES = {"owners": ("user", "team"), "domains": ("domain",)}
"""Of which types are what the keys of an alert name."""

router = DeclaredRoutes(prefix=f"/{ROW.collection}/backtest", tags=["subscriptions"])

Wait = Annotated[float, Query(alias="wait", ge=0, le=30, description="Seconds to wait for the result.")]


@router.post("", openapi_extra=answers("Backtest", reads="BacktestRequest", also=("200", "202"), never="409"))
async def ask(body: DocumentBody, caller: Asked, *, wait: Wait = 3.0) -> Response:
    """Start a backtest of an alert (``id``, or the fields of a new one) from ``since`` to ``until``.

    Answers 200 with the result if it is there in time, else 202 and where to look for it.
    """
    backtest = await run_in_threadpool(_add, body, caller)
    document = await _await_result(backtest.id, caller, wait)
    response = answer(document)
    if document["state"] in OPEN:
        response.status_code = 202
    response.headers["Location"] = f"{caller.root}/api/v1/{ROW.collection}/backtest/{backtest.id}"
    return response


@router.get("/{backtest_id}", openapi_extra=answers("Backtest"))
async def read(backtest_id: PathId, caller: Asked, *, wait: Wait = 0.0) -> Response:
    """Return the state and result of a backtest, after at most ``wait`` seconds."""
    return answer(await _await_result(str(backtest_id), caller, wait))


@router.delete("/{backtest_id}", openapi_extra=answers("Backtest", never="409"))
def cancel(backtest_id: PathId, caller: Asked) -> Response:
    """Cancel a backtest; a finished one stays."""
    backtest = _own_backtest(str(backtest_id), caller)
    caller.parts.backtests.cancel(backtest, now_ms=caller.parts.clock.now_ms())
    return answer(_current_json(backtest.id, caller))


async def _await_result(backtest_id: str, caller: Caller, wait: float) -> Document:
    """Return a backtest as soon as it is over; after ``wait`` seconds in its current state."""
    give_up = time.monotonic() + wait
    document = await run_in_threadpool(_current_json, backtest_id, caller)
    while document["state"] in OPEN and time.monotonic() < give_up:
        await asyncio.sleep(_LOOK_EVERY_S)
        document = await run_in_threadpool(_current_json, backtest_id, caller)
    return document


def _add(body: Document, caller: Caller) -> Backtest:
    now_ms = caller.parts.clock.now_ms()
    window = {key: moment(body[key], key, now_ms) for key in ("since", "until") if body.get(key) is not None}
    since_ms, until_ms = window.get("since"), window.get("until")
    if since_ms is not None and until_ms is not None and since_ms > until_ms:
        raise InvalidInput("must not be later than until", field="since")
    request = {key: value for key, value in body.items() if key not in ("since", "until")}
    alert = _alert(request, caller)
    backtest = Backtest(str(uuid4()), caller.actor.id, now_ms, alert, since_ms, until_ms, JobState.WAITING)
    caller.parts.backtests.add(backtest)
    return backtest


def _alert(request: Document, caller: Caller) -> Document:
    """Return the alert that is meant: a stored one, with what is to be different about it, or a new one."""
    stored_alert: Document = {}
    if request.get("id") is not None:
        if not isinstance(request["id"], str):
            raise InvalidInput("must be the id of an alert", field="id")
        stored_alert = visible_document(ROW, Key.by_id(request["id"]), caller)
    else:
        require(caller, Operation.CREATE, ROW)
    fields = {"name": _UNNAMED, "alertType": "Notification", **put_over(stored_alert, request)}
    secrets = partial(caller.parts.subscriptions.secrets_of, stored_alert["id"]) if stored_alert else None
    draft = parse_alert(fields, before=stored_alert or None, secrets=secrets, new_id=new_entity_id)
    checked_alert = check_alert(draft, read_receivers(draft.names, caller.parts.alert_stores.names))
    check_resources(checked_alert.resources, caller)
    alert = checked_alert.document
    check_related(alert, stored_alert or None, caller)
    identity = {"id": stored_alert.get("id") or new_entity_id(), "fullyQualifiedName": alert["name"]}
    return alert | _completed_references(alert, caller) | identity


def _completed_references(alert: Document, caller: Caller) -> Document:
    """Return the keys that name owners and domains, with references in place of names.

    Raises
    ------
    NotFound : nothing that the caller may see has this name
    """
    keys = [key for key in _NAMED_TYPES if any(isinstance(one, str) for one in alert.get(key) or ())]
    return {key: _with_references(alert[key], _NAMED_TYPES[key], caller) for key in keys}


def _with_references(members: Sequence[str | Document], types: Sequence[str], caller: Caller) -> list[Document]:
    """Return members with references in place of names, which are looked up together."""
    names = [one for one in members if isinstance(one, str)]
    references = caller.parts.alert_stores.names.references_of(types, names)
    visible_ids = {one["id"] for one in visible_references(caller, list(references.values()))}
    for name in names:
        if name not in references or references[name]["id"] not in visible_ids:
            raise NotFound(f"{' or '.join(types)} {name} not found")
    return [references[one] if isinstance(one, str) else one for one in members]


def _own_backtest(backtest_id: str, caller: Caller) -> Backtest:
    """Return a backtest of the caller's; administrators have access to all."""
    backtest = caller.parts.backtests.find(backtest_id)
    if backtest is None or not (caller.actor.is_admin or backtest.requested_by == caller.actor.id):
        raise NotFound(f"backtest {backtest_id} not found")
    return backtest


def _current_json(backtest_id: str, caller: Caller) -> Document:
    """Return a backtest as it is shown; one that no pipeline came for fails here."""
    backtest = _own_backtest(backtest_id, caller)
    backtests, now_ms = caller.parts.backtests, caller.parts.clock.now_ms()
    seen_at_ms = backtests.pipeline_seen_at_ms()
    if backtest.is_open and now_ms - max(backtest.requested_at_ms, seen_at_ms) > GIVEN_UP_MS:
        backtests.fail(backtest, NO_PIPELINE, now_ms=now_ms)
        backtest = _own_backtest(backtest_id, caller)
    ahead = backtests.ahead_of(backtest) if backtest.state is JobState.WAITING else 0
    if backtest.result is not None:
        backtest = replace(backtest, result=in_sight(backtest, backtest.result, caller.visibility))
    return backtest_json(backtest, ahead=ahead, seen_ago_ms=now_ms - seen_at_ms)
