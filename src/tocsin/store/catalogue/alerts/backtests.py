"""Requested backtests with their progress and results. Next: ``store/eventlog/requested_jobs.py``."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, Row, and_, func, insert, select

from tocsin.errors import Conflict
from tocsin.model.backtest import JOB, Backtest
from tocsin.model.requested_job import JobState
from tocsin.store.database.alert_tables import backtest
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.engine import fetch_value, writing
from tocsin.store.eventlog.requested_jobs import RequestedJobs

MOST_OPEN = 5
"""Backtests that one person may have under way or waiting."""

_ROW = backtest.c
_NAMED_ALIKE = tuple(
    name for name in Backtest.__dataclass_fields__ if name in backtest.columns and name not in ("state", "result")
)


class Backtests(RequestedJobs[Backtest]):
    """The backtests of one store."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, backtest, JOB)

    def job_of(self, row: Row[*tuple[Any, ...]]) -> Backtest:  # Any: a column's value
        """Return the backtest in a row."""
        request, alike = from_text(row.request), {name: getattr(row, name) for name in _NAMED_ALIKE}
        return Backtest(
            alert=request["alert"],
            since_ms=request["sinceMs"],
            until_ms=request["untilMs"],
            state=JobState(row.state),
            result=None if row.result is None else from_text(row.result),
            **alike,
        )

    def add(self, request: Backtest) -> None:
        """Store a request.

        Raises
        ------
        Conflict : they have ``MOST_OPEN`` open already
        """
        of_requester = and_(_ROW.requested_by == request.requested_by, self._is_open)
        with writing(self._engine) as connection:
            if connection.execute(select(func.count()).where(of_requester)).scalar_one() >= MOST_OPEN:
                raise Conflict(f"You have {MOST_OPEN} running backtests; wait for one or cancel it.")
            connection.execute(insert(backtest), _values(request))

    def ahead_of(self, request: Backtest) -> int:
        """Return how many open backtests were asked for before this one."""
        earlier = and_(self._is_open, _ROW.requested_at_ms < request.requested_at_ms)
        return fetch_value(self._engine, select(func.count()).where(earlier)) or 0


def _values(request: Backtest) -> dict[str, object]:
    alert_and_window = {"alert": request.alert, "sinceMs": request.since_ms, "untilMs": request.until_ms}
    return {
        "id": request.id,
        "requested_by": request.requested_by,
        "requested_at_ms": request.requested_at_ms,
        "request": to_text(alert_and_window),
        "state": request.state.value,
    }
