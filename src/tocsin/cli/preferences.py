"""Commands of preferences: what holds for a person, a team's and the server's defaults, kind by kind.

Without a choice they show; with one they change what it names and keep the rest. Next: ``client/preference_calls.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time
from typing import Annotated, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from tocsin.cli.assets import AsUser, find_user
from tocsin.cli.output import AsJson, moment_text, show_facts, show_rows
from tocsin.cli.preference_tables import OverChannel, cells_of, effective_rows, table_facts, with_cells
from tocsin.client import Client
from tocsin.errors import InvalidInput, PreconditionFailed
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text
from tocsin.model.preferences import MOST_INBOX_DAYS, MOST_PER_HOUR, Weekday
from tocsin.model.roles import ROLE_WORDS, AssetRole

OfTeam = Annotated[
    str | None, typer.Option("--team", metavar="TEAM", help="The defaults of a team for its members, not your own.")
]
OfServer = Annotated[bool, typer.Option("--server", help="The defaults of the server, not your own.")]

_TRIES = 3
"""How often a change is made anew because another tab changed something meanwhile."""


class _Scope(NamedTuple):
    """Whose preferences a command is about: those of a user, the defaults of a team, or without either the server's."""

    client: Client
    user_id: str | None = None
    team_id: str | None = None

    def change(self, alter: Callable[[Document], Document]) -> Document:
        """Replace what is set by what ``alter`` makes of it; return what is then.

        What a user has changed meanwhile, in the web application, say, is read again and kept.
        """
        if self.user_id is None:
            return self.write(alter(self.read()))
        for _ in range(_TRIES - 1):
            with suppress(PreconditionFailed):
                return self._change_what_was_read(self.user_id, alter)
        return self._change_what_was_read(self.user_id, alter)

    def _change_what_was_read(self, user_id: str, alter: Callable[[Document], Document]) -> Document:
        tagged = self.client.tagged_preferences(user_id)
        return self.client.prefer(user_id, alter(tagged.preferred), if_match=tagged.etag)

    def read(self) -> Document:
        """Return what is set."""
        if self.user_id:
            return self.client.preferences(self.user_id)
        return self.client.team_preferences(self.team_id) if self.team_id else self.client.default_preferences()

    def write(self, preferred: Document) -> Document:
        """Replace what is set; return what is then."""
        if self.user_id:
            return self.client.prefer(self.user_id, preferred)
        if self.team_id:
            return self.client.set_team_preferences(self.team_id, preferred)
        return self.client.set_default_preferences(preferred)


def _default_scope(client: Client, team: str | None) -> _Scope:
    return _Scope(client, team_id=client.get_by_name("team", team).id if team else None)


def _check_scope(user: str | None, team: str | None, *, server: bool) -> None:
    if sum((user is not None, team is not None, server)) > 1:
        raise InvalidInput("--as, --team and --server exclude each other.", field="team")


_EVERYTHING = "all"


OfKind = Annotated[list[str] | None, typer.Argument(metavar="KIND", help="Kinds to choose for.")]
Frequent = Annotated[
    str | None,
    typer.Option(
        "--frequency",
        help="How often: immediate, hourly, daily, weekly, never, perhaps with a time of its own: 'daily 08:30',"
        " 'weekly friday 08:30'; default takes it back.",
    ),
]


InRole = Annotated[
    list[AssetRole] | None,
    typer.Option("--role", help="Only for what you own or follow, or what lies above that. May be repeated."),
]


