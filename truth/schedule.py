"""Second model of when notifications are due: preferences on a clock, schedules, and what is one message.

Written from ``docs/schedules.md``. Nothing is sent during a replay, so a message that gathers takes all that follows.
Next: ``truth/compare.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from truth.alerts import BELL, HOOK, Alert
from truth.calls import DAY_MS, check_ms
from truth.compare import Difference, Kind
from truth.expected import Address, Reason
from truth.frequencies import IMMEDIATE, NEVER
from truth.history import Json

_CHECK_WAIT_MS = 3_600_000
"""How long a digest waits at most for a check."""

_PARTS_WAIT_MS = 5_000
"""How long parts of a whole wait for each other, from the time of their event."""

NEVER_MS = 2**62
"""When what never comes in the app is due."""

_HOUR_MS = 3_600_000
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_PACE_MS = 60_000
"""``pollInterval`` of the alerts of a replay: the default."""


@dataclass(frozen=True)
class Planned:
    """A stored notification with its times (epoch milliseconds); ``person`` is empty where it goes to an address.

    ``frequency`` is how often its person wants it, as is stored with it: ``daily``.
    """

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
    frequency: str = IMMEDIATE

    @property
    def address(self) -> Address:
        """Where it goes, in the words of an expectation."""
        return self.event_id, self.channel, self.person if self.channel == BELL else self.recipient


@dataclass(frozen=True)
class Schedule:
    """What decides when something is due: the alerts by name, what people prefer, and when the replay started.

    ``preferences`` has everybody. ``frequencies`` says how often people want what goes where
    (``truth/frequencies.py``).
    """

    alerts: Mapping[str, Alert]
    preferences: Mapping[str, Json]
    started_ms: int = 0
    frequencies: Mapping[Address, str] = field(default_factory=dict)

    def differences(self, planned: Iterable[Planned]) -> Iterator[Difference]:
        """Yield notifications that are due at another time, and messages that should be one or are too many."""
        every_notification = list(planned)
        for notification in every_notification:
            yield from self._chosen_otherwise(notification)
            if notification.channel == BELL:
                yield from self._shown_otherwise(notification)
        notifications = [one for one in every_notification if one.channel not in (BELL, HOOK)]
        counts: dict[str, int] = defaultdict(int)
        together: dict[tuple[str, ...], list[Planned]] = defaultdict(list)
        for notification in notifications:
            counts[notification.message_id] += 1
            yield from self._late_or_early(notification)
            together[self._gathering_key(notification)].append(notification)
        for group, members in together.items():
            if group[0] == "alone":
                wrong_members = [notification for notification in members if counts[notification.message_id] != 1]
                yield from (
                    _unlike(notification, "1 in the message", str(counts[notification.message_id]))
                    for notification in wrong_members
                )
            elif (count := _message_count(members)) != 1:
                yield _unlike(members[0], f"1 message with {len(members)}", f"{count} messages")

    def _late_or_early(self, planned: Planned) -> Iterator[Difference]:
        first_ms, last_ms = self.due(planned)
        if not first_ms <= planned.due_ms <= last_ms:
            yield _unlike(planned, f"due {_words(first_ms)} to {_words(last_ms)}", _words(planned.due_ms))

    def _shown_otherwise(self, planned: Planned) -> Iterator[Difference]:
        """Yield a notification in the app that is shown at another time than its person prefers, or not."""
        preferences = self.preferences.get(planned.person)
        if preferences is None or self._is_critical(planned) or self._is_checked(planned):
            return
        base_ms = self._base_ms(planned)
        due_ms = self._chosen_ms(preferences, base_ms, planned)
        if due_ms != base_ms and planned.due_ms != due_ms:
            yield _unlike(planned, f"shown {_words(due_ms)}", _words(planned.due_ms))
        if due_ms == base_ms and planned.due_ms == NEVER_MS:
            yield _unlike(planned, f"shown {_words(due_ms)}", "never")

    def _chosen_otherwise(self, planned: Planned) -> Iterator[Difference]:
        """Yield a notification that its person wants more or less often than is stored with it."""
        right = self.frequencies.get(planned.address, IMMEDIATE)
        is_asked = planned.person != "" and planned.channel != HOOK and not self._is_critical(planned)
        if is_asked and right.split(" ")[0] != planned.frequency:
            yield _unlike(planned, f"wanted {right}", planned.frequency)

    def _chosen_ms(self, preferences: Json, base_ms: int, planned: Planned) -> int:
        """Return when a person is told as often as they want it."""
        frequency = self.frequencies.get(planned.address, IMMEDIATE)
        if planned.channel != BELL:
            return preferred_ms(preferences, base_ms, frequency)
        shown_ms = _rhythm_ms(frequency, preferences, base_ms)
        return NEVER_MS if frequency == NEVER else shown_ms

    def due(self, planned: Planned) -> tuple[int, int]:
        """Return between which moments a notification must be due."""
        base_ms, preferences = self._base_ms(planned), self.preferences.get(planned.person)
        if self._is_critical(planned):
            return planned.created_ms, planned.created_ms
        if preferences is not None and (due_ms := self._chosen_ms(preferences, base_ms, planned)) != base_ms:
            return due_ms, due_ms
        if self._is_checked(planned):
            return base_ms, planned.created_ms + _CHECK_WAIT_MS
        if base_ms != planned.created_ms:
            return base_ms, base_ms
        return 0, planned.created_ms + _PACE_MS

    def _base_ms(self, planned: Planned) -> int:
        """Return when it is due by its alerts: the soonest of their times."""
        if self._is_checked(planned):
            return check_ms(self.started_ms)
        hours = [self.alerts[reason.alert].daily_at for reason in planned.reasons]
        if any(hour is None for hour in hours):
            return planned.created_ms
        return min(_scheduled_ms(hour, planned) for hour in hours if hour is not None)

    def _gathering_key(self, planned: Planned) -> tuple[str, ...]:
        place = (planned.channel, planned.recipient)
        first_ms, last_ms = self.due(planned)
        if self._is_critical(planned):
            return "alone", *place, planned.event_id
        if self._is_checked(planned) and first_ms != last_ms:
            return "checked", *place
        if first_ms == last_ms:
            preferences = self.preferences.get(planned.person)
            base_ms = self._base_ms(planned)
            waits = preferences is not None and self._chosen_ms(preferences, base_ms, planned) != base_ms
            return "waits" if waits else "scheduled", *place, str(planned.due_ms)
        day = (planned.created_ms - self.started_ms) // DAY_MS  # what is not sent within a day gathers no more
        return "paced", *place, planned.grouping_key, str(day)

    def _is_checked(self, planned: Planned) -> bool:
        return any(self.alerts[reason.alert].checks for reason in planned.reasons)

    def _is_critical(self, planned: Planned) -> bool:
        return any(self.alerts[reason.alert].is_critical for reason in planned.reasons)


def _message_count(members: Sequence[Planned]) -> int:
    """Return the number of messages; those that wait for the parts of a whole may be beside another one."""
    waiting_ids = {one.message_id for one in members if one.created_ms < one.due_ms <= one.event_ms + _PARTS_WAIT_MS}
    other_ids = {one.message_id for one in members} - waiting_ids
    return len(other_ids) or len(waiting_ids)


def preferred_ms(preferences: Json, at_ms: int, frequency: str) -> int:
    """Return when somebody is notified of what is due at a moment: at their digest, and after their quiet hours.

    What never comes is as what comes at once, and is dropped then.
    """
    due_ms, quiet = _rhythm_ms(frequency, preferences, at_ms), preferences.get("quietHours")
    return due_ms if quiet is None else _after_quiet_ms(quiet, ZoneInfo(preferences.get("timezone", "UTC")), due_ms)


def _rhythm_ms(text: str, preferences: Json, at_ms: int) -> int:
    """Return the next time of a frequency, such as ``weekly friday 08:30``, after a moment."""
    zone, digest_at = ZoneInfo(preferences.get("timezone", "UTC")), preferences.get("digestAt", "09:00")
    frequency, *moment = text.split(" ")
    days = [word for word in moment if ":" not in word]
    digest = time.fromisoformat(next((word for word in moment if ":" in word), digest_at))
    match frequency:
        case "hourly":
            return (at_ms // _HOUR_MS + 1) * _HOUR_MS
        case "daily":
            return _next_ms(digest, zone, at_ms, weekdays=range(7))
        case "weekly":
            return _next_ms(digest, zone, at_ms, weekdays=[_DAYS.index(one) for one in days] or [0])
        case _:
            return at_ms


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


def _scheduled_ms(hour: int, planned: Planned) -> int:
    """Return the next time of a daily alert in UTC; the last one for what happened before it and is caught up."""
    zone = ZoneInfo("UTC")
    next_ms = _next_ms(time(hour), zone, planned.created_ms, range(7))
    missed_ms = next_ms - DAY_MS
    return missed_ms if planned.event_ms < missed_ms else next_ms


def _day(at_ms: int, zone: ZoneInfo) -> date:
    return datetime.fromtimestamp(at_ms / 1000, zone).date()


def _moment_ms(day: date, at: time, zone: ZoneInfo) -> int:
    return round(datetime.combine(day, at, zone).timestamp() * 1000)


def _words(at_ms: int) -> str:
    return "never" if at_ms == NEVER_MS else f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def _unlike(planned: Planned, right: str, actual: str) -> Difference:
    return Difference(Kind.SCHEDULE, 0, f"event {planned.event_id}", planned.channel, planned.recipient, right, actual)
