"""Lag of a reader of the log: how much it has not read yet, since when that grows, and when it is too much.

A lag is exceeded once it is over its limit in two measurements in a row, and recovered once it is at half of the limit
or less: a burst tells nothing, and a lag around its limit is not told again and again.
Next: ``store/upkeep/lag.py`` measures, ``delivery/worker/lag_reports.py`` tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tocsin.model.entity import Document


class ReaderKind(StrEnum):
    """What reads."""

    QUERY = "query"
    LAKE = "lake"
    RELAY = "relay"
    CONSUMER = "consumer"
    QUEUE = "queue"
    CONSUMER_GROUP = "consumerGroup"
    SUBSCRIPTION = "subscription"


@dataclass(frozen=True)
class ReaderLag:
    """What a reader has not read yet, as it was measured.

    Attributes
    ----------
    reader : name of the reader, unique among all
    alert : of a queue, a reference to its alert
    log_offset : up to where it has read the log; None where its own offsets are others
    event_count : unread events
    is_estimate : whether that is no exact count
    oldest_ms : time of the oldest unread event; None if there is none, or nobody knows
    read_at_ms : when it last said how far it is
    """

    reader: str
    kind: ReaderKind
    event_count: int
    alert: Document | None = None
    log_offset: int | None = None
    is_estimate: bool = False
    oldest_ms: int | None = None
    read_at_ms: int | None = None

    def seconds(self, now_ms: int) -> float:
        """Return the age of the oldest unread event."""
        return 0.0 if self.oldest_ms is None else max(0, now_ms - self.oldest_ms) / 1000


@dataclass(frozen=True)
class LagState:
    """What is remembered of a reader's lag between two measurements, times in epoch milliseconds."""

    event_count: int
    measured_at_ms: int
    growing_since_ms: int | None = None
    exceeded_since_ms: int | None = None


@dataclass(frozen=True)
class LagLimits:
    """Most unread events per reader; 0 means that a reader is not watched.

    ``patience_ms`` is, of readers that read at intervals, the age up to which unread events are to be expected.
    """

    default: int = 10_000
    by_reader: Mapping[str, int] = field(default_factory=dict)
    patience_ms: Mapping[str, int] = field(default_factory=dict)

    def of(self, reader: str) -> int:
        """Return the limit of a reader."""
        return max(0, self.by_reader.get(reader, self.default))

    def is_over(self, lag: ReaderLag, now_ms: int) -> bool:
        """Return whether a lag is over its reader's limit now."""
        limit = self.of(lag.reader)
        is_late = lag.seconds(now_ms) * 1000 >= self.patience_ms.get(lag.reader, 0)
        return 0 < limit < lag.event_count and is_late

    def is_exceeded(self, lag: ReaderLag, before: LagState | None, now_ms: int) -> bool:
        """Return whether a lag counts as exceeded, after it was ``before``."""
        limit = self.of(lag.reader)
        if before is None or not limit:
            return False
        if before.exceeded_since_ms is not None:
            return lag.event_count > limit // 2
        return before.event_count > limit and self.is_over(lag, now_ms)


def state_after(lag: ReaderLag, before: LagState | None, now_ms: int) -> LagState:
    """Return what is remembered after a measurement; whether it is exceeded stays as it was.

    A lag grows from the last measurement that it was not above, until it shrinks.
    """
    exceeded_since_ms = None if before is None else before.exceeded_since_ms
    growing_since_ms = None
    if before is not None and lag.event_count >= before.event_count and lag.event_count:
        is_larger = lag.event_count > before.event_count
        growing_since_ms = before.growing_since_ms or (before.measured_at_ms if is_larger else None)
    return LagState(lag.event_count, now_ms, growing_since_ms, exceeded_since_ms)


def lag_report(lag: ReaderLag, *, limit: int, now_ms: int, since_ms: int) -> Document:
    """Return what an event says of a lag that is exceeded, or was, since ``since_ms``."""
    report = {
        "reader": lag.reader,
        "kind": lag.kind.value,
        "alert": lag.alert,
        "lagEvents": lag.event_count,
        "isEstimate": lag.is_estimate,
        "lagSeconds": round(lag.seconds(now_ms)),
        "limit": limit,
        "exceededSince": since_ms,
    }
    return {key: value for key, value in report.items() if value is not None}
