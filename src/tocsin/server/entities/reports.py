"""Shared steps of routes for reports of an entity: look-up, permission, time window, page.

Next: ``server/routes/observations/runs.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

from fastapi import Depends, Path, Query, Response

from tocsin.clock import FUTURE_MS, LATEST_MS
from tocsin.flow.capture.write import Record
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Stored, Written
from tocsin.server.access.permissions import permitted_document
from tocsin.server.http.remarks import remarks_header
from tocsin.server.request import Caller, Timestamp, answer
from tocsin.store.database.cursors import DocumentPage, ReportWindow

Work = Callable[[Record, Stored], Written]
"""What is done to an entity in the transaction that it is read in."""

MOST_READ = 10_000
"""Reports on one page."""


def write_permitted(entity_type: str, key: Key, caller: Caller, operation: Operation, work: Work) -> Written:
    """Do the work on an entity with which the caller may do this."""
    permitted_document(entity_type, key, caller, operation)
    return caller.parts.writes.on_entity(entity_type, key, work, actor=caller.actor)


async def window_of(
    start: Annotated[Timestamp, Query(alias="startTs", description="Start of the time range, epoch milliseconds.")] = 0,
    end: Annotated[Timestamp, Query(alias="endTs")] = LATEST_MS,
    limit: Annotated[int, Query(ge=0, le=MOST_READ)] = MOST_READ,
    after: Annotated[str | None, Query(max_length=8000)] = None,
) -> ReportWindow:
    """Return which reports are asked for."""
    return ReportWindow(start, end, limit, after or None)


def page_answer(page: DocumentPage) -> Response:
    """Return a page of reports as an answer."""
    cursors = {"after": page.after, "before": page.before}
    paging: Document = {"total": page.total} | {key: cursor for key, cursor in cursors.items() if cursor}
    return answer({"data": page.documents, "paging": paging})


def dated_ahead(times_ms: Iterable[object], caller: Caller) -> dict[str, str]:
    """Return the header that tells a writer of reports of times that are too far ahead; nothing if none is."""
    latest_ms = caller.parts.clock.now_ms() + FUTURE_MS
    if not any(isinstance(at_ms, int) and at_ms > latest_ms for at_ms in times_ms):
        return {}
    return remarks_header([{"kind": "datedAhead", "message": _DATED_AHEAD, "field": "timestamp"}])


_DATED_AHEAD = (
    "Dated more than 5 minutes ahead: it is kept, but notifies nobody, and opens and resolves no incident. Check the "
    "clock of the reporter."
)

Moment = Annotated[int, Path(ge=0, le=LATEST_MS)]
WindowAsked = Annotated[ReportWindow, Depends(window_of)]