def kinds(  # each option of the command is a parameter
    kind: OfKind = None,
    *,
    channel: OverChannel = None,
    frequency: Frequent = None,
    role: InRole = None,
    user: AsUser = None,
    team: OfTeam = None,
    server: OfServer = False,
    as_json: AsJson = False,
) -> None:
    """List the kinds of change, or choose how often you are notified of some.

    The list says how often the recommended defaults mail a kind; where `events` is no, there are no such events yet.
    `tocsin preferences` shows what holds for you. With --team (for its owners) or --server (for administrators) you
    choose for all who have chosen nothing themselves; of several teams of a person the soonest choice counts. With
    --role it is for what you are told of because you own or follow it, or something below it: that counts first, and
    `tocsin follow` chooses for one follow.

    Examples: tocsin kinds description tag --channel email --frequency daily
    · tocsin kinds vote --channel inApp --frequency never
    · tocsin kinds usage --channel email --frequency "weekly friday 16:00"
    · tocsin kinds testFailure --channel email --frequency immediate --team Analytics
    · tocsin kinds breaking --role owned --role aboveOwned --frequency immediate
    """
    _check_scope(user, team, server=server)
    cells = cells_of(kind or [], channel or [], frequency)
    if role and not cells:
        raise InvalidInput("--role is for kinds, with --frequency.", field="role")
    with Client() as client:
        if cells:
            is_default = server or team is not None
            scope = _default_scope(client, team) if is_default else _Scope(client, find_user(client, user).id)
            answer = scope.change(lambda preferred: with_cells(preferred, cells, role or []))
            show_facts(answer if as_json else dict(_facts(answer)), as_json=as_json)
            return
        answer = client.change_kinds()
    kind_rows = (
        {
            "kind": kind["name"],
            "group": kind["group"],
            "about": kind["label"],
            "recommended": kind["frequency"],
            "events": kind["hasEvents"],
        }
        for kind in answer["data"]
    )
    show_rows(kind_rows, answer=answer["data"], as_json=as_json)


Quiet = Annotated[str | None, typer.Option("--quiet", help="Quiet hours, such as 20:00-08:00; none ends them.")]
Zone = Annotated[str | None, typer.Option("--timezone", help="Time zone, such as Europe/Berlin.")]
DigestAt = Annotated[
    str | None,
    typer.Option(
        "--digest-at",
        help="When digests come: 09:00; friday 09:00. What they hold: unread leaves out what you read in the app; all.",
    ),
]
WorkingDays = Annotated[
    str | None,
    typer.Option("--working-days", help="Such as monday-friday or monday,thursday; all: no day is quiet."),
]
Often = Annotated[
    list[str] | None,
    typer.Option(
        "--notify",
        metavar="CATEGORY=FREQUENCY",
        help="How often changes of a category, or all, are notified: immediate, hourly, daily, weekly, never. "
        "May be repeated.",
    ),
]
Reset = Annotated[bool, typer.Option("--reset", help="Back to the defaults: everything as it happens, at any time.")]


AwayUntil = Annotated[
    str | None,
    typer.Option(
        "--away-until", help="The day of your return, such as 2026-12-07, in your time zone; none: you are back."
    ),
]


MostPerHour = Annotated[
    str | None,
    typer.Option("--most-per-hour", help="So many messages an hour and channel at most; all: however many there are."),
]


InboxDays = Annotated[
    str | None,
    typer.Option("--inbox-days", help="Days after which what is read or done leaves the inbox; all: it stays."),
]


HealthSummary = Annotated[
    str | None,
    typer.Option("--health-summary", help="When `tocsin summary` is sent to you: 'friday 16:00', or none."),
]


def preferences(  # noqa: PLR0913  # each option of the command is a parameter
    *,
    quiet: Quiet = None,
    timezone: Zone = None,
    working_days: WorkingDays = None,
    away_until: AwayUntil = None,
    digest_at: DigestAt = None,
    most_per_hour: MostPerHour = None,
    inbox_days: InboxDays = None,
    health_summary: HealthSummary = None,
    notify: Often = None,
    reset: Reset = False,
    user: AsUser = None,
    as_json: AsJson = False,
) -> None:
    """Show or set when you are notified by mail and direct message.

    Without options it shows how often each kind of change comes to you over each channel, and in brackets whose choice
    that is: yours, a team's, the server's, or what is recommended. With options it changes these and keeps the others.
    Alerts tagged Critical come at once, even if you never want such changes; mute what you do not want. `tocsin kinds`
    chooses by kind and channel; `tocsin defaults` sets what holds where people have chosen nothing.

    Examples: tocsin preferences --quiet 20:00-08:00 --timezone Europe/Berlin
    · tocsin preferences --notify all=daily --notify schema=immediate
    """
    changes = _changed_times(quiet, timezone, working_days, digest_at) | _limit(most_per_hour)
    changes |= _number("inboxDays", inbox_days, MOST_INBOX_DAYS) | _health_times(health_summary)
    with Client() as client:
        who = find_user(client, user)
        scope = _Scope(client, who.id)
        if away_until:
            zone_name = timezone or client.preferences(who.id)["timezone"]
            changes = changes | {"away": _absence(away_until, zone_name)}
        if not (changes or notify or reset):
            _show_effective(client.effective_preferences(who.id), as_json=as_json)
            return
        _change(scope, changes, notify or [], {} if reset else None, as_json=as_json)


