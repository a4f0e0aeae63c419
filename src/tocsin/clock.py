"""What time is it? The only reader of the system clock; everyone else is handed a ``Clock``."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time as epoch milliseconds, UTC."""

    def now_ms(self) -> int:
        """Return the time now."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        """Return the time now."""
        return time.time_ns() // 1_000_000


class FixedClock:
    """A clock that moves only when told to; for replays and tests."""

    def __init__(self, at_ms: int) -> None:
        self.at_ms = at_ms

    def now_ms(self) -> int:
        """Return the time it was told."""
        return self.at_ms

    def advance(self, by_ms: int) -> None:
        """Move the clock forward by ``by_ms`` milliseconds."""
        self.at_ms += by_ms


def to_datetime(at_ms: int) -> datetime:
    """Return ``at_ms`` (epoch milliseconds) as an aware UTC datetime."""
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC)
