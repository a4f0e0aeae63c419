"""Sink of the pipeline: one Spark action per micro-batch, one transaction in the store.

The driver writes, never an executor: result rows are few compared with events, and SQLite has one writer. A
micro-batch may be repeated, so rows are written by deterministic id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import DataFrame

from tocsin.flow.eventlog.position import LogPosition
from tocsin.flow.schedule.messages import Triggers, scheduled
from tocsin.model.match_result import MatchResult, Pair, match_results_of

Rows = Sequence[Mapping[str, Any]]  # Any: a column's value
Narrow = Callable[[Rows], Rows]
"""Removes notifications that their recipient may not see (``flow/resolve/only_visible.py``)."""


class NotificationStore(Protocol):
    """Takes notifications; those it has already stay as they are."""

    def add(self, rows: Sequence[Mapping[str, Any]], results: Sequence[MatchResult], *, last: LogPosition) -> None:
        """Store all of ``rows`` (``flow/schedule/messages.scheduled``) and their match results, or nothing.

        ``last`` is the last event that they are of.
        """


@dataclass(frozen=True)
class Sink:
    """Where notifications go, and what is left out on the way."""

    store: NotificationStore
    narrow: Narrow
    triggers: Triggers

    def write(self, frame: DataFrame, pairs: Iterable[Pair], *, last: LogPosition, now_ms: int) -> int:
        """Run ``frame``, schedule and store those of its rows that may be sent, and the result of each of ``pairs``.

        ``frame`` has one row per notification, columns of ``spark/schedule.notifications``: all those of these
        matches, of events up to ``last``. Returns how many were stored.
        """
        rows = list(scheduled(self.narrow(frame.toArrow().to_pylist()), self.triggers, now_ms=now_ms))
        self.store.add(rows, match_results_of(pairs, rows, now_ms=now_ms), last=last)
        return len(rows)
