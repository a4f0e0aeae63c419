"""``tocsin lag``: how far the readers of the event log are behind."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.exit_codes import LAGGING
from tocsin.cli.output import AsJson, moment_text, show_rows
from tocsin.cli.own_zone import own_zone
from tocsin.client import Client
from tocsin.errors import NotFound
from tocsin.model.entity import Document
from tocsin.model.phrases import suggestion_for


def lag(
    readers: Annotated[
        list[str] | None, typer.Argument(metavar="READER", help="Names of readers, as this command shows them; all.")
    ] = None,
    *,
    fail_above: Annotated[
        int | None, typer.Option(min=0, metavar="EVENTS", help="Exit with 9 if a reader has more unread events.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how far the readers of the event log are behind: pipeline, lake, relays, queues, Kafka consumer groups.

    A reader with 0 events has read everything. SECONDS is the age of its oldest unread event, GROWING SINCE the time
    since which its lag has not shrunk. The alert EventLag tells administrators of a reader over its LIMIT
    (TOCSIN_EVENT_LAG_LIMIT, for single readers TOCSIN_EVENT_LAG_LIMITS). A ~ marks estimates.

    For administrators, and bots with the operation AuditLogs on alerts. In a cron job: --fail-above.

    Examples
    tocsin lag
    tocsin lag match_stream search_stream --fail-above 5000
    tocsin lag --json | jq '.readers[] | select(.lagSeconds > 60)'
    """
    with Client() as client:
        answer, zone = client.event_lag(), own_zone(client, is_shown=not as_json)
    chosen_readers = _readers_of(answer["readers"], readers or [])
    lag_rows = (_row(one, zone) for one in chosen_readers)
    show_rows(lag_rows, as_json=as_json, answer={**answer, "readers": chosen_readers})
    for reason in answer["missing"]:
        typer.echo(reason, err=True)
    if fail_above is not None and any(one["lagEvents"] > fail_above for one in chosen_readers):
        raise typer.Exit(LAGGING)


def _readers_of(all_readers: list[Document], names: list[str]) -> list[Document]:
    """Return the readers of these names, all for none.

    Raises
    ------
    NotFound : there is no such reader
    """
    by_name = {one["reader"]: one for one in all_readers}
    for name in names:
        if name not in by_name:
            raise NotFound(f"There is no reader {name!r}; {suggestion_for(name, sorted(by_name))}")
    return [by_name[name] for name in names] if names else all_readers


def _row(reader: Document, zone: str) -> Document:
    since, limit = reader.get("growingSince"), reader["limit"]
    return {
        "READER": reader["reader"],
        "ALERT": reader.get("alert"),
        "OFFSET": reader["logOffset"],
        "EVENTS": f"{'~' if reader['isEstimate'] else ''}{reader['lagEvents']}",
        "SECONDS": round(reader["lagSeconds"]),
        "GROWING SINCE": None if since is None else moment_text(since, zone),
        "LIMIT": "not watched" if limit is None else limit,
        "STATE": "exceeded" if "exceededSince" in reader else "ok",
    }