OftenByDefault = Annotated[
    list[str] | None,
    typer.Option(
        "--notify",
        metavar="CATEGORY=FREQUENCY",
        help="As of `tocsin preferences`; KIND=mandatory: nobody can switch the kind off, ROLE/KIND=mandatory: nobody"
        " in that role, such as owned/deletion (both of the server only).",
    ),
]
Preset = Annotated[
    str | None,
    typer.Option("--preset", help="Replace everything that is set: recommended (see `tocsin kinds`), or none."),
]


def defaults(  # noqa: PLR0913  # each option of the command is a parameter
    *,
    team: OfTeam = None,
    quiet: Quiet = None,
    timezone: Zone = None,
    working_days: WorkingDays = None,
    digest_at: DigestAt = None,
    most_per_hour: MostPerHour = None,
    notify: OftenByDefault = None,
    preset: Preset = None,
    as_json: AsJson = False,
) -> None:
    """Show or set the preferences that hold where people have chosen nothing.

    They are the server's, for administrators to set, or with --team those of a team for its members and the teams below
    it, for its owners. What a person chooses counts first, then their teams (of several the soonest), then the server.
    Kinds that are mandatory are never off, whatever people and teams choose. `tocsin kinds` chooses by kind and
    channel, with --team or --server. Without options it shows what is set; with some it changes these.

    Examples: tocsin defaults --preset recommended
    · tocsin defaults --notify deletion=mandatory --timezone Europe/Berlin
    · tocsin defaults --team Analytics --notify description=weekly
    """
    kinds, frequencies = _mandatory_kinds(notify or [])
    if team and (kinds or preset == _RECOMMENDED):
        raise InvalidInput("=mandatory and --preset recommended are for the defaults of the server.", field="team")
    if preset not in (None, _RECOMMENDED, _NONE):
        raise InvalidInput(f"--preset must be recommended or none, not {preset!r}.", field="preset")
    presets: dict[str | None, Document] = {_RECOMMENDED: {"preset": _RECOMMENDED}, _NONE: {}}
    changes = _changed_times(quiet, timezone, working_days, digest_at) | _limit(most_per_hour)
    with Client() as client:
        scope = _default_scope(client, team)
        changes |= _with_mandatory(scope.read(), kinds) if kinds else {}
        _change(scope, changes, frequencies, presets.get(preset), as_json=as_json)


_MANDATORY = "=mandatory"


def _mandatory_kinds(notify: list[str]) -> tuple[list[str], list[str]]:
    """Return the kinds that options make mandatory, and the options that say how often."""
    kinds = [option.removesuffix(_MANDATORY) for option in notify if option.endswith(_MANDATORY)]
    return kinds, [option for option in notify if not option.endswith(_MANDATORY)]


def _with_mandatory(current: Document, kinds: list[str]) -> Document:
    """Return what is mandatory when these kinds are as well; ``owned/deletion`` is so for owned assets alone."""
    plain_kinds = {kind for kind in kinds if "/" not in kind}
    by_role = {role: set(names) for role, names in (current.get("mandatoryRoles") or {}).items()}
    for role, _, kind in (kind.partition("/") for kind in kinds if "/" in kind):
        by_role.setdefault(role, set()).add(kind)
    return {
        "mandatory": sorted({*current.get("mandatory", ()), *plain_kinds}),
        "mandatoryRoles": {role: sorted(names) for role, names in by_role.items()},
    }


