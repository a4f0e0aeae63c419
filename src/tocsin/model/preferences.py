"""Notification preferences of a person: quiet hours, and how often each kind of change comes over each channel.

Next: ``flow/schedule/preferences.py`` applies them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from typing import Annotated, NamedTuple, Protocol

from pydantic import AfterValidator, Field

from tocsin.clock import LATEST_MS
from tocsin.model.change_kinds import BOT, BREAKING, CHANGE_KINDS, EventKind, Frequency
from tocsin.model.entity import Document, WireModel
from tocsin.model.roles import AssetRole
from tocsin.model.subscription import Channel
from tocsin.model.timed_frequency import TimedFrequencyText, parse_timed_frequency

_TIME = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"


def _check_time(text: str) -> str:
    if not re.fullmatch(_TIME, text):
        raise ValueError(f"must be a time of the day from 00:00 to 23:59, such as 20:00, not {text!r}")
    return text


TimeOfDay = Annotated[str, AfterValidator(_check_time), Field(json_schema_extra={"pattern": _TIME})]
"""``HH:MM``; the pattern is for the OpenAPI document."""

_SOONEST_FIRST = {one: place for place, one in enumerate(Frequency)}

IN_APP = Channel.ACTIVITY_FEED
PREFERRED_CHANNELS = (
    *(IN_APP, Channel.EMAIL, Channel.SLACK, Channel.MS_TEAMS, Channel.G_CHAT, Channel.WEBHOOK, Channel.PUSH),
)
"""The channels for which a person may choose, kind by kind."""

_BY_KIND_ONLY = (IN_APP, Channel.WEBHOOK, Channel.PUSH)
"""The channels that what one chooses for mails and direct messages is not about: categories, and everything."""


class Weekday(StrEnum):
    """Day of the week, Monday first."""

    MONDAY = "monday"
    TUESDAY = "tuesday"
    WEDNESDAY = "wednesday"
    THURSDAY = "thursday"
    FRIDAY = "friday"
    SATURDAY = "saturday"
    SUNDAY = "sunday"

    @property
    def number(self) -> int:
        """Return its number, 0 for Monday."""
        return list(Weekday).index(self)


WorkingDays = Annotated[tuple[Weekday, ...], Field(min_length=1, max_length=7)]


class Layer(StrEnum):
    """Whose choice a frequency is, or of which kind."""

    FOLLOW = "follow"
    OWN = "own"
    TEAM = "team"
    MANDATORY = "mandatory"
    SERVER = "server"
    MUTE = "mute"
    NOBODY = "nobody"


_AFTER_ROLE = "/"


class FrequencyChoice(NamedTuple):
    """How often something comes, which kind or category decides (empty: all), and who has chosen it.

    ``team_id`` is the team whose defaults have chosen it, if a team's have. ``moment`` is when digests of it come, if
    that is chosen for it alone, such as ``friday 08:30``; notifications do not keep it. Of a mute, ``kind`` is what it
    is of (``model/mute.py``), and the frequency never. ``role`` is that for which it is chosen, empty for all;
    ``follow_id`` the ``followed_mark`` of a choice for one follow.
    """

    frequency: Frequency
    kind: str = ""
    layer: Layer = Layer.NOBODY
    team_id: str = ""
    moment: str = ""
    role: str = ""
    follow_id: str = ""

    def to_text(self) -> str:
        """Return the choice as notifications keep it; empty for one that nobody has made."""
        if self.layer is Layer.NOBODY:
            return ""
        kind = f"{self.role}{_AFTER_ROLE}{self.kind}" if self.role else self.kind
        return " ".join((self.layer, self.frequency, kind, *filter(None, [self.team_id or self.follow_id])))

    @classmethod
    def from_text(cls, text: str) -> FrequencyChoice:
        """Return the choice that a notification keeps."""
        layer, frequency, kind_text, *ids = text.split(" ")
        role, separator, kind = kind_text.partition(_AFTER_ROLE)
        if layer == Layer.MUTE or not separator:
            role, kind = "", kind_text
        choice, chosen_by = cls(Frequency(frequency), kind, Layer(layer), role=role), "".join(ids)
        if choice.layer is Layer.FOLLOW:
            return choice._replace(follow_id=chosen_by)
        return choice._replace(team_id=chosen_by)


def soonest_first(choice: FrequencyChoice) -> tuple[int, bool, str]:
    """Return the sort key of choices: by frequency, and of those alike first what names its moment, in its order."""
    return _SOONEST_FIRST[choice.frequency], not choice.moment, choice.moment


DEFAULT = FrequencyChoice(Frequency.IMMEDIATE)
"""What holds where nobody has chosen anything."""


_TIMES = ("timezone", "quiet_hours", "working_days", "digest_at", "digest_day", "most_per_hour")


class QuietHours(WireModel):
    """Time of the day without mails and direct messages, as ``HH:MM``; an ``end`` before ``start``: past midnight."""

    start: TimeOfDay
    end: TimeOfDay


_LATEST_RETURN_MS = LATEST_MS - 366 * 24 * 3_600_000
"""After it there is still a morning, and a working day, in every time zone: a calendar ends with the year 9999."""


class Absence(WireModel):
    """When a person is away: from a moment until another, epoch milliseconds."""

    start: int = Field(default=0, ge=0, le=LATEST_MS)
    until: int = Field(ge=0, le=LATEST_MS)

    def ends_after(self, at_ms: int) -> int:
        """Return ``at_ms``, or the end of the absence in which it lies (both epoch milliseconds)."""
        end_ms = min(self.until, _LATEST_RETURN_MS)
        return end_ms if self.start <= at_ms < end_ms else at_ms


class HealthSchedule(WireModel):
    """When a person gets their health summary, each week in their time zone."""

    day: Weekday = Weekday.MONDAY
    at: TimeOfDay = "09:00"


MOST_PER_HOUR = 1_000
MOST_INBOX_DAYS = 36_500


class Preferences(WireModel):
    """What a person prefers; ``timezone`` is an IANA name.

    ``kinds`` are frequencies by kind of change (``model/change_kinds.py``) and channel, each perhaps with its own time
    (``daily 08:30``), which counts instead of ``digest_at`` and ``digest_day``. Where a kind has none,
    ``categories`` count for mails and direct messages, by category of changes (``conditions/changes.KNOWN_CATEGORIES``)
    or ``BREAKING``; then ``frequency``; then the defaults of one's teams, then those of the server. Digests come at
    ``digest_at``, weekly ones on ``digest_day``, hourly ones at each full hour. Days that are no ``working_days`` are
    quiet from midnight to midnight; without any, none is. Times that are unset are those of the teams or the server,
    too (``above``); quiet hours and working days that are set to null are none. ``leave_out_read``: what one has read
    in the app is not sent. While a person is ``away``, everything waits for their return, in one message per channel.
    ``most_per_hour`` is how many messages come over each channel in an hour at most; null: however many there are.
    ``inbox_days`` after they were read or done, notifications leave the inbox of a person; null: they stay.
    ``health_summary`` is when a person is told of their week; null: never.
    ``roles`` are frequencies as ``kinds`` are, for what one is told of in a role: what one owns, say. They count before
    ``kinds``.
    """

    timezone: str = "UTC"
    quiet_hours: QuietHours | None = None
    working_days: WorkingDays | None = None
    away: Absence | None = None
    digest_at: TimeOfDay = "09:00"
    digest_day: Weekday = Weekday.MONDAY
    leave_out_read: bool | None = None
    most_per_hour: int | None = Field(default=None, strict=True, ge=1, le=MOST_PER_HOUR)
    inbox_days: int | None = Field(default=None, strict=True, ge=1, le=MOST_INBOX_DAYS)
    health_summary: HealthSchedule | None = None
    frequency: Frequency | None = None
    categories: Mapping[str, Frequency] = Field(default_factory=dict)
    kinds: Mapping[str, Mapping[Channel, TimedFrequencyText]] = Field(default_factory=dict)
    roles: Mapping[AssetRole, Mapping[str, Mapping[Channel, TimedFrequencyText]]] = Field(default_factory=dict)

    def above(self, defaults: Preferences) -> Preferences:
        """Return it with the times of ``defaults`` where its own are unset."""
        unset_names = [name for name in _TIMES if name not in self.model_fields_set]
        return self.model_copy(update={name: getattr(defaults, name) for name in unset_names})

    def without_borrowed(self, choices: Preferences, defaults: Preferences) -> Preferences:
        """Return it without times that ``choices``, set now, leave unset and that are as ``defaults`` have them.

        So what reading answers can be sent back: it makes nobody's defaults a choice of one's own.
        """
        candidates = self.model_fields_set.intersection(_TIMES) - choices.model_fields_set
        borrowed_names = {name for name in candidates if getattr(self, name) == getattr(defaults, name)}
        return type(self).model_validate(self.model_dump(exclude_unset=True, exclude=borrowed_names))

    def to_stored(self) -> Document:
        """Return it as it is stored: only what is set."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def has(self, frequency: Frequency) -> bool:
        """Return whether changes of any kind are notified so often, over any channel."""
        tables = (self.kinds, *self.roles.values())
        texts = chain.from_iterable(channels.values() for table in tables for channels in table.values())
        by_kind = (parse_timed_frequency(text).frequency for text in texts)
        return frequency in (self.frequency, *self.categories.values(), *by_kind)

    def names_kinds(self) -> bool:
        """Return whether it depends on the kinds of an event."""
        return bool(self.kinds or self.categories or self.roles)

    def names_roles(self) -> bool:
        """Return whether it depends on the roles of a person."""
        return bool(self.roles)

    def choice_of(
        self, kind: EventKind, channel: Channel, layer: Layer, role: AssetRole | None = None
    ) -> FrequencyChoice | None:
        """Return what is chosen here for a kind of an event over a channel, in a role; None if nothing is."""
        by_role = None if role is None else self.roles.get(role, {}).get(kind.kind, {}).get(channel)
        by_kind = self.kinds.get(kind.kind, {}).get(channel) if by_role is None else by_role
        if by_kind is not None:
            timed, name = parse_timed_frequency(by_kind), "" if by_role is None or role is None else role.value
            return FrequencyChoice(timed.frequency, kind.kind, layer, moment=timed.moment, role=name)
        if channel in _BY_KIND_ONLY:
            return None
        category = kind.category or kind.kind
        if category in self.categories:
            return FrequencyChoice(self.categories[category], category, layer)
        return None if self.frequency is None or kind.crosses else FrequencyChoice(self.frequency, "", layer)


