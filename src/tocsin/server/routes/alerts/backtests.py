"""Routes of backtests: request, progress, result and cancellation; the pipeline runs them.

Next: ``server/alerts/backtests.py``.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Query, Response
from starlette.concurrency import run_in_threadpool

from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.operations import new_entity_id
from tocsin.model.access import Operation
from tocsin.model.backtest import OPEN, Backtest, BacktestState
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import require
from tocsin.server.alerts.backtests import GIVEN_UP_MS, NO_PIPELINE, backtest_json, in_sight
from tocsin.server.alerts.related import check_related
from tocsin.server.alerts.request import checked_alert
from tocsin.server.alerts.time_arguments import moment
from tocsin.server.http.request import Asked, Caller, DocumentBody, PathId, answer
from tocsin.server.routes.alerts.subscriptions import check_resources, put_over
from tocsin.server.routes.entities.crud import found

ROW = ENTITY_TYPES["eventsubscription"]

_UNNAMED = "backtest"
_LOOK_EVERY_S = 0.1

router = APIRouter(prefix=f"/{ROW.collection}/backtest", tags=["subscriptions"])

Wait = Annotated[float, Query(alias="wait", ge=0, le=30, description="Seconds to wait for the result.")]


@router.post("")
async def ask(body: DocumentBody, caller: Asked, *, wait: Wait = 3.0) -> Response:
    """Start a backtest of an alert (``id``, or the fields of a new one) from ``since`` to ``until``.

    Answers 200 with the result if it is there in time, else 202 and where to look for it.
    """
    asked = await run_in_threadpool(_added, body, caller)
    shown = await _awaited(asked.id, caller, wait)
    response = answer(shown)
    if shown["state"] in OPEN:
        response.status_code = 202
    response.headers["Location"] = f"{caller.root}/api/v1/{ROW.collection}/backtest/{asked.id}"
    return response


@router.get("/{backtest_id}")
async def read(backtest_id: PathId, caller: Asked, *, wait: Wait = 0.0) -> Response:
    """Return the state and result of a backtest, after at most ``wait`` seconds."""
    return answer(await _awaited(str(backtest_id), caller, wait))


@router.delete("/{backtest_id}")
def cancel(backtest_id: PathId, caller: Asked) -> Response:
    """Cancel a backtest; a finished one stays."""
    asked = _own(str(backtest_id), caller)
    caller.parts.backtests.cancel(asked, now_ms=caller.parts.clock.now_ms())
    return answer(_shown(asked.id, caller))


async def _awaited(backtest_id: str, caller: Caller, wait: float) -> Document:
    """Return a backtest as soon as it is over; after ``wait`` seconds in its current state."""
    give_up = time.monotonic() + wait
    shown = await run_in_threadpool(_shown, backtest_id, caller)
    while shown["state"] in OPEN and time.monotonic() < give_up:
        await asyncio.sleep(_LOOK_EVERY_S)
        shown = await run_in_threadpool(_shown, backtest_id, caller)
    return shown


def _added(body: Document, caller: Caller) -> Backtest:
    now_ms = caller.parts.clock.now_ms()
    window = {key: moment(body[key], key, now_ms) for key in ("since", "until") if body.get(key) is not None}
    since_ms, until_ms = window.get("since"), window.get("until")
    if since_ms is not None and until_ms is not None and since_ms > until_ms:
        raise InvalidInput("must not be later than until", field="since")
    request = {key: value for key, value in body.items() if key not in ("since", "until")}
    alert = _alert(request, caller)
    asked = Backtest(str(uuid4()), caller.actor.id, now_ms, alert, since_ms, until_ms, BacktestState.WAITING)
    caller.parts.backtests.add(asked)
    return asked


def _alert(request: Document, caller: Caller) -> Document:
    """Return the alert that is meant: a stored one, with what is to be different about it, or a new one."""
    known: Document = {}
    if request.get("id") is not None:
        if not isinstance(request["id"], str):
            raise InvalidInput("must be the id of an alert", field="id")
        known = found(ROW, Key.by_id(request["id"]), caller)
    else:
        require(caller, Operation.CREATE, ROW)
    meant = {"name": _UNNAMED, "alertType": "Notification", **put_over(known, request)}
    alert = checked_alert(
        meant,
        before=known or None,
        secrets=lambda: caller.parts.subscriptions.secrets_of(known["id"]) if known else {},
        names=caller.parts.people,
        new_id=new_entity_id,
    ).document
    check_resources(alert, caller)
    check_related(alert, known or None, caller)
    identity = {"id": known.get("id") or new_entity_id(), "fullyQualifiedName": alert["name"]}
    return alert | identity


def _own(backtest_id: str, caller: Caller) -> Backtest:
    """Return a backtest of the caller's; administrators have access to all."""
    asked = caller.parts.backtests.find(backtest_id)
    if asked is None or not (caller.actor.is_admin or asked.requested_by == caller.actor.id):
        raise NotFound(f"backtest {backtest_id} not found")
    return asked


def _shown(backtest_id: str, caller: Caller) -> Document:
    """Return a backtest as it is shown; one that no pipeline came for fails here."""
    asked = _own(backtest_id, caller)
    backtests, now_ms = caller.parts.backtests, caller.parts.clock.now_ms()
    seen_at_ms = backtests.pipeline_seen_at_ms()
    if asked.is_open and now_ms - max(asked.requested_at_ms, seen_at_ms) > GIVEN_UP_MS:
        backtests.fail(asked, NO_PIPELINE, now_ms=now_ms)
        asked = _own(backtest_id, caller)
    ahead = backtests.ahead_of(asked) if asked.state is BacktestState.WAITING else 0
    asked = asked if asked.result is None else replace(asked, result=in_sight(asked, asked.result, caller.visibility))
    return backtest_json(asked, ahead=ahead, seen_ago_ms=now_ms - seen_at_ms)
