"""Clocks: the time of day, which may be adjusted, and a monotonic clock, which never is.

The only module that reads the system's clocks; all others are passed a ``Clock`` or a ``Steady``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

Steady = Callable[[], float]
"""Returns the seconds since some fixed moment; it cannot be set, and it runs while the machine sleeps."""

_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # Linux's monotonic clock stops during suspend

LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: no time beyond it is believed."""

FUTURE_MS = 5 * 60_000
"""How far ahead of ours the clock of another system may be."""


def steady_s() -> float:
    """Return the seconds since this machine was started."""
    return time.clock_gettime(_STEADY)


class Clock(Protocol):
    """Returns the time as epoch milliseconds, UTC."""

    def now_ms(self) -> int:
        """Return the time now."""


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        """Return the time now."""
        return time.time_ns() // 1_000_000


class FixedClock:
    """A clock that moves only when set; for replays and tests."""

    def __init__(self, at_ms: int) -> None:
        self.at_ms = at_ms

    def now_ms(self) -> int:
        """Return the time it was set to."""
        return self.at_ms

    def advance(self, by_ms: int) -> None:
        """Move the clock forward by ``by_ms`` milliseconds."""
        self.at_ms += by_ms


def moment_of(text: str) -> int | None:
    """Return a date or time of ISO 8601 as epoch milliseconds, UTC without a zone; None if the text is neither."""
    try:
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000)
    except (ValueError, OverflowError):
        return None


def to_datetime(at_ms: int) -> datetime:
    """Return ``at_ms`` (epoch milliseconds) as an aware UTC datetime."""
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC)