class DefaultPreferences(Preferences):
    """What holds where people have chosen nothing; the kinds in ``mandatory`` are never ``never`` for anybody.

    Those in ``mandatory_roles`` are not for who is told in that role: of what they own, say.
    """

    mandatory: tuple[str, ...] = ()
    mandatory_roles: Mapping[AssetRole, tuple[str, ...]] = Field(default_factory=dict)

    def mandatory_in(self, roles: Collection[AssetRole | None]) -> frozenset[str]:
        """Return the kinds that who is told in these roles cannot switch off."""
        return frozenset(self.mandatory).union(*(self.mandatory_roles.get(role, ()) for role in roles if role))

    def names_kinds(self) -> bool:
        """Return whether it depends on the kinds of an event."""
        return super().names_kinds() or bool(self.mandatory or self.mandatory_roles)

    def names_roles(self) -> bool:
        """Return whether it depends on the roles of a person."""
        return super().names_roles() or bool(self.mandatory_roles)


class NamedTeam(NamedTuple):
    """A team and the defaults that it has for its members."""

    id: str
    name: str
    defaults: Preferences


class TeamPreferences(Preferences):
    """What the teams of a person have chosen for their members: of several choices for one kind the soonest.

    Of times that several teams set, and of whether what is read is left out, those of the first by name count.
    """

    teams: tuple[NamedTeam, ...] = ()

    @classmethod
    def of(cls, teams: Collection[NamedTeam]) -> TeamPreferences:
        """Return the defaults of these teams together, whatever their order."""
        ordered_teams = tuple(sorted(teams, key=lambda team: (team.name.casefold(), team.id)))
        times: Document = {}
        for team in reversed(ordered_teams):
            names = [name for name in (*_TIMES, "leave_out_read") if name in team.defaults.model_fields_set]
            times |= {name: getattr(team.defaults, name) for name in names}
        return cls.model_construct(_fields_set=set(times), **times, teams=ordered_teams)

    def has(self, frequency: Frequency) -> bool:
        """Return whether a team has changes of any kind notified so often, over any channel."""
        return any(team.defaults.has(frequency) for team in self.teams)

    def names_kinds(self) -> bool:
        """Return whether it depends on the kinds of an event."""
        return any(team.defaults.names_kinds() for team in self.teams)

    def names_roles(self) -> bool:
        """Return whether it depends on the roles of a person."""
        return any(team.defaults.names_roles() for team in self.teams)

    def choice_of(
        self, kind: EventKind, channel: Channel, layer: Layer, role: AssetRole | None = None
    ) -> FrequencyChoice | None:
        """Return the soonest that teams have chosen for a kind of an event over a channel; None if none has."""
        choices = ((team.id, team.defaults.choice_of(kind, channel, layer, role)) for team in self.teams)
        by_team = [choice._replace(team_id=team_id) for team_id, choice in choices if choice is not None]
        return min(by_team, key=soonest_first, default=None)


