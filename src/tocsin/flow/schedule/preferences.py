"""Due times that recipients prefer: the end of their quiet hours, or their next digest.

Pure; asked when a notification is written. What is critical is not asked. Next: ``flow/schedule/messages.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from tocsin.flow.schedule.wall_clock import next_shown_s, zone_named
from tocsin.model.change_kinds import Frequency
from tocsin.model.preferences import Preferences

_DAY = timedelta(days=1)

PREFERRED = "preferences:"
"""What the grouping keys of messages that wait for their recipient's time begin with."""

_MONDAY = 0
_DIGEST_WEEKDAYS = {Frequency.DAILY: None, Frequency.WEEKLY: _MONDAY}
_MOMENT_MS = 1_000
"""How much later what comes too late for the message at the end of quiet hours is sent."""


@dataclass(frozen=True)
class DailyTime:
    """A time of the day in a time zone, every day or on one weekday (0: Monday)."""

    hour: int
    minute: int
    zone: ZoneInfo
    weekday: int | None = None

    @classmethod
    def of(cls, time: str, timezone: str, weekday: int | None = None) -> DailyTime:
        """Return a time such as ``09:00``."""
        hour, minute = (int(part) for part in time.split(":"))
        return cls(hour, minute, zone_named(timezone, field="timezone"), weekday)

    def next_ms(self, after_ms: int) -> int:
        """Return the first moment after ``after_ms`` (both epoch milliseconds) at which it is that time."""
        return _next_ms(self, after_ms)

    def walls_after(self, wall: datetime) -> Iterator[datetime]:
        """Yield when a clock that shows ``wall`` shows this time later."""
        day = wall.replace(hour=self.hour, minute=self.minute, second=0, microsecond=0)
        while True:
            if day > wall and self.weekday in (None, day.weekday()):
                yield day
            day += _DAY


@lru_cache(maxsize=4_096)
def _next_ms(daily: DailyTime, after_ms: int) -> int:
    moment_s = next_shown_s(daily.walls_after, daily.zone, after_ms // 1000)
    return 1000 * (moment_s or 0)


@dataclass(frozen=True)
class QuietPeriod:
    """The quiet hours of a person: every day from ``start`` to ``end``."""

    start: DailyTime
    end: DailyTime

    def ends_after(self, at_ms: int) -> int:
        """Return ``at_ms``, or the end of the quiet hours in which it lies (both epoch milliseconds).

        It lies in them if they end before they begin again. The time of the day alone does not tell: when the clocks
        are turned back, quiet hours that ended at 2:30 do not begin once more at the second 2:00.
        """
        if self.start == self.end:
            return at_ms
        start_ms, end_ms = self.start.next_ms(at_ms), self.end.next_ms(at_ms)
        if start_ms == end_ms:  # the clocks skip both
            return end_ms if self._include(datetime.fromtimestamp(at_ms / 1000, self.start.zone)) else at_ms
        return end_ms if end_ms < start_ms else at_ms

    def _include(self, local: datetime) -> bool:
        start, end, now = ((time.hour, time.minute) for time in (self.start, self.end, local))
        return start <= now < end if start < end else now >= start or now < end


@dataclass(frozen=True)
class PreferredWait:
    """What a person waits for: a digest, the end of quiet hours, or the end of those in which the digest lies."""

    quiet: QuietPeriod | None = None
    digest: DailyTime | None = None

    def due_at_ms(self, at_ms: int) -> int:
        """Return the due time of a message that would otherwise be sent at ``at_ms`` (both epoch milliseconds)."""
        moment_ms = at_ms if self.digest is None else self.digest.next_ms(at_ms)
        return moment_ms if self.quiet is None else self.quiet.ends_after(moment_ms)

    def following_ms(self, due_at_ms: int) -> int:
        """Return the due time of what comes too late for the message that was due at ``due_at_ms``."""
        return due_at_ms + _MOMENT_MS if self.digest is None else self.due_at_ms(due_at_ms)


@dataclass(frozen=True)
class Preferred:
    """Preferences of some recipients by their ids, and the categories of what changed, by event.

    ``versions`` say, by recipient, which preferences these are: what waited for others does not take more.
    """

    preferences: Mapping[str, Preferences] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def wait(self, recipient_id: str | None, event_id: str) -> PreferredWait | None:
        """Return what an event may wait for on its way to a recipient; None if for nothing."""
        preferences = self.preferences.get(recipient_id or "")
        return None if preferences is None else wait_of(preferences, self.categories.get(event_id, ()))

    def grouping_key(self, recipient_id: str) -> str:
        """Return the key of messages that wait for a recipient's time."""
        return f"{PREFERRED}{self.versions.get(recipient_id, 0)}"


NO_PREFERENCES = Preferred()


def wait_of(preferences: Preferences, categories: tuple[str, ...]) -> PreferredWait | None:
    """Return the wait for changes of these categories, None if they are sent at once.

    ``never`` gives no wait: it is dropped when it would be sent (``store/outbox/send_permission.py``).
    """
    frequency, quiet = preferences.frequency_of(categories), quiet_period_of(preferences)
    if frequency in _DIGEST_WEEKDAYS:
        digest = DailyTime.of(preferences.digest_at, preferences.timezone, _DIGEST_WEEKDAYS[frequency])
        return PreferredWait(quiet, digest)
    return None if quiet is None else PreferredWait(quiet)


def quiet_period_of(preferences: Preferences) -> QuietPeriod | None:
    """Return the quiet hours in which nothing is sent to a person, if there are any."""
    quiet, zone = preferences.quiet_hours, preferences.timezone
    return None if quiet is None else QuietPeriod(DailyTime.of(quiet.start, zone), DailyTime.of(quiet.end, zone))
