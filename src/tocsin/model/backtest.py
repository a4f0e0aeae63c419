"""Backtests: an alert evaluated on past events, with the notifications it would have sent.

The API takes requests, the pipeline runs them (``jobs/backtests.py``). Next: ``store/alerts/backtests.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tocsin.model.entity import Document


class BacktestState(StrEnum):
    """State of a backtest."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


JOB = "backtests"
"""What the pipeline's being there for backtests is called in the store."""

OPEN = (BacktestState.WAITING, BacktestState.RUNNING)
"""The states of what is not over yet."""


@dataclass(frozen=True)
class Backtest:
    """A backtest that somebody asked for, and what has become of it.

    Attributes
    ----------
    alert : the alert as a subscription's document, secrets masked
    since_ms, until_ms : what of the history it is held against, epoch milliseconds; None for no limit
    done_count, total_count : how many events have been looked at, and how many there are; 0 of 0 before it begins
    tries : how often some pipeline has begun it
    result : what came of it, once it is done
    reason : why it failed
    """

    id: str
    requested_by: str
    requested_at_ms: int
    alert: Document
    since_ms: int | None
    until_ms: int | None
    state: BacktestState
    done_count: int = 0
    total_count: int = 0
    tries: int = 0
    result: Document | None = None
    reason: str | None = None
    ended_at_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """Say whether something is still to come of it."""
        return self.state in OPEN
