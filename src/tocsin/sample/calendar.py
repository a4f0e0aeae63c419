"""Calendar of the sample's year: working days and times of people and bots, numbered from 0 to yesterday.

Next: ``sample/history.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tocsin.clock import to_datetime

DAYS = 365
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


@dataclass(frozen=True)
class Calendar:
    """The year before ``now_ms`` (epoch milliseconds); days begin at midnight UTC."""

    now_ms: int

    def at(self, day: int, hour: float) -> int:
        """Return the moment ``hour`` hours into a day."""
        midnight_ms = self.now_ms - self.now_ms % DAY_MS
        return midnight_ms + (day - DAYS) * DAY_MS + int(hour * HOUR_MS)

    def is_workday(self, day: int) -> bool:
        """Return whether people work on that day."""
        return to_datetime(self.at(day, 0)).weekday() < 5

    def workdays(self) -> list[int]:
        """Return every day on which people work, the first two weeks of cataloguing left out."""
        return [day for day in range(14, DAYS) if self.is_workday(day)]

    def by_day(self, day: int, rng: Random) -> int:
        """Return a moment in office hours on that day, or on the Monday after a weekend (yesterday at the latest)."""
        on = next((later for later in range(day, DAYS) if self.is_workday(later)), DAYS - 1)
        return self.at(on, min(max(rng.gauss(12.5, 2.5), 7.0), 19.5))

    def by_night(self, day: int, rng: Random) -> int:
        """Return a moment in the small hours, when bots run."""
        return self.at(min(day, DAYS - 1), 2.0 + rng.random())

    def day_of(self, at_ms: int) -> int:
        """Return the day of a timestamp."""
        return (at_ms - self.at(0, 0)) // DAY_MS
