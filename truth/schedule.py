"""Second model of when notifications are due: preferences on a clock, schedules, and what is one message.

Written from ``docs/schedules.md``. Nothing is sent during a replay, so a message that gathers takes all that follows.
Next: ``truth/compare.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from truth.alerts import BELL, HOOK, Alert
from truth.compare import Difference, Kind
from truth.expected import Reason
from truth.history import Json

_PACE_MS = 60_000
"""``pollInterval`` of the alerts of a replay: the default."""


@dataclass(frozen=True)
class Planned:
    """A stored notification with its times (epoch milliseconds); ``person`` is empty where it goes to an address."""

    event_id: str
    event_ms: int
    channel: str
    recipient: str
    person: str
    reasons: frozenset[Reason]
    created_ms: int
    due_ms: int
    message_id: str
    grouping_key: str


@dataclass(frozen=True)
class Schedule:
    """What decides when something is due: the alerts by name, and what people prefer."""

    alerts: Mapping[str, Alert]
    preferences: Mapping[str, Json]

    def differences(self, planned: Iterable[Planned]) -> Iterator[Difference]:
        """Yield notifications that are due at another time, and messages that should be one or are too many."""
        sent = [one for one in planned if one.channel not in (BELL, HOOK)]
        counts: dict[str, int] = defaultdict(int)
        together: dict[tuple[str, ...], list[Planned]] = defaultdict(list)
        for one in sent:
            counts[one.message_id] += 1
            yield from self._late_or_early(one)
            together[self._gathered_by(one)].append(one)
        for group, members in together.items():
            if group[0] == "alone":
                others = [one for one in members if counts[one.message_id] != 1]
                yield from (_unlike(one, "1 in the message", str(counts[one.message_id])) for one in others)
            elif (count := len({one.message_id for one in members})) != 1:
                yield _unlike(members[0], f"1 message with {len(members)}", f"{count} messages")

    def _late_or_early(self, one: Planned) -> Iterator[Difference]:
        first_ms, last_ms = self.due(one)
        if not first_ms <= one.due_ms <= last_ms:
            yield _unlike(one, f"due {_words(first_ms)} to {_words(last_ms)}", _words(one.due_ms))

    def due(self, one: Planned) -> tuple[int, int]:
        """Return between which moments a notification must be due."""
        base_ms, preferences = self._base_ms(one), self.preferences.get(one.person)
        if self._is_critical(one):
            return one.created_ms, one.created_ms
        if preferences is not None and (due_ms := preferred_ms(preferences, base_ms)) != base_ms:
            return due_ms, due_ms
        if base_ms != one.created_ms:
            return base_ms, base_ms
        return 0, one.created_ms + _PACE_MS

    def _base_ms(self, one: Planned) -> int:
        """Return when it is due by its alerts: the soonest of their times."""
        hours = [self.alerts[reason.alert].daily_at for reason in one.reasons]
        if any(hour is None for hour in hours):
            return one.created_ms
        return min(_scheduled_ms(hour, one) for hour in hours if hour is not None)

    def _gathered_by(self, one: Planned) -> tuple[str, ...]:
        place = (one.channel, one.recipient)
        first_ms, last_ms = self.due(one)
        if self._is_critical(one):
            return "alone", *place, one.event_id
        if first_ms == last_ms:
            preferred = self.preferences.get(one.person)
            waits = preferred is not None and preferred_ms(preferred, self._base_ms(one)) != self._base_ms(one)
            return "waits" if waits else "scheduled", *place, str(one.due_ms)
        return "paced", *place, one.grouping_key

    def _is_critical(self, one: Planned) -> bool:
        return any(self.alerts[reason.alert].is_critical for reason in one.reasons)


def preferred_ms(preferences: Json, at_ms: int) -> int:
    """Return when somebody is notified of what is due at a moment: at their digest, and after their quiet hours."""
    zone = ZoneInfo(preferences.get("timezone", "UTC"))
    if (frequency := preferences.get("frequency", "immediate")) in ("daily", "weekly"):
        digest = time.fromisoformat(preferences.get("digestAt", "09:00"))
        at_ms = _next_ms(digest, zone, at_ms, weekdays=(0,) if frequency == "weekly" else range(7))
    quiet = preferences.get("quietHours")
    return at_ms if quiet is None else _after_quiet_ms(quiet, zone, at_ms)


def _next_ms(at: time, zone: ZoneInfo, after_ms: int, weekdays: Sequence[int] | range) -> int:
    today = _day(after_ms, zone)
    days = [today + timedelta(days=number) for number in range(9)]
    moments = (_moment_ms(day, at, zone) for day in days if day.weekday() in weekdays)
    return next(moment for moment in moments if moment > after_ms)


def _after_quiet_ms(quiet: Json, zone: ZoneInfo, at_ms: int) -> int:
    start, end = time.fromisoformat(quiet["start"]), time.fromisoformat(quiet["end"])
    today = _day(at_ms, zone)
    for day in (today - timedelta(days=1), today):
        end_ms = _moment_ms(day + timedelta(days=int(end <= start)), end, zone)
        if _moment_ms(day, start, zone) <= at_ms < end_ms:
            return end_ms
    return at_ms


def _scheduled_ms(hour: int, one: Planned) -> int:
    """Return the next time of a daily alert in UTC; the last one for what happened before it and is caught up."""
    zone = ZoneInfo("UTC")
    next_ms = _next_ms(time(hour), zone, one.created_ms, range(7))
    missed_ms = next_ms - 86_400_000
    return missed_ms if one.event_ms < missed_ms else next_ms


def _day(at_ms: int, zone: ZoneInfo) -> date:
    return datetime.fromtimestamp(at_ms / 1000, zone).date()


def _moment_ms(day: date, at: time, zone: ZoneInfo) -> int:
    return round(datetime.combine(day, at, zone).timestamp() * 1000)


def _words(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def _unlike(one: Planned, right: str, found: str) -> Difference:
    return Difference(Kind.SCHEDULE, 0, f"event {one.event_id}", one.channel, one.recipient, right, found)
