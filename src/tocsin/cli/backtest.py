"""``tocsin alerts backtest``: the notifications an alert would have sent. Asks the server, waits, draws the result."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tocsin.cli.alertfiles import SUFFIXES, FiledAlert, Variables, parse_alerts, text_of
from tocsin.cli.assets import find_alert
from tocsin.cli.condition_errors import error_in_file
from tocsin.cli.output import AsJson, console, moment_text, show_json
from tocsin.cli.own_zone import own_zone
from tocsin.cli.progress import ReportProgress, progress_bar
from tocsin.client import Client
from tocsin.clock import to_datetime
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.event_formats import event_in
from tocsin.errors import InvalidInput, NotFound, TocsinError, Unavailable
from tocsin.model.entity import Document
from tocsin.model.own_address import named_target
from tocsin.model.phrases import count_text

MOST_BARS = 45
"""Rows a plot may have; more days than that are drawn by weeks, or by months of 28 days."""

_WAIT_S = 1
_NOBODY_COMES_S = 30.0
_WIDEST = 60
_ROWS = 10


@dataclass(frozen=True)
class EventBars:
    """How many events match, by the first day of each span of ``days`` days."""

    days: int
    counts: tuple[tuple[str, int], ...]

    @property
    def title(self) -> str:
        """Return what is drawn."""
        span = {1: "day", 7: "week"}.get(self.days, f"{self.days} days")
        return f"Matches per {span}" + ("" if self.days == 1 else ", starting on")


def backtest(
    alert: Annotated[
        str,
        typer.Argument(help="A file with one alert, - for standard input, or the name of a stored alert."),
    ],
    *,
    since: Annotated[
        str | None, typer.Option(help="How far back: a duration (90d) or a date. Default: the whole history.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="End of the range, in the same form. Default: now.")] = None,
    env: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate an alert against past events: show whom it would have notified, without notifying anybody.

    Runs in the pipeline; Ctrl-C cancels the backtest.
    """
    with Client() as client:
        chosen_alert, zone = _alert(client, alert, env or ()), own_zone(client, is_shown=not as_json)
        try:
            document = chosen_alert.document if isinstance(chosen_alert, FiledAlert) else chosen_alert
            job = client.start_backtest(document, since=since, until=until)
        except InvalidInput as error:
            raise (error_in_file(error, chosen_alert) if isinstance(chosen_alert, FiledAlert) else error) from error
        with progress_bar("Backtest") as report:
            ended_backtest = await_end(client, job, report)
    if ended_backtest["state"] != "done":
        raise Unavailable(
            ended_backtest.get("reason") or ended_backtest.get("message") or "The backtest was cancelled."
        )
    if as_json:
        show_json(ended_backtest)
    else:
        draw(ended_backtest, console(), zone)


def _alert(client: Client, name_or_file: str, allowed_names: Sequence[str]) -> FiledAlert | Document:
    """Return the alert of a file, or the ``id`` of a stored one; a name with a suffix of such files is a file's."""
    if name_or_file != "-" and not Path(name_or_file).exists() and not name_or_file.endswith(SUFFIXES):
        try:
            return {"id": find_alert(client, name_or_file).id}
        except NotFound as error:
            raise NotFound(f"{error.message} (and there is no file {name_or_file})") from error
    alerts = parse_alerts(text_of(name_or_file), name_or_file, allowed_names)
    if len(alerts) > 1:
        raise InvalidInput(f"{name_or_file} contains {len(alerts)} alerts; backtest one at a time.")
    return alerts[0]


def draw(ended: Document, screen: Console, zone: str) -> None:
    """Draw a backtest that is done, times in a zone: how it went, bars by day, who and what it was mostly about."""
    result = ended["result"]
    screen.print(_summary(ended))
    if "states" in result:
        screen.print(Text(result["states"], style="dim"))
    if not result["matched"]:
        return
    chart = bars(result["perDay"], ended)
    screen.print()
    screen.print(Text(chart.title, style="bold"))
    screen.print(_plot(chart, screen.width))
    tables = (
        ("Assets", _assets(result)),
        ("People", _people(result)),
        ("Triggered alerts", _triggered_alerts(result)),
        ("Already sent by", _overlaps(result)),
        ("Newest events", _samples(result, zone)),
    )
    for title, records in tables:
        if records:
            screen.print()
            screen.print(_table(title, records))
    screen.print(Text(result["people"], style="dim"))


