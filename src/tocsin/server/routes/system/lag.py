"""Routes of the lags of readers of the log, for administrators and for who may read audit logs.

Next: ``server/lag.py``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Response

from tocsin.model.access import Operation
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.access.permissions import require_apart
from tocsin.server.http.answer_shapes import json_of
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.lag import ingest_metrics, lag_json, lag_metrics
from tocsin.server.openapi.administration_schemas import DELAY_PERIOD
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, answer

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Media type of Prometheus' text format."""

_SPANS = {"1h": (12, 300_000), "24h": (24, 3_600_000), "7d": (28, 21_600_000)}
"""Of each span the number of periods, and their length in milliseconds."""

router = DeclaredRoutes(prefix="/events", tags=["events"])
metrics_router = DeclaredRoutes(include_in_schema=False)


@router.get("/lag", openapi_extra=answers("EventLag"))
def read_lag(caller: Asked) -> Response:
    """Return the lag of each reader of the log, and since when it grows.

    For administrators, and people and bots with the operation `AuditLogs` on alerts.
    """
    _require(caller)
    return answer(lag_json(caller.parts.lag, now_ms=caller.parts.clock.now_ms()))


@router.get("/lag/history", openapi_extra=answers("LagHistory"))
def read_lag_history(
    caller: Asked, span: Annotated[Literal["1h", "24h", "7d"], Query(description="How far back.")] = "24h"
) -> Response:
    """Return how long notifications took from the event to the bell, by periods of the last hour, day or week.

    For the same people. Times are those of the first notifications of each period: 5 minutes, an hour or 6 hours long.
    """
    _require(caller)
    count, length_ms = _SPANS[span]
    now_ms = caller.parts.clock.now_ms()
    periods = caller.parts.lag.delays.periods(count, length_ms=length_ms, now_ms=now_ms)
    history = [json_of(DELAY_PERIOD, period) for period in periods]
    return answer({"measuredAt": now_ms, "lengthMs": length_ms, "periods": history})


@metrics_router.get("/metrics")
def read_metrics(caller: Asked) -> Response:
    """Return the same as metrics, and how many events of other systems came to what."""
    _require(caller)
    text = lag_metrics(caller.parts.lag, now_ms=caller.parts.clock.now_ms())
    text += ingest_metrics(caller.parts.entities.ingest_outcomes)
    return Response(text, media_type=METRICS_TYPE)


def _require(caller: Caller) -> None:
    require_apart(caller, Operation.AUDIT_LOGS, ENTITY_TYPES["eventsubscription"])
