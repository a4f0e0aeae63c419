"""Route of the health check: whether this server serves, and what else keeps notifications back.

Next: ``store/upkeep/health.py``.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

import anyio.to_thread
from fastapi import Query, Response

from tocsin.model.entity import Document
from tocsin.server.build import Parts
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import PartsHere, answer
from tocsin.store.eventlog.outages import QueryHealth
from tocsin.store.upkeep.high_water_marks import traces

router = DeclaredRoutes(tags=["system"])


@router.get("/healthcheck", openapi_extra=answers("Health", or_unavailable="With `strict`: `status` is not `ok`."))
async def healthcheck(
    parts: PartsHere, *, strict: Annotated[bool, Query(description="Whether only `ok` is answered by 200.")] = False
) -> Response:
    """Return the health of server, store, pipeline, worker and disk: 200 while the server serves, whatever else fails.

    `status` is `ok`, `degraded` or `eventsLost`; `problems` lists what is wrong and what to do. With `strict=true` the
    answer is 503 unless `status` is `ok`: for monitoring, not for load balancers.
    """
    # In a thread of its own: requests that keep all others busy must not make the server look dead.
    health = await anyio.to_thread.run_sync(_health, parts, limiter=parts.traffic.health_lane)
    is_refused = strict and health["status"] != "ok"
    return answer(health, status=HTTPStatus.SERVICE_UNAVAILABLE if is_refused else HTTPStatus.OK)


def _health(parts: Parts) -> Document:
    known_traces = traces(parts.settings)  # first: the traces are never ahead of the log that is read then
    witnesses = [
        trace.path.name for trace in known_traces if trace.position is not None and not parts.log.holds(trace.position)
    ]
    problems = [one._asdict() for one in parts.health.problems(now_ms=parts.clock.now_ms())]
    if witnesses:
        status: Document = {"status": "eventsLost", "seenBy": witnesses}
    else:
        status = {"status": "degraded" if problems else "ok"}
    queries = [_query(one) for one in parts.health.queries()]
    return {
        **status,
        "problems": problems,
        "alertsWithFindings": parts.health.finding_count(now_ms=parts.clock.now_ms()),
        "logOffset": parts.log.readable_end(),
        "pipeline": queries,
    }


def _query(health: QueryHealth) -> Document:
    waits = {"waitsFor": health.waits_for, "waitsSince": health.waits_since_ms} if health.waits_for else {}
    return {"query": health.query_name, "logOffset": health.log_offset, "reportedAt": health.updated_at_ms, **waits}