def bars(per_day: Sequence[Document], period: Document) -> EventBars:
    """Return what to draw: every day of what was asked for, by weeks or months where there are too many."""
    counts = {date.fromisoformat(day["date"]): int(day["matched"]) for day in per_day}
    ends = [to_datetime(period[key]).date() for key in ("until", "endedAt") if key in period]
    first = min([*counts, *(to_datetime(period[key]).date() for key in ("since",) if key in period)])
    last = max([*counts, *sorted(ends)[:1]])
    days = (last - first).days + 1
    width = next((one for one in (1, 7, 28) if days <= one * MOST_BARS), -(-days // MOST_BARS))
    spans = ([first + timedelta(days=start + more) for more in range(width)] for start in range(0, days, width))
    return EventBars(width, tuple((span[0].isoformat(), sum(counts.get(day, 0) for day in span)) for span in spans))


def await_end(
    client: Client, started: Document, report: ReportProgress, *, patience_s: float = _NOBODY_COMES_S
) -> Document:
    """Wait until a backtest is over; Ctrl-C cancels it, and so does the lack of a pipeline.

    Raises
    ------
    Unavailable : no pipeline has been there for ``patience_s``
    """
    try:
        return _follow(client, started, report, patience_s)
    except (KeyboardInterrupt, TocsinError):
        with contextlib.suppress(TocsinError):  # report the original error
            client.cancel_backtest(started["id"])
        raise


def _follow(client: Client, backtest: Document, report: ReportProgress, patience_s: float) -> Document:
    lonely_since_s: float | None = None
    while backtest["state"] in ("waiting", "running"):
        backtest = client.get_backtest(backtest["id"], wait=_WAIT_S)
        if backtest["progress"]["total"]:
            report(backtest["progress"]["done"], backtest["progress"]["total"])
        is_lonely = backtest["state"] == "waiting" and "pipeline" in str(backtest.get("message"))
        if is_lonely and lonely_since_s is None:
            typer.echo(backtest["message"], err=True)
        lonely_since_s = (lonely_since_s or time.monotonic()) if is_lonely else None
        if lonely_since_s is not None and time.monotonic() - lonely_since_s > patience_s:
            raise Unavailable(backtest["message"])
    return backtest


def _summary(ended: Document) -> Text:
    result = ended["result"]
    notifications, people = (
        count_text(result["notified"], "notification"),
        count_text(result["recipientCount"], "recipient"),
    )
    text = Text(f"{ended['alert']['name']}: ", style="bold")
    text.append(f"{result['matched']:,} of {result['events']:,} events match")
    if not result["matched"]:
        return text.append(".")
    silent = f"; {result['notifiedNobody']:,} of them notify nobody" if result["notifiedNobody"] else ""
    held_back_text = f"; incidents hold back {result['heldBack']:,} of them" if result.get("heldBack") else ""
    text.append(f", on {count_text(result['assetCount'], 'asset')}{silent}{held_back_text}. ")
    text.append(f"It would have sent {notifications} to {people}")
    through = ", ".join(f"{one['channel']} {one['notified']:,}" for one in result["channels"])
    text.append(f" ({through}); " if through else "; ")
    text.append(f"{count_text(result['merged'], 'duplicate')} merged.")
    return text


def _plot(drawn: EventBars, columns: int) -> Table:
    table = Table.grid(padding=(0, 1))
    highest = max(count for _, count in drawn.counts)
    widest = max(1, min(_WIDEST, columns - len(f" {highest:,} ") - len("2026-01-31 ")))
    for label, count in drawn.counts:
        width = max(1, round(count / highest * widest)) if count else 0
        table.add_row(Text(label, style="dim"), Text("█" * width, style="cyan"), Text(f"{count:,}" if count else ""))
    return table


def _table(title: str, records: Sequence[Document]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left", title_style="bold")
    for key in records[0]:
        table.add_column(key, overflow="fold")
    for row in records:
        table.add_row(*(str(value) for value in row.values()))
    return table


def _assets(result: Document) -> list[Document]:
    return [
        {"asset": asset["fullyQualifiedName"], "type": asset["type"], "matched": f"{asset['matched']:,}"}
        for asset in result["assets"][:_ROWS]
    ]


def _people(result: Document) -> list[Document]:
    return [
        {
            "recipient": named_target(
                recipient.get("name") or recipient.get("target") or "a person", recipient.get("destinations") or ()
            ),
            "channel": recipient["channel"],
            "notifications": f"{recipient['notified']:,}",
            "reasons": ", ".join(recipient["because"]),
        }
        for recipient in result["recipients"][:_ROWS]
    ]


def _triggered_alerts(result: Document) -> list[Document]:
    return [
        {
            "alert": alert.get("name", "an alert that you may not view"),
            "notifications": f"{alert['notified']:,}",
            "held back": f"{alert['heldBack']:,}",
        }
        for alert in result.get("triggered", ())[:_ROWS]
    ]


def _overlaps(result: Document) -> list[Document]:
    heading = f"of {result.get('compared', 0):,} events"
    return [{"alert": alert["name"], heading: f"{alert['matched']:,}"} for alert in result.get("overlaps", ())[:_ROWS]]


def _samples(result: Document, zone: str) -> list[Document]:
    return [
        {
            "when": moment_text(sample["timestamp"], zone),
            "event": _words_of(sample),
            "asset": sample.get("entityFullyQualifiedName", ""),
            "by": sample.get("userName", ""),
        }
        for sample in result["samples"][:_ROWS]
    ]


def _words_of(sample: Document) -> str:
    """Return what happened as messages say it."""
    try:
        return event_text(event_in(sample)).headline
    except ValidationError:  # of a server of another version
        return str(sample["eventType"])
