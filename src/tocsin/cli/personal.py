"""Commands of a person: ``login``, and what they mute."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from tocsin.cli.assets import AsUser, OfType, find_alert, find_asset, find_user
from tocsin.cli.output import AsJson, entered_secret, moment_text, show_rows, show_text
from tocsin.cli.own_zone import zone_of
from tocsin.client import Client, Entity
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document


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
MutedKind = Annotated[str | None, typer.Option("--kind", help="A kind of change: `tocsin kinds` lists them.")]
OfActor = Annotated[str | None, typer.Option("--actor", help="Name of a person or bot whose changes are meant.")]
Everything = Annotated[bool, typer.Option("--everything", help="Everything.")]
Length = Annotated[str | None, typer.Option("--for", help="For how long: 8h, 7d, 2w. Default: permanently.")]
UntilChange = Annotated[bool, typer.Option("--until-change", help="Until the asset or alert changes again.")]
UntilResolved = Annotated[bool, typer.Option("--until-resolved", help="Until its incident is resolved.")]
OfIncident = Annotated[
    str | None, typer.Option("--incident", help="Which incident, such as INC-7. Default: that of the asset.")
]
OnlyMail = Annotated[bool, typer.Option("--mail", help="Mute mail only; in-app notifications continue.")]


def mute(  # noqa: PLR0913  # each option of the command is a parameter
    asset: Asset = None,
    *,
    alert: OfAlert = None,
    kind: MutedKind = None,
    actor: OfActor = None,
    everything: Everything = False,
    length: Length = None,
    until_change: UntilChange = False,
    until_resolved: UntilResolved = False,
    incident: OfIncident = None,
    only_mail: OnlyMail = False,
    user: AsUser = None,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Mute an asset, an alert, a kind of change, a person or bot, or everything, for a time or permanently.

    A mute of a service, database, schema or domain covers all that is in it.
    Mandatory kinds come all the same; what alerts tagged Critical send is muted by asset or alert only. With --for and
    --until-change or --until-resolved, it ends with whichever is first.

    Examples: tocsin mute postgres_prod.ecommerce.public.orders --for 7d · tocsin mute --alert NightlyTests --mail
    · tocsin mute --kind usage --for 2w · tocsin mute --actor ingestion-bot · tocsin mute --everything --for 8h
    · tocsin mute orders --until-resolved
    """
    until = end_after(length)
    if until_change and (until_resolved or incident is not None):
        raise InvalidInput("Give one of --until-change and --until-resolved.", field="until-change")
    ends = "changed" if until_change else "resolved" if until_resolved or incident is not None else None
    with Client() as client:
        who = find_user(client, user)
        about = _subject_of(client, (asset, alert, kind, actor, everything or None), entity_type)
        zone = zone_of(client, who.id, is_shown=until is not None and not as_json)
        channel = "Email" if only_mail else None
        answer = client.mute(who.id, about, until=until, channel=channel, ends=ends, incident=incident)
    until_ms = round(until.timestamp() * 1_000) if until else None
    end = _end_of({**answer, "ends": ends, "until": until_ms}, zone)
    covered_text = f", with {answer['covers']}," if "covers" in answer else ""
    text = f"{who.name} has muted {_name_of(about)}{covered_text}{' for mail' if only_mail else ''} {end}."
    show_text(text, answer=answer, as_json=as_json)


def unmute(
    asset: Asset = None,
    *,
    alert: OfAlert = None,
    kind: MutedKind = None,
    actor: OfActor = None,
    everything: Everything = False,
    user: AsUser = None,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Unmute what `tocsin mute` takes."""
    with Client() as client:
        who = find_user(client, user)
        about = _subject_of(client, (asset, alert, kind, actor, everything or None), entity_type)
        try:
            client.unmute(who.id, about)
        except NotFound as error:
            raise NotFound(f"{who.name} has not muted {_name_of(about)}.") from error
    answer = {"user": who.name, "name": _name_of(about), "muted": False}
    show_text(f"{who.name} has unmuted {_name_of(about)}.", answer=answer, as_json=as_json)


def mutes(*, user: AsUser = None, as_json: AsJson = False) -> None:
    """List what is muted."""
    with Client() as client:
        who = find_user(client, user).id
        zone = zone_of(client, who, is_shown=not as_json)
        answer = client.mutes(who)
    show_rows((_row(one, zone) for one in answer["data"]), answer=answer["data"], as_json=as_json)


Subject = tuple[str | None, str | None, str | None, str | None, bool | None]
"""An asset, an alert, a kind of change, an actor, everything: what options name."""


def _subject_of(client: Client, subject: Subject, entity_type: str | None) -> Entity | str:
    """Return what options name: an entity, the name of a kind of change, or ``everything``."""
    asset, alert, kind, actor, _ = subject
    if sum(part is not None for part in subject) != 1:
        problem = "Give one of: an asset, an alert with --alert, --kind, --actor, --everything."
        raise InvalidInput(problem, field="asset")
    if actor is not None:
        return find_user(client, actor)
    if asset is None and alert is None:
        return kind or "everything"
    return find_alert(client, alert) if alert else find_asset(client, str(asset), entity_type)


def _name_of(about: Entity | str) -> str:
    return about if isinstance(about, str) else about.name


def end_after(length: str | None, option: str = "for", *, words: Sequence[str] = ()) -> datetime | None:
    """Return the time that is so long from now; None without a length.

    Raises
    ------
    InvalidInput : it is no length; the message names the option, and the ``words`` that it takes besides
    """
    if length is None:
        return None
    duration = _LENGTH.fullmatch(length)
    if duration is None:
        lengths = " or ".join((", ".join(("8h or 7d", *words[:-1])), words[-1])) if words else "8h, 7d or 2w"
        raise InvalidInput(f"--{option} must be a duration such as {lengths}, not {length!r}.", field=option)
    return datetime.now(UTC) + timedelta(**{_UNITS[duration[2]]: int(duration[1])})


def _row(mute: Document, zone: str) -> Document:
    return {
        "what": mute["kind"],
        "name": mute["fullyQualifiedName"] or mute["name"] or mute["id"],
        "over": mute["channel"] or "all",
        "until": _end_of(mute, zone).removeprefix("until "),
    }


def _end_of(mute: Document, zone: str) -> str:
    """Return when a mute ends: ``until it changes``, ``permanently``."""
    incident = f"until {mute.get('incident') or 'its incident'} is resolved"
    ends = {"changed": "until it changes", "resolved": incident}.get(mute.get("ends") or "")
    until = f"until {moment_text(mute['until'], zone)}" if mute["until"] else None
    return f"{ends} ({until} at the latest)" if ends and until else ends or until or "permanently"
