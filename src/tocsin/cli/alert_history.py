"""``tocsin alerts history``: edits of an alert, and the events that it matched with their counts."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from tocsin.cli.assets import find_alert
from tocsin.cli.output import AsJson, moment_text, show_rows
from tocsin.client import Client
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text

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
        all_entries = client.subscription_history(find_alert(client, name).id, kind=kind, since=since, until=until)
        entries = list(islice(all_entries, limit))
    show_rows([_row(one) for one in entries], answer=entries, as_json=as_json)


def _row(entry: Document) -> Document:
    return {
        "when": moment_text(entry["timestamp"]),
        "kind": entry["kind"],
        "what": entry["title"],
        "by": entry["userName"],
        "notified": _firing_text(entry),
        "event": entry["eventId"],
    }


def _firing_text(entry: Document) -> str | None:
    """Return how many notifications a firing gave, and how many of them were not sent; None for other entries."""
    if "notified" not in entry:
        return None
    return f"{count_text(entry['notified'], 'notification')}" + (
        f", {entry['suppressed']} suppressed" if entry["suppressed"] else ""
    )
