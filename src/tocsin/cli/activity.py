"""Command ``activity``: what happened around a person, a team, an asset or a domain."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Literal

import typer
from pydantic import ValidationError

from tocsin.cli.assets import AsUser, find_entity, find_user
from tocsin.cli.display_names import DisplayNames
from tocsin.cli.output import AsJson, moment_text, show_rows
from tocsin.cli.own_zone import own_zone
from tocsin.client import Change, Client
from tocsin.delivery.wording.event_formats import event_in
from tocsin.delivery.wording.reports import is_report
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

_MOST_AT_ONCE = 1_000
Of = Literal["all", "following", "owned"]
AroundName = Annotated[
    str | None, typer.Argument(metavar="NAME", help="An asset, a domain or a team. Without: what concerns you.")
]
OfWhat = Annotated[Of | None, typer.Option("--of", help="Only what you follow, or what you or your teams own.")]
OfType = Annotated[str | None, typer.Option("--type", help="Type of what has that name, such as team or domain.")]
Since = Annotated[str | None, typer.Option(help="Start: 24h, 7d, 2026-01-31, or epoch milliseconds.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="Maximum number of events.")]
ByDay = Annotated[bool, typer.Option("--by-day", help="One row per day and asset, with what happened last.")]


def activity(
    name: AroundName = None,
    *,
    scope: OfWhat = None,
    entity_type: OfType = None,
    since: Since = None,
    limit: Limit = 20,
    is_by_day: ByDay = False,
    user: AsUser = None,
    as_json: AsJson = False,
) -> None:
    """List what happened to what you follow and own, and what else you were told, newest first.

    With a name: what happened to this asset and below it, in this domain, or to what this team owns.
    Examples: tocsin activity --by-day · tocsin activity Sales --type domain · tocsin activity shop --type team
    """
    if name is not None and (scope is not None or user is not None):
        raise InvalidInput("give either a name or --of and --as", field="name")
    with Client() as client:
        if is_by_day:
            at_once = min(limit, _MOST_AT_ONCE)
            if name is None:
                user_id = find_user(client, user).id
                days = client.activity_days(user_id, scope=scope or "all", since=since, limit=at_once)
            else:
                entity = find_entity(client, name, entity_type)
                days = client.entity_activity_days(entity.entity_type, entity.id, since=since, limit=at_once)
            newest_days = _newest(days, limit)
            show_rows((row for day in newest_days for row in _rows_of_day(day)), answer=newest_days, as_json=as_json)
            return
        if name is None:
            changes = client.activity(find_user(client, user).id, scope=scope or "all", since=since)
        else:
            entity = find_entity(client, name, entity_type)
            changes = client.entity_activity(entity.entity_type, entity.id, since=since)
        first_changes = list(islice(changes, limit))
        zone, names = own_zone(client, is_shown=not as_json), DisplayNames(client)
        table = [] if as_json else [_row(one, zone, names) for one in first_changes]
    show_rows(table, answer=[one.event for one in first_changes], as_json=as_json)


def _newest(days: Iterable[Document], count: int) -> list[Document]:
    """Return the first days, until they have so many entries."""
    newest_days: list[Document] = []
    for day in days:
        newest_days.append(day)
        count -= day["count"]
        if count <= 0:
            break
    return newest_days


def _rows_of_day(day: Document) -> list[Document]:
    return [
        {
            "day": day["day"],
            "asset": group["entity"].get("fullyQualifiedName") or group["entity"]["id"],
            "changes": group["count"],
            "last": group["entries"][0]["title"],
        }
        for group in day["groups"]
    ]


def _row(change: Change, zone: str, names: DisplayNames) -> Document:
    event = change.event
    return {
        "time": moment_text(event["timestamp"], zone),
        "what": change.title,
        "who": "" if _is_report(event) else names.author_of(event),
        "event": event["id"],
    }


def _is_report(event: Document) -> bool:
    """Return whether an event is a result or a run: nobody has changed anything, least of all who reported it."""
    try:
        return is_report(event_in(event))
    except ValidationError:  # a server of another version
        return False
