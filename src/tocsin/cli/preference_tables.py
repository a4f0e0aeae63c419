"""Tables of preferences in commands: kinds by channel, in general and in roles, as options change them and as shown.

Next: ``cli/preferences.py``, ``cli/follows.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from tocsin.errors import InvalidInput
from tocsin.model.change_kinds import Frequency
from tocsin.model.entity import Document
from tocsin.model.follow_choices import FollowChoices
from tocsin.model.roles import AssetRole
from tocsin.model.subscription import Channel
from tocsin.model.timed_frequency import parse_timed_frequency

_CHANNELS = {"inapp": "ActivityFeed", "email": "Email", "slack": "Slack", "msteams": "MsTeams", "gchat": "GChat"}
_CHANNELS |= {"webhook": "Webhook"}
_TAKEN_BACK = "default"

OverChannel = Annotated[
    list[str] | None,
    typer.Option("--channel", help="inApp, email, slack, msTeams, gchat or webhook; default: all. May be repeated."),
]


def cells_of(kinds: list[str], channels: list[str], frequency: str | None) -> list[tuple[str, str, str]]:
    """Return what the options say of kinds: the kind, the channel, and how often."""
    if bool(kinds or channels) != bool(frequency) or (channels and not kinds):
        raise InvalidInput("Kinds and --frequency belong together; --channel is for both.", field="frequency")
    names = channels_of(channels) or list(_CHANNELS.values())
    return [(kind, name, str(frequency)) for kind in kinds for name in names]


def channels_of(texts: Sequence[str]) -> list[str]:
    """Return the channels that an option names.

    Raises
    ------
    InvalidInput : one of them takes no preference
    """
    unknown = next((one for one in texts if one.lower() not in _CHANNELS), None)
    if unknown is not None:
        raise InvalidInput(
            f"--channel must be inApp, email, slack, msTeams, gchat or webhook, not {unknown!r}.", field="channel"
        )
    return [_CHANNELS[one.lower()] for one in texts]


def follow_choices(kinds: Sequence[str], channels: Sequence[str], frequency: str | None) -> Document | None:
    """Return what options choose for a follow: only these kinds and channels, so often; None if they choose nothing.

    Raises
    ------
    InvalidInput : there is no such channel or frequency, or kinds are to be taken back
    """
    names = [name.strip() for text in kinds for name in text.split(",") if name.strip()]
    if frequency == _TAKEN_BACK:
        if names or channels:
            raise InvalidInput(
                "--frequency default takes back what a follow tells of, of all kinds.", field="frequency"
            )
        return {}
    if not (names or channels or frequency):
        return None
    chosen_frequency = frequency or Frequency.IMMEDIATE.value
    try:
        parse_timed_frequency(chosen_frequency)
    except ValueError as error:
        raise InvalidInput(str(error), field="frequency") from error
    return FollowChoices.only(names, [Channel(one) for one in channels_of(channels)], chosen_frequency).to_stored()


def choices_text(choices: Document) -> str:
    """Return what a follow tells of in short: ``columns daily (mail); else never``; empty for what is not chosen."""
    tables = [*choices.get("kinds", {}).items()]
    tables += [("else" if tables else "all kinds", choices["channels"])] if choices.get("channels") else []
    texts: dict[str, list[str]] = {}
    for name, by_channel in tables:
        texts.setdefault(_often_text(by_channel), []).append(name)
    return "; ".join(f"{', '.join(names)} {text}" for text, names in texts.items())


def _often_text(by_channel: Document) -> str:
    """Return how often something comes, with the channels where it does not come over all."""
    channels_by_frequency: dict[str, list[str]] = {}
    for channel in SHOWN_CHANNELS:
        if channel in by_channel:
            channels_by_frequency.setdefault(by_channel[channel], []).append(SHOWN_CHANNELS[channel])
    heard = {often: names for often, names in channels_by_frequency.items() if often != Frequency.NEVER}
    texts = [
        ("at once" if often == Frequency.IMMEDIATE else often)
        + ("" if len(names) == len(SHOWN_CHANNELS) else f" ({', '.join(names)})")
        for often, names in (heard or channels_by_frequency).items()
    ]
    return ", ".join(texts)


def with_cells(preferences: Document, cells: list[tuple[str, str, str]], roles: list[AssetRole]) -> Document:
    """Return preferences with other frequencies of kinds over channels, perhaps in these roles."""
    if not roles:
        return preferences | {"kinds": _table_with(preferences.get("kinds") or {}, cells)}
    tables = dict(preferences.get("roles") or {})
    tables |= {role.value: _table_with(tables.get(role.value, {}), cells) for role in roles}
    return preferences | {"roles": {role: table for role, table in tables.items() if table}}


def _table_with(table: Document, cells: list[tuple[str, str, str]]) -> Document:
    """Return a table of kinds with other frequencies; ``default`` removes one."""
    kinds = {kind: dict(channels) for kind, channels in table.items()}
    for kind, channel, frequency in cells:
        kinds.setdefault(kind, {})[channel] = frequency
    frequencies = {
        kind: {name: frequency for name, frequency in channels.items() if frequency != _TAKEN_BACK}
        for kind, channels in kinds.items()
    }
    return {kind: channels for kind, channels in frequencies.items() if channels}


SHOWN_CHANNELS = {"ActivityFeed": "in the app", "Email": "mail", "Slack": "Slack", "MsTeams": "Teams", "GChat": "Chat"}
SHOWN_CHANNELS |= {"Webhook": "webhook"}


def table_facts(preferences: Document) -> Iterator[tuple[str, str]]:
    """Yield what is set for kinds over channels, in general and in roles."""
    tables = {"": preferences.get("kinds", {})} | preferences.get("roles", {})
    for role, table in tables.items():
        for kind, channels in sorted(table.items()):
            for channel, frequency in sorted(channels.items()):
                yield f"{kind}{f' ({role})' if role else ''}, {SHOWN_CHANNELS[channel]}", frequency


def effective_rows(effective: Document) -> list[Document]:
    """Return a row per kind, and per role of it; channels that are alike for all kinds share a column.

    The title of a column says what is missing where nothing comes over its channels; what nobody chose there is "-".
    """
    missing_by_channel = effective.get("unreached", {})
    columns: dict[tuple[str, ...], list[str]] = {}
    for channel in SHOWN_CHANNELS:
        missing = missing_by_channel.get(channel, "")
        texts = (_cell_text(row["channels"][channel], is_unreached=bool(missing)) for row in effective["kinds"])
        columns.setdefault((missing, *texts), []).append(SHOWN_CHANNELS[channel])
    shown_rows: list[Document] = []
    for place, row in enumerate(effective["kinds"]):
        name = row["kind"] + ("!" if row["isMandatory"] else "")
        texts_by_channel = {_title(channels, texts[0]): texts[place + 1] for texts, channels in columns.items()}
        shown_rows.append({"kind": name} | texts_by_channel)
        shown_rows += (
            {"kind": f"  {role}"}
            | {_title(channels, texts[0]): _role_text(cells, channels) for texts, channels in columns.items()}
            for role, cells in row.get("roles", {}).items()
        )
    return shown_rows


def _title(channels: list[str], missing: str) -> str:
    """Return the title of a column: its channels, and what is missing where nothing comes over them."""
    return ", ".join(channels) + (f" ({missing})" if missing else "")


def _role_text(cells: Document, channels: list[str]) -> str:
    """Return what is chosen for a role over some channels, each with its name where they share a column."""
    names = [channel for channel, name in SHOWN_CHANNELS.items() if name in channels and channel in cells]
    texts = dict.fromkeys(_cell_text(cells[one]) for one in names)
    if len(names) == len(channels) and len(texts) == 1:
        return next(iter(texts))
    return ", ".join(f"{SHOWN_CHANNELS[one]}: {_cell_text(cells[one])}" for one in names)


_CHOSEN_BY = ("own", "team")
_SOURCES = {"own": "you", "server": "server", "recommended": "recommended", "mandatory": "mandatory"}


def _cell_text(cell: Document, *, is_unreached: bool = False) -> str:
    """Return how often something comes, and whose choice that is: ``daily 09:00 (team shop)``."""
    if is_unreached and cell["from"] not in _CHOSEN_BY:
        return "-"
    if cell.get("frequency") is None:
        return "as its kinds"
    at, team = cell.get("at"), cell.get("team")
    often = "at once" if cell["frequency"] == "immediate" else f"{cell['frequency']}{f' {at}' if at else ''}"
    source = _SOURCES.get(cell["from"]) or (
        "" if cell["from"] == "nobody" else f"team {team['name']}" if team else "a team"
    )
    return f"{often} ({source})" if source else often
