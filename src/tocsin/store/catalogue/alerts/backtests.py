"""Requested backtests with their progress and results: one row each, claimed by a lease.

A server writes the request and reads the result; the pipeline claims it, reports progress and writes the result. If a
pipeline dies, its lease expires and another one takes over. Next: ``jobs/backtest_runner.py``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Engine, Row, and_, delete, func, insert, or_, select, update

from tocsin.errors import Conflict
from tocsin.model.backtest import JOB, OPEN, Backtest, BacktestState
from tocsin.model.entity import Document
from tocsin.store.database.alert_tables import backtest
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.engine import fetch_first, fetch_value, reading, writing
from tocsin.store.eventlog.job_runs import ScheduledJobs

MOST_OPEN = 5
"""Backtests that one person may have under way or waiting."""
MOST_TRIES = 3
"""So many pipelines may die at it before it counts as failed."""

_ROW = backtest.c
_NAMED_ALIKE = tuple(
    name for name in Backtest.__dataclass_fields__ if name in backtest.columns and name not in ("state", "result")
)
_OPEN = _ROW.state.in_([state.value for state in OPEN])


class Backtests:
    """The backtests of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, request: Backtest) -> None:
        """Store a request.

        Raises
        ------
        Conflict : they have ``MOST_OPEN`` open already
        """
        of_requester = and_(_ROW.requested_by == request.requested_by, _OPEN)
        with writing(self._engine) as connection:
            if connection.execute(select(func.count()).where(of_requester)).scalar_one() >= MOST_OPEN:
                raise Conflict(f"You have {MOST_OPEN} running backtests; wait for one or cancel it.")
            connection.execute(insert(backtest), _values(request))

    def find(self, backtest_id: str) -> Backtest | None:
        """Return the backtest with that id."""
        row = fetch_first(self._engine, select(backtest).where(_ROW.id == backtest_id))
        return None if row is None else _backtest(row)

    def ahead_of(self, request: Backtest) -> int:
        """Return how many open backtests were asked for before this one."""
        earlier = and_(_OPEN, _ROW.requested_at_ms < request.requested_at_ms)
        return fetch_value(self._engine, select(func.count()).where(earlier)) or 0

    def pipeline_seen_at_ms(self) -> int:
        """Return when a pipeline was last there for backtests (epoch milliseconds); 0 for never."""
        return ScheduledJobs(self._engine).seen_at_ms(JOB)

    def claim(self, runner: str, *, now_ms: int, lost_after_ms: int) -> Backtest | None:
        """Claim the next backtest that is waiting, or whose runner had no heartbeat for ``lost_after_ms``.

        A heartbeat as far in the future dates from before a clock was set back, and counts as lost, too.
        A backtest that has been claimed ``MOST_TRIES`` times already fails instead.
        """
        is_alive = _ROW.seen_at_ms.between(now_ms - lost_after_ms, now_ms + lost_after_ms)
        is_lost = and_(_ROW.state == BacktestState.RUNNING.value, ~is_alive)
        free = or_(_ROW.state == BacktestState.WAITING.value, is_lost)
        query = select(backtest).where(free).order_by(_ROW.requested_at_ms, _ROW.id).limit(1)
        with reading(self._engine) as connection:  # most looks find nothing, and need no turn at writing
            if connection.execute(query).first() is None:
                return None
        with writing(self._engine) as connection:
            row = connection.execute(query.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            change = update(backtest).where(_ROW.id == row.id)
            if row.tries >= MOST_TRIES:
                reason = f"{row.tries} pipelines stopped while running it."
                connection.execute(change.values(_values_of_end(BacktestState.FAILED, now_ms) | {"reason": reason}))
                return None
            claim_values = {"state": BacktestState.RUNNING.value, "runner": runner, "seen_at_ms": now_ms}
            connection.execute(change.values(claim_values | {"tries": row.tries + 1, "done_count": 0}))
        return self.find(row.id)

    def note_progress(self, request: Backtest, runner: str, done_count: int, total: int, *, now_ms: int) -> bool:
        """Note that ``runner`` is at it and how far; returns whether it still should be."""
        progress = {"seen_at_ms": now_ms, "done_count": done_count, "total_count": total}
        return self._update(_is_run_by(request, runner), progress)

    def finish(self, request: Backtest, runner: str, result: Document, *, now_ms: int) -> bool:
        """Store the result, if ``runner`` still has the claim."""
        values = {
            **_values_of_end(BacktestState.DONE, now_ms),
            "result": to_text(result),
            "done_count": _ROW.total_count,
        }
        return self._update(_is_run_by(request, runner), values)

    def fail(self, request: Backtest, reason: str, *, now_ms: int) -> bool:
        """Mark it as failed with the reason, if it is still open."""
        values = {**_values_of_end(BacktestState.FAILED, now_ms), "reason": reason}
        return self._update(and_(_ROW.id == request.id, _OPEN), values)

    def cancel(self, request: Backtest, *, now_ms: int) -> bool:
        """Note that nobody wants it any more, if it is still open; who runs it sees so within a moment."""
        return self._update(and_(_ROW.id == request.id, _OPEN), _values_of_end(BacktestState.CANCELLED, now_ms))

    def release(self, request: Backtest, runner: str) -> None:
        """Give it back untried: the pipeline that has it is being stopped."""
        values = {"state": BacktestState.WAITING.value, "runner": None, "tries": request.tries - 1}
        self._update(_is_run_by(request, runner), values)

    def forget(self, *, before_ms: int) -> None:
        """Drop the backtests that were over before that moment."""
        with writing(self._engine) as connection:
            connection.execute(delete(backtest).where(_ROW.ended_at_ms < before_ms))

    def _update(self, which: ColumnElement[bool], values: dict[str, Any]) -> bool:  # Any: a column's value
        with writing(self._engine) as connection:
            return bool(connection.execute(update(backtest).where(which).values(values)).rowcount)


def _is_run_by(request: Backtest, runner: str) -> ColumnElement[bool]:
    return and_(_ROW.id == request.id, _ROW.runner == runner, _ROW.state == BacktestState.RUNNING.value)


def _values_of_end(state: BacktestState, now_ms: int) -> dict[str, Any]:  # Any: a column's value
    return {"state": state.value, "ended_at_ms": now_ms, "runner": None}


def _values(request: Backtest) -> dict[str, object]:
    alert_and_window = {"alert": request.alert, "sinceMs": request.since_ms, "untilMs": request.until_ms}
    return {
        "id": request.id,
        "requested_by": request.requested_by,
        "requested_at_ms": request.requested_at_ms,
        "request": to_text(alert_and_window),
        "state": request.state.value,
    }


def _backtest(row: Row[*tuple[Any, ...]]) -> Backtest:  # Any: a column's value
    request, alike = from_text(row.request), {name: getattr(row, name) for name in _NAMED_ALIKE}
    return Backtest(
        alert=request["alert"],
        since_ms=request["sinceMs"],
        until_ms=request["untilMs"],
        state=BacktestState(row.state),
        result=None if row.result is None else from_text(row.result),
        **alike,
    )
