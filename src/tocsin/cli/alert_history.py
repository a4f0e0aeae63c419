"""``tocsin alerts history``: edits of an alert, and the events that it matched with their counts."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from tocsin.cli.assets import find_alert
from tocsin.cli.output import AsJson, show_json, show_rows
from tocsin.client import Client
from tocsin.clock import to_datetime
from tocsin.model.entity import Document
from tocsin.model.phrases import counted

AlertName = Annotated[str, typer.Argument(help="Name of the alert.")]
Kind = Annotated[str | None, typer.Option(help="Only one kind: firing, edit or report.")]
Since = Annotated[str | None, typer.Option(help="How far back: a duration (7d) or a date. Default: everything.")]
Until = Annotated[str | None, typer.Option(help="End of the range, in the same form. Default: now.")]
Most = Annotated[int, typer.Option(min=1, help="Maximum number of entries.")]


def history(
    name: AlertName,
    *,
    kind: Kind = None,
    since: Since = None,
    until: Until = None,
    limit: Most = 50,
    as_json: AsJson = False,
) -> None:
    """List the edits of an alert and the events that it matched, newest first.

    Example: tocsin alerts history PaymentsSchemaChanges --kind firing --since 7d
    """
    with Client() as client:
        found = client.subscription_history(find_alert(client, name).id, kind=kind, since=since, until=until)
        entries = list(islice(found, limit))
    if as_json:
        show_json(entries)
        return
    show_rows([_row(one) for one in entries], as_json=False)


def _row(one: Document) -> Document:
    return {
        "when": f"{to_datetime(one['timestamp']):%Y-%m-%d %H:%M:%S}",
        "kind": one["kind"],
        "what": one["title"],
        "by": one["userName"],
        "notified": _notified(one),
        "event": one["eventId"],
    }


def _notified(one: Document) -> str | None:
    """Return how many notifications a firing gave, and how many of them were not sent; None for other entries."""
    if "notified" not in one:
        return None
    return f"{counted(one['notified'], 'notification')}" + (
        f", {one['suppressed']} suppressed" if one["suppressed"] else ""
    )