RECOMMENDED = DefaultPreferences(
    kinds={
        kind.name: {Channel.EMAIL: kind.frequency}
        for kind in CHANGE_KINDS.values()
        if kind.crosses or kind.frequency is not Frequency.IMMEDIATE
    }
)
"""What ``CHANGE_KINDS`` recommends for mails; everything else at once.

Of a kind that crosses, at once is a choice, too: else what breaks would come as its other kinds do.
"""

Layers = Sequence[tuple[Layer, Preferences]]
"""Preferences that hold for a person: their own, those of teams, those of the server.

Each counts where those before it have chosen nothing.
"""


class Chooser(Protocol):
    """What chooses frequencies: a document of preferences, or the choices for one follow."""

    def choice_of(
        self, kind: EventKind, channel: Channel, layer: Layer, role: AssetRole | None = None
    ) -> FrequencyChoice | None:
        """Return what is chosen here for a kind of an event over a channel, in a role; None if nothing is."""


ChoosingLayers = Sequence[tuple[Layer, Chooser]]
"""As ``Layers``; choices for follows may come before them."""


def times_of(layers: Layers) -> Preferences:
    """Return the preferences whose times hold: those of the first layer, which has the times beneath where unset."""
    return layers[0][1] if layers else Preferences()


def zone_of(layers: Layers) -> str | None:
    """Return the IANA zone that a person reads times in: their own, or that of a team that names one; else None."""
    if not layers or layers[0][0] is Layer.SERVER:
        return None
    times = layers[0][1]
    is_named = not isinstance(times, TeamPreferences) or any(
        "timezone" in team.defaults.model_fields_set for team in times.teams
    )
    return times.timezone if is_named else None


