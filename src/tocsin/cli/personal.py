"""Commands of a person: ``login``, what they mute, and when they are notified."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from tocsin.cli.assets import AsUser, OfType, find_alert, find_asset, find_user
from tocsin.cli.output import AsJson, entered_secret, moment_text, show_facts, show_rows, show_text
from tocsin.cli.own_zone import zone_of
from tocsin.client import Client, Entity
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.preferences import Weekday


def login(
    email: Annotated[str, typer.Argument(help="Your e-mail address.")],
    *,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Log in and print a token: export TOCSIN_TOKEN=$(tocsin login you@example.com).

    The server is TOCSIN_SERVER; by default this machine at port TOCSIN_PORT (8585).
    """
    password = entered_secret("Password", is_piped=password_stdin)
    with Client() as client:
        token = client.login(email, password)
    show_text(token, answer={"token": token}, as_json=as_json)


_LENGTH = re.compile(r"([1-9][0-9]{0,4})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

Asset = Annotated[str | None, typer.Argument(metavar="ASSET", help="Fully qualified name of an asset.")]
OfAlert = Annotated[str | None, typer.Option("--alert", help="Name of an alert.")]
Length = Annotated[str | None, typer.Option("--for", help="For how long: 8h, 7d, 2w. Default: permanently.")]
OnlyMail = Annotated[bool, typer.Option("--mail", help="Mute mail only; in-app notifications continue.")]


def mute(
    asset: Asset = None,
    *,
    alert: OfAlert = None,
    length: Length = None,
    only_mail: OnlyMail = False,
    user: AsUser = None,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Mute an asset or an alert, for a time or permanently.

    Examples: tocsin mute postgres_prod.ecommerce.public.orders --for 7d · tocsin mute --alert NightlyTests --mail
    """
    until = end_after(length)
    with Client() as client:
        who, about = find_user(client, user), _about(client, asset, alert, entity_type)
        zone = zone_of(client, who.id, is_shown=until is not None and not as_json)
        answer = client.mute(who.id, about, until=until, channel="Email" if only_mail else None)
    end = f"until {moment_text(round(until.timestamp() * 1_000), zone)}" if until else "permanently"
    text = f"{who.name} has muted {about.name}{' for mail' if only_mail else ''} {end}."
    show_text(text, answer=answer, as_json=as_json)


def unmute(
    asset: Asset = None,
    *,
    alert: OfAlert = None,
    user: AsUser = None,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Unmute an asset or an alert."""
    with Client() as client:
        who, about = find_user(client, user), _about(client, asset, alert, entity_type)
        try:
            client.unmute(who.id, about)
        except NotFound as error:
            raise NotFound(f"{who.name} has not muted {about.name}.") from error
    answer = {"user": who.name, "name": about.name, "muted": False}
    show_text(f"{who.name} has unmuted {about.name}.", answer=answer, as_json=as_json)


def mutes(*, user: AsUser = None, as_json: AsJson = False) -> None:
    """List muted assets and alerts."""
    with Client() as client:
        who = find_user(client, user).id
        zone = zone_of(client, who, is_shown=not as_json)
        answer = client.mutes(who)
    show_rows((_row(one, zone) for one in answer["data"]), answer=answer["data"], as_json=as_json)


def _about(client: Client, asset: str | None, alert: str | None, entity_type: str | None) -> Entity:
    if (asset is None) == (alert is None):
        raise InvalidInput("Give an asset, or an alert with --alert.", field="asset")
    return find_alert(client, alert) if alert else find_asset(client, str(asset), entity_type)


def end_after(length: str | None) -> datetime | None:
    """Return the time that is so long from now; None without a length."""
    if length is None:
        return None
    duration = _LENGTH.fullmatch(length)
    if duration is None:
        raise InvalidInput(f"--for must be a duration such as 8h, 7d or 2w, not {length!r}.", field="for")
    return datetime.now(UTC) + timedelta(**{_UNITS[duration[2]]: int(duration[1])})


def _row(mute: Document, zone: str) -> Document:
    return {
        "what": mute["kind"],
        "name": mute["fullyQualifiedName"] or mute["name"] or mute["id"],
        "over": mute["channel"] or "all",
        "until": moment_text(mute["until"], zone) if mute["until"] else "permanently",
    }


_EVERYTHING = "all"


OfKind = Annotated[list[str] | None, typer.Argument(metavar="KIND", help="Kinds to choose for.")]
OverChannel = Annotated[
    list[str] | None,
    typer.Option("--channel", help="inApp, email, slack, msTeams or gchat; default: all. May be repeated."),
]
Frequent = Annotated[
    str | None,
    typer.Option("--frequency", help="How often: immediate, hourly, daily, weekly, never; default takes it back."),
]


def kinds(
    kind: OfKind = None,
    *,
    channel: OverChannel = None,
    frequency: Frequent = None,
    user: AsUser = None,
    as_json: AsJson = False,
) -> None:
    """List the kinds of change, or choose how often you are notified of some.

    The list says how often the recommended defaults mail a kind; nothing writes events of one without ``events`` yet.
    `tocsin preferences` shows what you have chosen.

    Examples: tocsin kinds description tag --channel email --frequency daily
    · tocsin kinds vote --channel inApp --frequency never
    """
    cells = _cells(kind or [], channel or [], frequency)
    with Client() as client:
        if cells:
            who = find_user(client, user)
            answer = client.prefer(who.id, _with_cells(client.preferences(who.id), cells))
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
    typer.Option("--digest-at", help="When digests come: 09:00; friday 09:00."),
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


def preferences(
    *,
    quiet: Quiet = None,
    timezone: Zone = None,
    working_days: WorkingDays = None,
    digest_at: DigestAt = None,
    notify: Often = None,
    reset: Reset = False,
    user: AsUser = None,
    as_json: AsJson = False,
) -> None:
    """Show or set when you are notified by mail and direct message.

    Without options it shows what is set; with some it changes these and keeps the others. Alerts tagged Critical come
    at once, even if you never want such changes; mute what you do not want. `tocsin kinds` chooses by kind and channel.

    Examples: tocsin preferences --quiet 20:00-08:00 --timezone Europe/Berlin
    · tocsin preferences --notify all=daily --notify schema=immediate
    """
    changes: Document = {}
    changes |= {"timezone": timezone} if timezone else {}
    changes |= {("digestAt" if ":" in part else "digestDay"): part for part in (digest_at or "").lower().split()}
    changes |= {"quietHours": _hours(quiet)} if quiet else {}
    changes |= {"workingDays": _days(working_days)} if working_days else {}
    with Client() as client:
        who = find_user(client, user)
        current = client.prefer(who.id, {}) if reset else client.preferences(who.id)
        if changes or notify:
            current = client.prefer(who.id, _with_frequencies(current | changes, notify or []))
    show_facts(current if as_json else dict(_facts(current)), as_json=as_json)


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
            preferences = preferences | {"categories": preferences["categories"] | {category: frequency}}
    return preferences


_CHANNELS = {"inapp": "ActivityFeed", "email": "Email", "slack": "Slack", "msteams": "MsTeams", "gchat": "GChat"}
_TAKEN_BACK = "default"


def _cells(kinds: list[str], channels: list[str], frequency: str | None) -> list[tuple[str, str, str]]:
    """Return what the options say of kinds: the kind, the channel, and how often."""
    if bool(kinds or channels) != bool(frequency) or (channels and not kinds):
        raise InvalidInput("Kinds and --frequency belong together; --channel is for both.", field="frequency")
    unknown = next((one for one in channels if one.lower() not in _CHANNELS), None)
    if unknown is not None:
        raise InvalidInput(
            f"--channel must be inApp, email, slack, msTeams or gchat, not {unknown!r}.", field="channel"
        )
    names = [_CHANNELS[one.lower()] for one in channels] or list(_CHANNELS.values())
    return [(kind, name, str(frequency)) for kind in kinds for name in names]


def _with_cells(preferences: Document, cells: list[tuple[str, str, str]]) -> Document:
    """Return preferences with other frequencies of kinds over channels; ``default`` removes one."""
    kinds = {kind: dict(channels) for kind, channels in (preferences.get("kinds") or {}).items()}
    for kind, channel, frequency in cells:
        kinds.setdefault(kind, {})[channel] = frequency
    frequencies = {
        kind: {name: frequency for name, frequency in channels.items() if frequency != _TAKEN_BACK}
        for kind, channels in kinds.items()
    }
    return preferences | {"kinds": {kind: channels for kind, channels in frequencies.items() if channels}}


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
    quiet = preferences.get("quietHours")
    yield "time zone", preferences["timezone"]
    yield "quiet hours", f"{quiet['start']} to {quiet['end']}" if quiet else "none"
    if working_days := preferences.get("workingDays"):
        yield "working days", ", ".join(working_days)
    day = preferences.get("digestDay", "monday").title()
    yield "digests", f"at {preferences['digestAt']}; weekly ones on {day}s"
    yield "changes", preferences.get("frequency", "as the server sets")
    for name, frequency in sorted(preferences["categories"].items()):
        yield f"{name} changes", frequency
    for kind, channels in sorted(preferences.get("kinds", {}).items()):
        for channel, frequency in sorted(channels.items()):
            yield f"{kind}, {_SHOWN_CHANNELS[channel]}", frequency


_SHOWN_CHANNELS = {"ActivityFeed": "in the app", "Email": "mail", "Slack": "Slack", "MsTeams": "Teams", "GChat": "Chat"}
