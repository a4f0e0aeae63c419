"""Routes of the API version and the health check. Next: ``server/routes/people/users.py``."""

from __future__ import annotations

import anyio.to_thread
from fastapi import APIRouter, Response

from tocsin.model.entity import Document
from tocsin.server.build import Parts
from tocsin.server.http.request import PartsHere, answer
from tocsin.store.eventlog.outages import QueryHealth
from tocsin.store.high_water_marks import traces

router = APIRouter(tags=["system"])


@router.get("/system/version")
def version(parts: PartsHere) -> Response:
    """Return the version of OpenMetadata's API; its client compares major and minor."""
    return answer({"version": parts.settings.api_version, "revision": "tocsin", "timestamp": 0})


@router.get("/healthcheck")
async def healthcheck(parts: PartsHere) -> Response:
    """Return the health of server and store, pipeline progress, and lost events.

    Of each of its queries that waits it is said for what, and since when.
    """
    # In a thread of its own: requests that keep all others busy must not make the server look dead.
    return answer(await anyio.to_thread.run_sync(_health, parts, limiter=parts.health_lane))


def _health(parts: Parts) -> Document:
    known = traces(parts.settings)  # first: what is noted is never ahead of the log that is asked then
    lost = [one.path.name for one in known if one.seen is not None and not parts.log.holds(one.seen)]
    said = {"status": "eventsLost", "seenBy": lost} if lost else {"status": "ok"}
    queries = [_query(one) for one in parts.waits.health()]
    return {**said, "logOffset": parts.log.readable_end(), "pipeline": queries}


def _query(health: QueryHealth) -> Document:
    waits = {"waitsFor": health.waits_for, "waitsSince": health.waits_since_ms} if health.waits_for else {}
    return {"query": health.query_name, "logOffset": health.log_offset, "reportedAt": health.updated_at_ms, **waits}