_NO_KIND = EventKind("", "")


def choose(
    layers: ChoosingLayers,
    kinds: Collection[EventKind],
    channel: Channel,
    role: AssetRole | None = None,
    *,
    further_roles: Collection[AssetRole | None] = (),
) -> FrequencyChoice:
    """Return how often an event of these kinds comes over a channel to who is told of it in a role.

    A kind that crosses decides alone where it is chosen, unless a layer before has chosen another kind of the event:
    what breaks readers, or else what bots change unless it is urgent. Otherwise the soonest of all kinds counts. An
    event with a mandatory kind is not switched off; it may be mandatory in ``further_roles``, too.
    """
    choice = _soonest(layers, kinds, channel, role)
    roles = (None, role, *further_roles)
    must = None if choice.frequency is not Frequency.NEVER else mandatory_kind(layers, kinds, roles)
    if must is None:
        return choice
    kind, must_role = must
    default = next((it for layer, it in layers if layer is Layer.SERVER), DefaultPreferences())
    by_server = default.choice_of(kind, channel, Layer.SERVER, must_role or role)
    is_on = by_server is not None and by_server.frequency is not Frequency.NEVER
    frequency = by_server.frequency if by_server and is_on else Frequency.IMMEDIATE
    return FrequencyChoice(frequency, kind.kind, Layer.MANDATORY, role=must_role.value if must_role else "")


def mandatory_kind(
    layers: ChoosingLayers, kinds: Collection[EventKind], roles: Collection[AssetRole | None]
) -> tuple[EventKind, AssetRole | None] | None:
    """Return a kind among these that who is told in these roles cannot switch off, and the first role in which.

    The role is None where the kind is mandatory in every role; without such a kind all of it is None.
    """
    defaults = [one for _, one in layers if isinstance(one, DefaultPreferences)]
    for role in dict.fromkeys((None, *roles)) if defaults else ():
        names = frozenset[str]().union(*(one.mandatory_in((role,)) for one in defaults))
        kind = next((kind for kind in kinds if kind.kind in names), None)
        if kind is not None:
            return kind, role
    return None


def _soonest(
    layers: ChoosingLayers, kinds: Collection[EventKind], channel: Channel, role: AssetRole | None = None
) -> FrequencyChoice:
    plain_kinds = [one for one in kinds if not one.crosses] or [_NO_KIND]
    crossing_kind = _crossing_kind(kinds)
    choice = None
    if crossing_kind is not None:
        choice = _crossing_choice(layers, (crossing_kind, plain_kinds), channel, role)
    if choice is not None:
        return choice
    choices = [_first(layers, one, channel, role) or DEFAULT for one in plain_kinds]
    return min(choices, key=soonest_first)


def _crossing_kind(kinds: Collection[EventKind]) -> EventKind | None:
    """Return the kind that may decide in place of the others: what breaks readers is urgent, also from a bot."""
    by_name = {one.kind: one for one in kinds}
    is_urgent = any(CHANGE_KINDS[name].is_urgent for name in by_name)
    return by_name.get(BREAKING) or (None if is_urgent else by_name.get(BOT))


def _crossing_choice(
    layers: ChoosingLayers, kinds: tuple[EventKind, Sequence[EventKind]], channel: Channel, role: AssetRole | None
) -> FrequencyChoice | None:
    """Return the choice of the first layer that has one, unless a layer before it has chosen a plain kind.

    ``kinds`` are the kind that crosses, and the others.
    """
    crossing_kind, plain_kinds = kinds
    for layer, chooser in layers:
        choice = chooser.choice_of(crossing_kind, channel, layer, role)
        if choice is not None:
            return choice
        if any(chooser.choice_of(one, channel, layer, role) for one in plain_kinds):
            return None
    return None


def _first(layers: ChoosingLayers, kind: EventKind, channel: Channel, role: AssetRole | None) -> FrequencyChoice | None:
    choices = (chooser.choice_of(kind, channel, layer, role) for layer, chooser in layers)
    return next((choice for choice in choices if choice is not None), None)