_RECOMMENDED, _NONE = "recommended", "none"


def _change(
    scope: _Scope, changes: Document, frequencies: list[str], replacement: Document | None, *, as_json: bool
) -> None:
    """Replace what is set, if there is something to replace it with; then change it, and show it."""
    current = scope.read() if replacement is None else scope.write(replacement)
    if changes or frequencies:
        current = scope.change(lambda preferred: _with_frequencies(preferred | changes, frequencies))
    show_facts(current if as_json else dict(_facts(current)), as_json=as_json)


def _absence(text: str, zone_name: str) -> Document | None:
    """Return an absence from now until a day begins in a time zone; None to end one."""
    if text == _NONE:
        return None
    try:
        returns_at = datetime.combine(date.fromisoformat(text), time(), ZoneInfo(zone_name))
    except (ValueError, ZoneInfoNotFoundError) as error:
        problem = f"--away-until must be a day such as 2026-12-07, or none, not {text!r}."
        raise InvalidInput(problem, field="away") from error
    now_ms = round(datetime.now(UTC).timestamp() * 1_000)
    return {"start": now_ms, "until": round(returns_at.timestamp() * 1_000)}


def _changed_times(
    quiet: str | None, timezone: str | None, working_days: str | None, digest_at: str | None
) -> Document:
    changes: Document = {}
    changes |= {"timezone": timezone} if timezone else {}
    changes |= dict(map(_part_of_digests, (digest_at or "").lower().split()))
    changes |= {"workingDays": _days(working_days)} if working_days else {}
    return changes | ({"quietHours": _hours(quiet)} if quiet else {})


def _limit(text: str | None) -> Document:
    """Return what an option says of how many messages come in an hour."""
    return _number("mostPerHour", text, MOST_PER_HOUR)


def _health_times(text: str | None) -> Document:
    """Return what an option says of when a health summary is sent: a day, a time, or both; none for never."""
    if text is None or text.lower() == _NONE:
        return {} if text is None else {"healthSummary": None}
    return {"healthSummary": {("at" if ":" in word else "day"): word for word in text.lower().split()}}


def _number(key: str, text: str | None, limit: int) -> Document:
    """Return what an option says that is a number from 1 to ``limit``, or all: no limit."""
    if text is None or text == _EVERYTHING:
        return {} if text is None else {key: None}
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(limit)) and 1 <= int(text) <= limit):
        option = {"mostPerHour": "most-per-hour", "inboxDays": "inbox-days"}[key]
        raise InvalidInput(f"--{option} must be a number from 1 to {limit}, or all, not {text!r}.", field=key)
    return {key: int(text)}


def _part_of_digests(word: str) -> tuple[str, str | bool]:
    """Return what a word says of digests: a time, a day, or whether they hold only what one has not read."""
    if word in _HELD:
        return "leaveOutRead", _HELD[word]
    return ("digestAt" if ":" in word else "digestDay"), word


_HELD = {"unread": True, "all": False}


def _with_frequencies(preferences: Document, notify: list[str]) -> Document:
    """Return preferences with other frequencies; one for everything replaces those of categories before it."""
    for option in notify:
        category, equals, frequency = option.partition("=")
        if not equals:
            problem = f"--notify must be a category and how often, such as description=daily, not {option!r}."
            raise InvalidInput(problem, field="notify")
        if category == _EVERYTHING:
            preferences = preferences | {"frequency": frequency, "categories": {}}
        else:
            preferences = preferences | {"categories": preferences.get("categories", {}) | {category: frequency}}
    return preferences


def _hours(text: str) -> Document | None:
    if text == "none":
        return None
    start, dash, end = text.partition("-")
    if not dash:
        raise InvalidInput(f"--quiet must be two times such as 20:00-08:00, or none, not {text!r}.", field="quiet")
    return {"start": start.strip(), "end": end.strip()}


_DAYS = [day.value for day in Weekday]


