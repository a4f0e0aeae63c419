"""Due times that recipients prefer: the end of their quiet hours and days, or their next digest.

Pure; asked when a notification is written, and quiet times again when it is sent. What is critical is not asked. Next:
``flow/schedule/messages.py``, ``store/outbox/quiet_times.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from tocsin.flow.schedule.wall_clock import next_shown_s, zone_named
from tocsin.model.change_kinds import EventKind, Frequency
from tocsin.model.follow_choices import FollowChoices, FollowLayer
from tocsin.model.mute import EVERYTHING_ID, Mute, MuteKind, actor_key
from tocsin.model.notification_draft import EventHead, NotificationDraft
from tocsin.model.preferences import (
    DEFAULT,
    IN_APP,
    Absence,
    FrequencyChoice,
    Layer,
    Layers,
    Preferences,
    Weekday,
    mandatory_kind,
    times_of,
)
from tocsin.model.roles import AssetRole
from tocsin.model.subscription import Channel
from tocsin.model.ways import ToldBecause, Way, choose_among, ways_of

_DAY = timedelta(days=1)

PREFERRED = "preferences:"
"""What the grouping keys of messages that wait for their recipient's time begin with."""

OVER_LIMIT = ":most:"
"""What follows in the grouping keys of messages that wait for the next hour, with how many of an hour are sent."""

DIGESTS = (Frequency.HOURLY, Frequency.DAILY, Frequency.WEEKLY)
NEVER_MS = 2**62
"""The due time of what a person never wants in the app: it is kept, and not shown."""

_HOUR_MS = 3_600_000
_MENTION = "mention"
_ANY_ROLE = frozenset[AssetRole | None]()

