"""``tocsin alerts noise``: alerts whose notifications nobody opens, and what a stricter rule would save."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.text import Text

from tocsin.cli.assets import find_alert
from tocsin.cli.output import AsJson, show_lines
from tocsin.client import Client
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text

_WIDTH = 30

AlertName = Annotated[str | None, typer.Argument(help="Name of an alert. Default: the noisiest alerts.")]
Window = Annotated[str, typer.Option(help="How far back: 30d, 12h, or epoch milliseconds.")]
Most = Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of alerts.")]


def noise(name: AlertName = None, *, since: Window = "30d", limit: Most = 10, as_json: AsJson = False) -> None:
    """Rank alerts by unread notifications, or show where one alert's noise comes from and how to reduce it.

    Examples
    tocsin alerts noise --since 7d
    tocsin alerts noise PaymentsSchemaChanges
    """
    with Client() as client:
        if name is None:
            answer = client.noise(since=since, limit=limit)
        else:
            answer = client.subscription_noise(find_alert(client, name).id, since=since)
    show_lines(_ranking(answer) if name is None else _alert_lines(answer), answer=answer, as_json=as_json)


def _ranking(answer: Document) -> Iterator[Text]:
    alerts = answer["data"]
    if not alerts:
        yield Text("No alert matched any event.")
        return
    yield from _bars([(row["name"], row) for row in alerts])
    hidden = answer["paging"]["total"] - len(alerts)
    remainder = f"; {hidden} more alerts matched events" if hidden > 0 else ""
    yield Text(f"█ opened  ░ unopened{remainder}. {answer['formula']}", style="dim")


def _alert_lines(answer: Document) -> Iterator[Text]:
    if not answer["fired"]:
        yield Text(f"{answer['name']} matched no events in this time.")
        return
    yield from _bars([(answer["name"], answer)])
    if answer["assets"]:
        yield Text("\nby asset", style="bold")
        yield from _bars([(one["fullyQualifiedName"], one) for one in answer["assets"]])
    if answer["rules"]:
        yield Text(f"\nby rule, over the newest {answer['examined']} events", style="bold")
        for rule in answer["rules"]:
            yield Text(f"true for {rule['held']:>5} of {rule['examined']}  {rule['condition']}")
    yield Text("\nnotifications that a stricter condition would save", style="bold")
    if not answer["suggestions"]:
        yield Text("None: no condition that was tried helps without hiding too much of what people opened.")
    for suggestion in answer["suggestions"]:
        savings = f"saves {suggestion['saved']} of {suggestion['notified']}"
        yield Text(f"{suggestion['says']}: {savings}{_opened_text(suggestion, answer)}")
        yield Text(f"    {suggestion['condition']}", style="cyan")


def _opened_text(suggestion: Document, answer: Document) -> str:
    """Return how many of the saved notifications were opened, if any of the alert's can be."""
    if suggestion["missed"]:
        return f"; opened of these: {suggestion['missed']}"
    return ", none of them opened" if answer["notifiedInApp"] else ""


def _bars(named_counts: Sequence[tuple[str, Document]]) -> Iterator[Text]:
    """Yield a line for each: its name, a bar of its notifications, and the numbers."""
    widest = max(len(name) for name, _ in named_counts)
    highest_count = max(row["notified"] for _, row in named_counts) or 1
    for name, row in named_counts:
        opened = round(_WIDTH * row["opened"] / highest_count)
        unopened = max(round(_WIDTH * row["notified"] / highest_count), min(row["notified"], 1)) - opened
        bar = Text.assemble(f"{name:<{widest}}  ", ("█" * opened, "green"), ("░" * max(unopened, 0), "red"))
        bar.pad_right(max(0, widest + 2 + _WIDTH - len(bar.plain)))
        yield bar.append(f"  {_numbers(row)}", style="dim")


def _numbers(row: Document) -> str:
    people = f" to {count_text(row['people'], 'person', 'people')}" if row.get("people") else ""
    silent = f" ({row['notifiedNobody']} notified nobody)" if row.get("notifiedNobody") else ""
    parts = [
        f"{count_text(row['fired'], 'event')}{silent}",
        f"{count_text(row['notified'], 'notification')}{people}",
        f"{row['opened']:,} opened",
    ]
    parts += [f"{row[key]} {key}" for key in ("muted", "unsubscribed") if row.get(key)]
    return ", ".join(parts)