def _days(text: str) -> list[str] | None:
    """Return the days that a text names, alone or as ranges that may pass Sunday; None for all."""
    if text.lower() == _EVERYTHING:
        return None
    days = set[str]()
    for part in text.lower().split(","):
        first, _, last = part.strip().partition("-")
        if not {first, last or first} <= set(_DAYS):
            problem = f"--working-days must be days such as monday-friday, or all, not {text!r}."
            raise InvalidInput(problem, field="workingDays")
        length = (_DAYS.index(last or first) - _DAYS.index(first)) % 7 + 1
        days |= {_DAYS[(_DAYS.index(first) + number) % 7] for number in range(length)}
    return sorted(days, key=_DAYS.index)


def _facts(preferences: Document) -> Iterator[tuple[str, str]]:
    """Yield what is set; a team sets no time that it does not name."""
    quiet = preferences.get("quietHours")
    if "timezone" in preferences:
        yield "time zone", preferences["timezone"]
    if quiet or "timezone" in preferences:
        yield "quiet hours", f"{quiet['start']} to {quiet['end']}" if quiet else "none"
    if working_days := preferences.get("workingDays"):
        yield "working days", ", ".join(working_days)
    if (leaves_out := preferences.get("leaveOutRead")) is not None:
        yield "what you read in the app", "left out of mails" if leaves_out else "in mails as well"
    if "digestAt" in preferences:
        day = preferences.get("digestDay", "monday").title()
        yield "digests", f"at {preferences['digestAt']}; weekly ones on {day}s"
    yield from _limit_facts(preferences)
    yield from _absence_facts(preferences)
    yield "changes", preferences.get("frequency", "as the server sets")
    for name, frequency in sorted(preferences.get("categories", {}).items()):
        yield f"{name} changes", frequency
    yield from table_facts(preferences)
    if preferences.get("mandatory"):
        yield "mandatory", ", ".join(preferences["mandatory"])
    for role, kinds in (preferences.get("mandatoryRoles") or {}).items():
        yield f"mandatory {ROLE_WORDS.get(role, role)}", ", ".join(kinds)


def _limit_facts(preferences: Document) -> Iterator[tuple[str, str]]:
    if limit := preferences.get("mostPerHour"):
        yield "messages an hour", f"{limit} over each channel at most, the others together in the next"
    if schedule := preferences.get("healthSummary"):
        yield "health summary", f"{schedule['day'].title()}s at {schedule['at']}"
    if days := preferences.get("inboxDays"):
        yield "inbox", f"what is read or done leaves it after {count_text(days, 'day')}"


def _absence_facts(preferences: Document) -> Iterator[tuple[str, str]]:
    if absence := preferences.get("away"):
        yield "away until", moment_text(absence["until"], preferences["timezone"])


def _show_effective(effective: Document, *, as_json: bool) -> None:
    """Show times, and a table with a row per kind; channels that are alike for all kinds share a column."""
    if not as_json:
        show_facts(dict(_times(effective)), as_json=False)
    show_rows(effective_rows(effective), answer=effective, as_json=as_json)
    if not as_json:
        for remark in effective.get("remarks", ()):
            typer.echo(remark)


def _times(effective: Document) -> Iterator[tuple[str, str]]:
    quiet = effective.get("quietHours")
    yield "time zone", effective["timezone"]
    yield "quiet hours", f"{quiet['start']} to {quiet['end']}" if quiet else "none"
    if working_days := effective.get("workingDays"):
        yield "working days", ", ".join(working_days)
    yield from _limit_facts(effective)
    if effective["teams"]:
        yield "teams with defaults", ", ".join(team["name"] for team in effective["teams"])
    if any(row["isMandatory"] for row in effective["kinds"]):
        yield "kinds with !", "mandatory, never off"
    by_role: dict[str, list[str]] = {}
    for row in effective["kinds"]:
        for role in row.get("mandatoryRoles", ()):
            by_role.setdefault(role, []).append(row["kind"])
    for role, kinds in by_role.items():
        yield f"never off {ROLE_WORDS.get(role, role)}", ", ".join(kinds)