_ChoiceKey = tuple[int, str, str, bool, frozenset[AssetRole | None]]
"""By what choices are remembered: the layers, the event, the channel, whether its reader is mentioned, and the roles.
"""

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
class FullHour:
    """Each full hour, the same in all time zones and whatever the clocks do."""

    def next_ms(self, after_ms: int) -> int:
        """Return the first full hour after ``after_ms`` (both epoch milliseconds)."""
        return (after_ms // _HOUR_MS + 1) * _HOUR_MS


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
class FreeDays:
    """The days of the week (0: Monday) that are quiet from midnight to midnight of a zone."""

    numbers: frozenset[int]
    zone: ZoneInfo

    def ends_after(self, at_ms: int) -> int:
        """Return ``at_ms``, or the end of the free day on which it lies (both epoch milliseconds)."""
        weekday = datetime.fromtimestamp(at_ms / 1000, self.zone).weekday()
        if weekday not in self.numbers:
            return at_ms
        return DailyTime(0, 0, self.zone, (weekday + 1) % 7).next_ms(at_ms)


@dataclass(frozen=True)
class QuietTimes:
    """When nothing is sent to a person: their quiet hours, their free days, and while they are away."""

    hours: QuietPeriod | None = None
    days: FreeDays | None = None
    absence: Absence | None = None

    def ends_after(self, at_ms: int) -> int:
        """Return ``at_ms``, or the first moment after it that is in none (both epoch milliseconds)."""
        end_ms = self._hours_end_ms(self.returns_ms(at_ms))
        while (later_ms := self._days_end_ms(self.returns_ms(end_ms))) != end_ms:
            end_ms = self._hours_end_ms(later_ms)
        return end_ms

    def returns_ms(self, at_ms: int) -> int:
        """Return ``at_ms``, or the end of the absence in which it lies (both epoch milliseconds)."""
        return at_ms if self.absence is None else self.absence.ends_after(at_ms)

    def _hours_end_ms(self, at_ms: int) -> int:
        return at_ms if self.hours is None else self.hours.ends_after(at_ms)

    def _days_end_ms(self, at_ms: int) -> int:
        return at_ms if self.days is None else self.days.ends_after(at_ms)


@dataclass(frozen=True)
class PreferredWait:
    """What a person waits for: a digest, the end of quiet times, or the end of those in which the digest lies."""

    quiet: QuietTimes | None = None
    digest: DailyTime | FullHour | None = None

    def due_at_ms(self, at_ms: int) -> int:
        """Return the due time of a message that would otherwise be sent at ``at_ms`` (both epoch milliseconds).

        What comes while its reader is away is due when they return, whichever digest it is for.
        """
        if self.quiet is not None and self.quiet.returns_ms(at_ms) != at_ms:
            return self.quiet.ends_after(at_ms)
        moment_ms = at_ms if self.digest is None else self.digest.next_ms(at_ms)
        return moment_ms if self.quiet is None else self.quiet.ends_after(moment_ms)

    def following_ms(self, due_at_ms: int) -> int:
        """Return the due time of what comes too late for the message that was due at ``due_at_ms``."""
        return due_at_ms + _MOMENT_MS if self.digest is None else self.due_at_ms(due_at_ms)


@dataclass(frozen=True)
class Preferred:
    """Preferences that hold for some recipients, by their ids, the kinds of what changed, by event, and all others'.

    ``layers`` are of who has chosen something, or is in a team that has; the times of a recipient are those of the
    first layer. ``versions`` say, by recipient, which preferences these are: what waited for others does not take more.
    ``beneath`` are the defaults that hold for all others. ``mutes`` are the broad ones, by recipient, ``follows`` the
    choices for single follows, by recipient and ``follow_key``.
    """

    layers: Mapping[str, Layers] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, tuple[EventKind, ...]] = field(default_factory=dict)
    beneath: Layers = ()
    mutes: Mapping[str, Sequence[Mute]] = field(default_factory=dict)
    follows: Mapping[str, Mapping[str, FollowChoices]] = field(default_factory=dict)
    _choices: dict[_ChoiceKey, FrequencyChoice] = field(default_factory=dict, compare=False, repr=False)
    """What is chosen for an event, by the layers and roles, which many recipients share."""
    _role_layers: dict[int, bool] = field(default_factory=dict, compare=False, repr=False)
    """Whether layers depend on roles."""
    _waits: dict[tuple[int, str, str], PreferredWait | None] = field(default_factory=dict, compare=False, repr=False)
    """What is waited for, by the layers."""

    @property
    def is_empty(self) -> bool:
        """Return whether nobody prefers anything."""
        return not self.layers and not self.beneath and not self.mutes and not self.follows

    def choice_for(self, draft: NotificationDraft) -> FrequencyChoice:
        """Return how often what a draft is about comes to its recipient over its channel."""
        return self.choice(draft.recipient_id, draft.event, draft.channel, draft.reasons.because)

    def choice(
        self, recipient_id: str | None, event: EventHead, channel: Channel, because: ToldBecause
    ) -> FrequencyChoice:
        """Return how often an event comes to a recipient over a channel, who is told of it for some reasons.

        A mention counts for who is mentioned.
        """
        layers, mutes = self._layers_of(recipient_id), self.mutes.get(recipient_id or "", ())
        follows = self.follows.get(recipient_id or "", {})
        if not layers and not mutes and not follows:
            return DEFAULT
        if mutes or follows:
            ways, kinds = ways_of(because, event.entity_id, follows), self._kinds_of(event, because)
            mute = _mute_of(mutes, (layers, ways), kinds, (event, channel)) if mutes else None
            if mute is not None:
                return FrequencyChoice(Frequency.NEVER, mute.to_text(), Layer.MUTE)
            if any(way.follows for way in ways):
                return choose_among(ways, layers, kinds, channel)
        return self._choice_by_role(layers, event, channel, because)

    def _choice_by_role(
        self, layers: Layers, event: EventHead, channel: Channel, because: ToldBecause
    ) -> FrequencyChoice:
        """Return what layers choose for the roles of a recipient; who shares these shares the choice."""
        by_role = self._role_layers.get(id(layers))
        if by_role is None:
            by_role = any(preferences.names_roles() for _, preferences in layers)
            self._role_layers[id(layers)] = by_role
        roles = because.roles if by_role else _ANY_ROLE
        key = (id(layers), event.event_id, channel, because.is_mentioned, roles)
        cached_choice = self._choices.get(key)
        if cached_choice is None:
            ways = ways_of(because, event.entity_id, {}) if by_role else ()
            kinds = self._kinds_of(event, because)
            cached_choice = self._choices[key] = choose_among(ways, layers, kinds, channel)
        return cached_choice

    def choice_of_mute(self, draft: NotificationDraft) -> FrequencyChoice | None:
        """Return the choice of never that a mute of an alert or asset is; None without one, or of a mandatory kind."""
        if draft.mute is None or self.has_mandatory_kind(draft.recipient_id, draft.event, draft.reasons.because):
            return None
        return FrequencyChoice(Frequency.NEVER, draft.mute.to_text(), Layer.MUTE)

    def has_mandatory_kind(self, recipient_id: str | None, event: EventHead, because: ToldBecause) -> bool:
        """Return whether an event is of a kind that who is told of it for these reasons may not switch off."""
        kinds = self._kinds_of(event, because)
        return mandatory_kind(self._layers_of(recipient_id), kinds, because.roles) is not None

    def _kinds_of(self, event: EventHead, because: ToldBecause) -> Sequence[EventKind]:
        kinds = self.kinds.get(event.event_id, ())
        if because.is_mentioned or len(kinds) < 2:
            return kinds
        return tuple(one for one in kinds if one.kind != _MENTION)

    def wait(self, draft: NotificationDraft, choice: FrequencyChoice) -> PreferredWait | None:
        """Return what a draft waits for that comes as chosen; None if for nothing.

        In the app there are no quiet hours.
        """
        layers = self._layers_of(draft.recipient_id)
        if not layers and choice.layer is Layer.NOBODY:
            return None
        key = (id(layers), choice.frequency, choice.moment)
        if key not in self._waits:
            self._waits[key] = wait_of(times_of(layers), choice)
        wait = self._waits[key]
        if wait is None or draft.channel is not IN_APP:
            return wait
        return None if wait.digest is None else PreferredWait(digest=wait.digest)

    def grouping_key(self, recipient_id: str) -> str:
        """Return the key of messages that wait for a recipient's time."""
        return f"{PREFERRED}{self.versions.get(recipient_id, 0)}"

    def _layers_of(self, recipient_id: str | None) -> Layers:
        if recipient_id is None:
            return ()
        return self.layers.get(recipient_id, self.beneath)


