"""Requested jobs of one table, with their progress and results: one row each, claimed by a lease.

A server writes the request and reads the result; the pipeline claims it, reports progress and writes the result. If a
pipeline dies, its lease expires and another one takes over. Next: ``jobs/requests.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Engine, Row, Table, and_, delete, or_, select, update

from tocsin.model.entity import Document
from tocsin.model.requested_job import OPEN, JobState, RequestedJob
from tocsin.store.database.documents import to_text
from tocsin.store.database.engine import fetch_first, reading, writing
from tocsin.store.database.version import SeldomRows
from tocsin.store.eventlog.job_runs import ScheduledJobs

MOST_TRIES = 3
"""So many pipelines may die at it before it counts as failed."""

Job = TypeVar("Job", bound=RequestedJob)


class RequestedJobs(ABC, Generic[Job]):
    """The requested jobs in ``table``; ``kind`` is what the pipeline's being there for them is called in the store."""

    def __init__(self, engine: Engine, table: Table, kind: str) -> None:
        self._engine, self.kind = engine, kind
        self._table, self._columns = table, table.c
        self._is_open = table.c.state.in_([state.value for state in OPEN])
        any_open = select(table.c.id).where(self._is_open).limit(1)
        self._open = SeldomRows(engine, lambda: fetch_first(engine, any_open) is not None)

    @abstractmethod
    def job_of(self, row: Row[*tuple[Any, ...]]) -> Job:  # Any: a column's value
        """Return the job in a row of the table."""

    def find(self, job_id: str) -> Job | None:
        """Return the job with that id."""
        row = fetch_first(self._engine, select(self._table).where(self._columns.id == job_id))
        return None if row is None else self.job_of(row)

    def pipeline_seen_at_ms(self) -> int:
        """Return when a pipeline was last there for such jobs (epoch milliseconds); 0 for never."""
        return ScheduledJobs(self._engine).seen_at_ms(self.kind)

    def claim(self, runner: str, *, now_ms: int, lost_after_ms: int) -> Job | None:
        """Claim the next job that is waiting, or whose runner had no heartbeat for ``lost_after_ms``.

        A heartbeat as far in the future dates from before a clock was set back, and counts as lost, too.
        A job that has been claimed ``MOST_TRIES`` times already fails instead.
        """
        if not self._open.are_there():  # so it is nearly always
            return None
        is_alive = self._columns.seen_at_ms.between(now_ms - lost_after_ms, now_ms + lost_after_ms)
        is_lost = and_(self._columns.state == JobState.RUNNING.value, ~is_alive)
        is_claimable = or_(self._columns.state == JobState.WAITING.value, is_lost)
        query = (
            select(self._table).where(is_claimable).order_by(self._columns.requested_at_ms, self._columns.id).limit(1)
        )
        with reading(self._engine) as connection:  # what is open may be another runner's: that needs no turn at writing
            if connection.execute(query).first() is None:
                return None
        with writing(self._engine) as connection:
            row = connection.execute(query.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            change = update(self._table).where(self._columns.id == row.id)
            if row.tries >= MOST_TRIES:
                reason = f"{row.tries} pipelines stopped while running it."
                connection.execute(change.values(_values_of_end(JobState.FAILED, now_ms) | {"reason": reason}))
                return None
            claim_values = {"state": JobState.RUNNING.value, "runner": runner, "seen_at_ms": now_ms}
            connection.execute(change.values(claim_values | {"tries": row.tries + 1, "done_count": 0}))
        return self.find(row.id)

    def note_progress(self, job: Job, runner: str, done_count: int, total: int, *, now_ms: int) -> bool:
        """Note that ``runner`` is at it and how far; returns whether it still should be."""
        progress = {"seen_at_ms": now_ms, "done_count": done_count, "total_count": total}
        return self._update(self._is_run_by(job, runner), progress)

    def finish(self, job: Job, runner: str, result: Document, *, now_ms: int) -> bool:
        """Store the result, if ``runner`` still has the claim."""
        values = {
            **_values_of_end(JobState.DONE, now_ms),
            "result": to_text(result),
            "done_count": self._columns.total_count,
        }
        return self._update(self._is_run_by(job, runner), values)

    def fail(self, job: Job, reason: str, *, now_ms: int) -> bool:
        """Mark it as failed with the reason, if it is still open."""
        values = {**_values_of_end(JobState.FAILED, now_ms), "reason": reason}
        return self._update(and_(self._columns.id == job.id, self._is_open), values)

    def cancel(self, job: Job, *, now_ms: int) -> bool:
        """Note that nobody wants it any more, if it is still open; who runs it sees so within a moment."""
        return self._update(and_(self._columns.id == job.id, self._is_open), _values_of_end(JobState.CANCELLED, now_ms))

    def release(self, job: Job, runner: str) -> None:
        """Give it back untried: the pipeline that has it is being stopped."""
        values = {"state": JobState.WAITING.value, "runner": None, "tries": job.tries - 1}
        self._update(self._is_run_by(job, runner), values)

    def forget(self, *, before_ms: int) -> None:
        """Drop the jobs that were over before that moment."""
        with writing(self._engine) as connection:
            connection.execute(delete(self._table).where(self._columns.ended_at_ms < before_ms))

    def _update(self, which: ColumnElement[bool], values: dict[str, Any]) -> bool:  # Any: a column's value
        with writing(self._engine) as connection:
            return bool(connection.execute(update(self._table).where(which).values(values)).rowcount)

    def _is_run_by(self, job: Job, runner: str) -> ColumnElement[bool]:
        columns = self._columns
        return and_(columns.id == job.id, columns.runner == runner, columns.state == JobState.RUNNING.value)


def _values_of_end(state: JobState, now_ms: int) -> dict[str, Any]:  # Any: a column's value
    return {"state": state.value, "ended_at_ms": now_ms, "runner": None}
