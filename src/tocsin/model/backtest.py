"""Backtests: an alert evaluated on past events, with the notifications it would have sent.

The API takes requests, the pipeline runs them (``jobs/requests.py``). Next:
``store/catalogue/alerts/backtests.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.model.entity import Document
from tocsin.model.requested_job import OPEN, JobState

JOB = "backtests"
"""What the pipeline's being there for backtests is called in the store."""


@dataclass(frozen=True)
class Backtest:
    """A requested backtest, with its progress and result.

    Attributes
    ----------
    alert : the alert as a subscription's document, secrets masked
    since_ms, until_ms : its time window, epoch milliseconds; None for no limit
    done_count, total_count : number of processed events and of all events; 0 of 0 before it begins
    tries : how often a pipeline has started it
    result : its result, once it is done
    reason : why it failed
    """

    id: str
    requested_by: str
    requested_at_ms: int
    alert: Document
    since_ms: int | None
    until_ms: int | None
    state: JobState
    done_count: int = 0
    total_count: int = 0
    tries: int = 0
    result: Document | None = None
    reason: str | None = None
    ended_at_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """Return whether it is neither finished nor failed."""
        return self.state in OPEN