NO_PREFERENCES = Preferred()


def _mute_of(
    mutes: Sequence[Mute],
    choices: tuple[Layers, Sequence[Way]],
    kinds: Sequence[EventKind],
    place: tuple[EventHead, Channel],
) -> Mute | None:
    """Return the broad mute that suppresses an event over a channel; none does of a kind that is mandatory.

    Muted kinds suppress an event as kinds do that never come: what is of another kind as well comes for that.
    """
    (layers, ways), (event, channel) = choices, place
    own_mutes = [one for one in mutes if one.holds(channel, (event.offset, event.timestamp_ms))]
    roles = [role for way in ways for role in (way.role, *way.follow_roles)]
    if not own_mutes or mandatory_kind(layers, kinds, roles) is not None:
        return None
    actor = "" if event.user_id is None else actor_key(event.user_id)
    for mute in own_mutes:
        if mute.about_id in (EVERYTHING_ID, actor):
            return mute
    by_kind = {mute.subject: mute for mute in own_mutes if mute.kind is MuteKind.KIND}
    silence = FollowChoices(kinds={name: {channel: Frequency.NEVER} for name in by_kind})
    silent_ways = [way._replace(follows=(FollowLayer("", silence), *way.follows)) for way in ways]
    choice = choose_among(silent_ways, layers, kinds, channel)
    is_muted = choice.frequency is Frequency.NEVER and choice.kind in by_kind
    return by_kind[choice.kind] if is_muted else None


def wait_of(preferences: Preferences, choice: FrequencyChoice) -> PreferredWait | None:
    """Return the wait for what comes as chosen, None if it is sent at once.

    ``never`` gives no wait: it is dropped when it would be sent (``store/outbox/send_permission.py``).
    """
    quiet = quiet_times_of(preferences)
    if choice.frequency in DIGESTS:
        return PreferredWait(quiet, _digest_time(preferences, choice))
    return None if quiet is None else PreferredWait(quiet)


def _digest_time(preferences: Preferences, choice: FrequencyChoice) -> DailyTime | FullHour:
    if choice.frequency is Frequency.HOURLY:
        return FullHour()
    day, time = digest_moment(preferences, choice)
    weekday = Weekday(day).number if choice.frequency is Frequency.WEEKLY else None
    return DailyTime.of(time, preferences.timezone, weekday)


def digest_moment(preferences: Preferences, choice: FrequencyChoice) -> tuple[str, str]:
    """Return on which day (for what is weekly) and at what time digests come: as chosen for the kind, or for all."""
    words = choice.moment.split()
    day = next((word for word in words if ":" not in word), preferences.digest_day.value)
    return day, next((word for word in words if ":" in word), preferences.digest_at)


def quiet_times_of(preferences: Preferences) -> QuietTimes | None:
    """Return when nothing is sent to a person, if there is such a time."""
    quiet, working_days = preferences.quiet_hours, preferences.working_days
    zone_name = preferences.timezone
    hours = (
        None if quiet is None else QuietPeriod(DailyTime.of(quiet.start, zone_name), DailyTime.of(quiet.end, zone_name))
    )
    free_numbers = frozenset(range(7)).difference(day.number for day in working_days or Weekday)
    days = FreeDays(free_numbers, zone_named(zone_name, field="timezone")) if free_numbers else None
    return QuietTimes(hours, days, preferences.away) if hours or days or preferences.away else None
