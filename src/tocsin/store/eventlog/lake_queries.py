"""Queries on the lake with their answers: one row each, which stays for a while to tell who asked what, and when.

A server writes the query and reads the answer; the pipeline claims it and writes the answer. Next:
``jobs/query_runner.py``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Engine, Row, and_, delete, func, insert, or_, select, text, tuple_, update

from tocsin.errors import TooManyRequests
from tocsin.flow.eventlog.lake import Cut
from tocsin.flow.eventlog.lake_query import QUERY_JOB, LakeQuery
from tocsin.model.entity import Document
from tocsin.model.requested_job import OPEN, JobState
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.engine import fetch_first, fetch_value, is_sqlite, reading, writing
from tocsin.store.database.log_tables import lake_query
from tocsin.store.database.version import SeldomRows
from tocsin.store.eventlog.job_runs import ScheduledJobs

UNASKED_MS = 60_000
"""A query whose answer nobody has asked for during so long is cancelled."""
LOST_MS = 60_000
"""A pipeline without a sign of life for so long is gone, and so is the query that it ran."""

LONGEST_REASON = 2_000
"""Characters of the reason of a failure: Spark quotes values, whatever their length."""

_HOLD = text("SELECT pg_advisory_xact_lock(hashtext('tocsin lake query'), hashtext(:requester))")
_ROW = lake_query.c
_OPEN = _ROW.state.in_([state.value for state in OPEN])
_ANY_OPEN = select(_ROW.id).where(_OPEN).limit(1)


class RequestedQueries:
    """The queries of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open = SeldomRows(engine, lambda: fetch_first(engine, _ANY_OPEN) is not None)

    def add(self, query: LakeQuery, *, most_open: int) -> None:
        """Store a query.

        Raises
        ------
        TooManyRequests : the asker has ``most_open`` open already
        """
        of_requester = and_(_ROW.requested_by == query.requested_by, _OPEN)
        with writing(self._engine) as connection:
            if not is_sqlite(connection):  # which has one writer
                connection.execute(_HOLD, {"requester": query.requested_by})
            if connection.execute(select(func.count()).where(of_requester)).scalar_one() >= most_open:
                raise TooManyRequests(f"You have {most_open} open queries; wait for one, or cancel it.")
            connection.execute(insert(lake_query), _values(query))

    def find(self, query_id: str) -> LakeQuery | None:
        """Return the query with that id."""
        row = fetch_first(self._engine, select(lake_query).where(_ROW.id == query_id))
        return None if row is None else _query_of(row)

    def page(self, requested_by: str | None, *, limit: int, before: tuple[int, str] | None = None) -> list[LakeQuery]:
        """Return the newest queries of one person, or of all, without their answers.

        ``before`` is the time and the id of the last one that was shown.
        """
        columns = [column for column in _ROW if column is not _ROW.answer]
        query = select(*columns).order_by(_ROW.requested_at_ms.desc(), _ROW.id.desc()).limit(limit)
        if requested_by is not None:
            query = query.where(_ROW.requested_by == requested_by)
        if before is not None:
            query = query.where(tuple_(_ROW.requested_at_ms, _ROW.id) < tuple_(*before))
        with reading(self._engine) as connection:
            return [_query_of(row) for row in connection.execute(query)]

    def ahead_of(self, query: LakeQuery) -> int:
        """Return how many open queries were asked before this one."""
        earlier = and_(_OPEN, _ROW.requested_at_ms < query.requested_at_ms)
        return fetch_value(self._engine, select(func.count()).where(earlier)) or 0

    def pipeline_seen_at_ms(self) -> int:
        """Return when a pipeline was last there for queries (epoch milliseconds); 0 for never."""
        return ScheduledJobs(self._engine).seen_at_ms(QUERY_JOB)

    def note_asked(self, query_id: str, *, now_ms: int) -> None:
        """Note that a person still waits for the answer."""
        self._update(and_(_ROW.id == query_id, _OPEN), {"asked_at_ms": now_ms})

    def claim(self, runner: str, *, now_ms: int) -> LakeQuery | None:
        """Claim the next query that is waiting; those that nobody waits for any more, or whose pipeline died, end."""
        if not self._open.are_there():  # so it is nearly always
            return None
        self._end_abandoned(now_ms)
        waiting_queries = select(lake_query).where(_ROW.state == JobState.WAITING.value)
        with writing(self._engine) as connection:
            first = waiting_queries.order_by(_ROW.requested_at_ms, _ROW.id).limit(1).with_for_update(skip_locked=True)
            row = connection.execute(first).first()
            if row is None:
                return None
            values = {"state": JobState.RUNNING.value, "runner": runner, "seen_at_ms": now_ms}
            connection.execute(update(lake_query).where(_ROW.id == row.id).values(values))
        return self.find(row.id)

    def is_wanted(self, query: LakeQuery, runner: str, *, now_ms: int) -> bool:
        """Note that ``runner`` is at it; returns whether a person still waits for the answer."""
        is_asked = _ROW.asked_at_ms >= now_ms - UNASKED_MS
        return self._update(and_(_is_run_by(query, runner), is_asked), {"seen_at_ms": now_ms})

    def finish(self, query: LakeQuery, runner: str, answer: Document, *, now_ms: int) -> bool:
        """Store the answer, if ``runner`` still has the claim."""
        values = {"answer": to_text(answer), "row_count": len(answer["rows"])}
        return self._update(_is_run_by(query, runner), {**_end(JobState.DONE, now_ms), **values})

    def fail(self, query: LakeQuery, reason: str, code: str, *, now_ms: int) -> bool:
        """Mark it as failed with the reason, if it is still open."""
        values = {"reason": reason[:LONGEST_REASON], "code": code}
        return self._update(and_(_ROW.id == query.id, _OPEN), {**_end(JobState.FAILED, now_ms), **values})

    def cancel(self, query_id: str, *, now_ms: int) -> bool:
        """Note that nobody wants it any more, if it is still open; who runs it sees so within a moment."""
        return self._update(and_(_ROW.id == query_id, _OPEN), _end(JobState.CANCELLED, now_ms))

    def release(self, query: LakeQuery, runner: str) -> None:
        """Give it back: the pipeline that has it is being stopped."""
        self._update(_is_run_by(query, runner), {"state": JobState.WAITING.value, "runner": None})

    def forget(self, *, answers_before_ms: int, before_ms: int) -> None:
        """Drop answers of queries that ended before one moment, and the queries that ended before another."""
        with writing(self._engine) as connection:
            is_over = and_(_ROW.ended_at_ms < answers_before_ms, _ROW.answer.is_not(None))
            connection.execute(update(lake_query).where(is_over).values(answer=None))
            connection.execute(delete(lake_query).where(_ROW.ended_at_ms < before_ms))

    def _end_abandoned(self, now_ms: int) -> None:
        is_unasked = _ROW.asked_at_ms < now_ms - UNASKED_MS
        abandoned = and_(_ROW.state == JobState.WAITING.value, is_unasked)
        self._update(abandoned, _end(JobState.CANCELLED, now_ms))
        is_lost = or_(_ROW.seen_at_ms < now_ms - LOST_MS, _ROW.seen_at_ms > now_ms + LOST_MS)
        values = {"reason": "The pipeline stopped while running it; ask again.", "code": "UNAVAILABLE"}
        is_left = and_(_ROW.state == JobState.RUNNING.value, is_lost)
        self._update(is_left, {**_end(JobState.FAILED, now_ms), **values})

    def _update(self, which: ColumnElement[bool], values: dict[str, Any]) -> bool:  # Any: a column's value
        with writing(self._engine) as connection:
            return bool(connection.execute(update(lake_query).where(which).values(values)).rowcount)


