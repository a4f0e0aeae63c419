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
from tocsin.store.alerts.tables import backtest
from tocsin.store.documents import from_text, to_text
from tocsin.store.engine import reading, writing
from tocsin.store.job_runs import ScheduledJobs

MOST_OPEN = 5
"""Backtests that one person may have under way or waiting."""
MOST_TRIES = 3
"""So many pipelines may die at it before it counts as failed."""

_ROW = backtest.c
_OPEN = _ROW.state.in_([state.value for state in OPEN])


class Backtests:
    """The backtests of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, wanted: Backtest) -> None:
        """Store a request.

        Raises
        ------
        Conflict : they have ``MOST_OPEN`` open already
        """
        mine = and_(_ROW.requested_by == wanted.requested_by, _OPEN)
        with writing(self._engine) as connection:
            if connection.execute(select(func.count()).where(mine)).scalar_one() >= MOST_OPEN:
                raise Conflict(f"You have {MOST_OPEN} running backtests; wait for one or cancel it.")
            connection.execute(insert(backtest), _values(wanted))

    def find(self, backtest_id: str) -> Backtest | None:
        """Return the backtest with that id."""
        with reading(self._engine) as connection:
            row = connection.execute(select(backtest).where(_ROW.id == backtest_id)).first()
        return None if row is None else _backtest(row)

    def ahead_of(self, wanted: Backtest) -> int:
        """Return how many open backtests were asked for before this one."""
        earlier = and_(_OPEN, _ROW.requested_at_ms < wanted.requested_at_ms)
        with reading(self._engine) as connection:
            return int(connection.execute(select(func.count()).where(earlier)).scalar_one())

    def pipeline_seen_at_ms(self) -> int:
        """Return when a pipeline was last there for backtests (epoch milliseconds); 0 for never."""
        return ScheduledJobs(self._engine).seen_at_ms(JOB)

    def claim(self, runner: str, *, now_ms: int, lost_after_ms: int) -> Backtest | None:
        """Claim the next backtest that is waiting, or whose runner had no heartbeat for ``lost_after_ms``.

        A heartbeat as far in the future dates from before a clock was set back, and counts as lost, too.
        A backtest that has been claimed ``MOST_TRIES`` times already fails instead.
        """
        is_alive = _ROW.seen_at_ms.between(now_ms - lost_after_ms, now_ms + lost_after_ms)
        lost = and_(_ROW.state == BacktestState.RUNNING.value, ~is_alive)
        free = or_(_ROW.state == BacktestState.WAITING.value, lost)
        query = select(backtest).where(free).order_by(_ROW.requested_at_ms, _ROW.id).limit(1)
        with reading(self._engine) as connection:  # most looks find nothing, and need no turn at writing
            if connection.execute(query).first() is None:
                return None
        with writing(self._engine) as connection:
            row = connection.execute(query.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            one = update(backtest).where(_ROW.id == row.id)
            if row.tries >= MOST_TRIES:
                reason = f"{row.tries} pipelines stopped while running it."
                connection.execute(one.values(_ended(BacktestState.FAILED, now_ms) | {"reason": reason}))
                return None
            taken = {"state": BacktestState.RUNNING.value, "runner": runner, "seen_at_ms": now_ms}
            connection.execute(one.values(taken | {"tries": row.tries + 1, "done_count": 0}))
        return self.find(row.id)

    def seen(self, wanted: Backtest, runner: str, done: int, total: int, *, now_ms: int) -> bool:
        """Note that ``runner`` is at it and how far; returns whether it still should be."""
        with writing(self._engine) as connection:
            far = update(backtest).where(_is_run_by(wanted, runner))
            row = connection.execute(far.values(seen_at_ms=now_ms, done_count=done, total_count=total))
            return bool(row.rowcount)

    def finish(self, wanted: Backtest, runner: str, result: Document, *, now_ms: int) -> bool:
        """Store the result, if ``runner`` still has the claim."""
        values = {**_ended(BacktestState.DONE, now_ms), "result": to_text(result), "done_count": _ROW.total_count}
        return self._end(_is_run_by(wanted, runner), values)

    def fail(self, wanted: Backtest, reason: str, *, now_ms: int) -> bool:
        """Mark it as failed with the reason, if it is still open."""
        values = {**_ended(BacktestState.FAILED, now_ms), "reason": reason}
        return self._end(and_(_ROW.id == wanted.id, _OPEN), values)

    def cancel(self, wanted: Backtest, *, now_ms: int) -> bool:
        """Note that nobody wants it any more, if it is still open; who runs it sees so within a moment."""
        return self._end(and_(_ROW.id == wanted.id, _OPEN), _ended(BacktestState.CANCELLED, now_ms))

    def release(self, wanted: Backtest, runner: str) -> None:
        """Give it back untried: the pipeline that has it is being stopped."""
        values = {"state": BacktestState.WAITING.value, "runner": None, "tries": wanted.tries - 1}
        self._end(_is_run_by(wanted, runner), values)

    def forget(self, *, before_ms: int) -> None:
        """Drop the backtests that were over before that moment."""
        with writing(self._engine) as connection:
            connection.execute(delete(backtest).where(_ROW.ended_at_ms < before_ms))

    def _end(self, which: ColumnElement[bool], values: dict[str, Any]) -> bool:  # Any: a column's value
        with writing(self._engine) as connection:
            return bool(connection.execute(update(backtest).where(which).values(values)).rowcount)


def _is_run_by(wanted: Backtest, runner: str) -> ColumnElement[bool]:
    return and_(_ROW.id == wanted.id, _ROW.runner == runner, _ROW.state == BacktestState.RUNNING.value)


def _ended(state: BacktestState, now_ms: int) -> dict[str, Any]:  # Any: a column's value
    return {"state": state.value, "ended_at_ms": now_ms, "runner": None}


def _values(wanted: Backtest) -> dict[str, object]:
    request = {"alert": wanted.alert, "sinceMs": wanted.since_ms, "untilMs": wanted.until_ms}
    return {
        "id": wanted.id,
        "requested_by": wanted.requested_by,
        "requested_at_ms": wanted.requested_at_ms,
        "request": to_text(request),
        "state": wanted.state.value,
    }


def _backtest(row: Row[*tuple[Any, ...]]) -> Backtest:  # Any: a column's value
    request = from_text(row.request)
    return Backtest(
        id=row.id,
        requested_by=row.requested_by,
        requested_at_ms=row.requested_at_ms,
        alert=request["alert"],
        since_ms=request["sinceMs"],
        until_ms=request["untilMs"],
        state=BacktestState(row.state),
        done_count=row.done_count,
        total_count=row.total_count,
        tries=row.tries,
        result=None if row.result is None else from_text(row.result),
        reason=row.reason,
        ended_at_ms=row.ended_at_ms,
    )