def _is_run_by(query: LakeQuery, runner: str) -> ColumnElement[bool]:
    return and_(_ROW.id == query.id, _ROW.runner == runner, _ROW.state == JobState.RUNNING.value)


def _end(state: JobState, now_ms: int) -> dict[str, Any]:  # Any: a column's value
    return {"state": state.value, "ended_at_ms": now_ms, "runner": None}


def _values(query: LakeQuery) -> dict[str, object]:
    cut = {"through": query.cut.through, "untilMs": query.cut.until_ms, "sinceMs": query.cut.since_ms}
    request = {"sql": query.statement, **cut}
    return {
        "id": query.id,
        "requested_by": query.requested_by,
        "requested_at_ms": query.requested_at_ms,
        "request": to_text(request),
        "state": query.state.value,
        "asked_at_ms": query.asked_at_ms,
    }


def _query_of(row: Row[*tuple[Any, ...]]) -> LakeQuery:  # Any: a column's value
    request, answer = from_text(row.request), getattr(row, "answer", None)
    return LakeQuery(
        id=row.id,
        requested_by=row.requested_by,
        requested_at_ms=row.requested_at_ms,
        statement=request["sql"],
        cut=Cut(request["through"], request["untilMs"], request.get("sinceMs")),
        state=JobState(row.state),
        asked_at_ms=row.asked_at_ms,
        row_count=row.row_count,
        answer=None if answer is None else from_text(answer),
        reason=row.reason,
        code=row.code,
        ended_at_ms=row.ended_at_ms,
    )
