"""``tocsin events``: a live stream of change events, batches of them, and events of other systems."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import ValidationError
from rich.text import Text

from tocsin.alerts.explanations.reader import ANYBODY, ExplanationReader
from tocsin.chunks import chunks_of
from tocsin.cli.consume import consume
from tocsin.cli.display_names import DisplayNames
from tocsin.cli.output import AsJson, console, printable, show_rows
from tocsin.cli.own_zone import reader_of
from tocsin.client import Change, Client, LogSlice
from tocsin.client.call import Filter
from tocsin.clock import SystemClock
from tocsin.delivery.wording.assets import asset_of
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.event_formats import event_in
from tocsin.delivery.wording.naming import changes_of, references_of
from tocsin.delivery.wording.readers import ids_of_readers
from tocsin.delivery.wording.reports import is_report
from tocsin.errors import InvalidInput
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.entity import Document
from tocsin.model.thread import THREAD
from tocsin.server.alerts.time_arguments import history_cut

app = typer.Typer(help="Watch and consume change events, and send those of other systems.", no_args_is_help=True)
app.command()(consume)

RdfFormat = Literal["turtle", "ntriples", "jsonld"]
_EVERY_S = 0.5
_SLICE = 500
_SENT_AT_ONCE = 100


@app.callback()
def events() -> None:
    """See change events as they happen."""


@app.command()
def tail(
    *,
    since: Annotated[str, typer.Option(help="Where to begin: now, start, an offset, 2h ago, or a date.")] = "now",
    once: Annotated[bool, typer.Option("--once", help="Stop at the end of the log instead of waiting.")] = False,
    breaking: Annotated[bool, typer.Option("--breaking", help="Only changes that break who reads the asset.")] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only changes whose author gave a reason that contains this.")
    ] = None,
    as_json: AsJson = False,
    rdf_format: Annotated[
        RdfFormat | None,
        typer.Option("--format", help="Print RDF: turtle, ntriples, or jsonld, a document per line."),
    ] = None,
) -> None:
    """Print change events as they happen, with the ids that `tocsin explain` takes; with --json one event per line.

    Examples: tocsin events tail · tocsin events tail --since 2h · tocsin events tail --since start --once --json
    · tocsin events tail --format ntriples
    """
    if rdf_format is not None and as_json:
        raise InvalidInput("give either --json or --format", field="format")
    filters: dict[str, Filter] = {"breaking": breaking or None, "reason": reason}
    if rdf_format is not None and any(filters.values()):
        raise InvalidInput("give either --format or --breaking and --reason", field="format")
    with Client() as client:
        start = _start_of(client, since)
        if rdf_format is not None:
            _print_documents(client, start, rdf_format, once=once)
            return
        reader, names = ANYBODY if as_json else reader_of(client), DisplayNames(client)
        for change in _changes(client, start, filters, once=once):
            if as_json:
                typer.echo(json.dumps(change.event, ensure_ascii=False))
            else:
                _show(change, reader, names)


@app.command()
def ingest(
    file: Annotated[str, typer.Argument(help="JSON or JSON Lines file of events; - reads standard input.")],
    *,
    source: Annotated[str | None, typer.Option(help="Where events come from that do not say so themselves.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Keep nothing; only show what would happen.")] = False,
    as_json: AsJson = False,
) -> None:
    """Apply events of another system as a bot: CloudEvents, or change events. Sending an event again changes nothing.

    The token must be that of a bot with the operation Ingest. Exit code 1: an event was refused.
    """
    results: list[Document] = []
    with Client() as client:
        for chunk in chunks_of(_events_in(file), _SENT_AT_ONCE):
            begin = len(results)
            data = client.events_ingest(chunk, source=source, dry_run=dry_run)["data"]
            results += [one | {"index": begin + one["index"]} for one in data]
    keys = ("index", "state", "entityType", "fullyQualifiedName", "message")
    show_rows(({key: one.get(key) for key in keys} for one in results), as_json=as_json, answer=results)
    if any(one["state"] == "refused" for one in results):
        raise typer.Exit(1)


def _events_in(file: str) -> list[Document]:
    """Return the events of a file: one JSON document, a list of them, or one in each line."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}", field="FILE") from error
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return [_event_in(line, number) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    return document if isinstance(document, list) else [document]


def _event_in(line: str, number: int) -> Document:
    try:
        event: Document = json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"line {number} is not JSON: {error}", field="FILE") from error
    return event


@dataclass(frozen=True)
class _Start:
    """Where to begin to read: after an offset, or at the first event from a moment on (epoch ms)."""

    offset: int = 0
    since_ms: int | None = None


def _changes(client: Client, start: _Start, filters: Mapping[str, Filter], *, once: bool) -> Iterator[Change]:
    """Yield every change from ``start`` on that passes the filters; at the end of the log, stop or wait for more.

    While one piece is printed, the next one is read.
    """

    def read(after: int) -> LogSlice:
        return client.read_log(after, limit=_SLICE, timestamp=start.since_ms, **filters)

    offset = start.offset
    with ThreadPoolExecutor(1) as pool:
        next_piece: Future[LogSlice] | None = pool.submit(read, offset)
        while next_piece is not None:
            piece = next_piece.result()
            is_end, offset = piece.end <= offset, max(piece.end, offset)
            next_piece = None if is_end else pool.submit(read, offset)
            yield from piece.changes
            if is_end and not once:
                sys.stdout.flush()
                time.sleep(_EVERY_S)
                next_piece = pool.submit(read, offset)


def _print_documents(client: Client, start: _Start, rdf_format: RdfFormat, *, once: bool) -> None:
    """Print the log from ``start`` on as documents; at the end of the log, stop or wait for more."""
    offset = start.offset
    while True:
        piece = client.read_log_as_rdf(offset, format=rdf_format, limit=_SLICE, timestamp=start.since_ms)
        if "urn:uuid:" in piece.text:  # else it is empty
            typer.echo(piece.text.rstrip("\n"))
        if piece.end > offset:
            offset = piece.end
        elif once:
            return
        else:
            time.sleep(_EVERY_S)


def _start_of(client: Client, since: str) -> _Start:
    if since == "now":
        return _Start(client.read_log("latest").end)
    if since == "start":
        return _Start()
    cut = history_cut(since, "--since", SystemClock().now_ms())
    return _Start(cut.through or 0, cut.until_ms)


def words_of(change: Change, reader: ExplanationReader, name: Callable[[ChangeEvent], ChangeEvent]) -> tuple[str, str]:
    """Return what happened as messages say it to their reader, without the name of what changed; and by whom.

    ``name`` returns an event with the names that people are called by.
    Nobody changes what is only reported, such as a result: its author is empty.
    """
    try:
        event = name(event_in(change.event))
    except ValidationError:  # a server of another version
        return change.change_type, change.user_name
    author = "" if is_report(event) else reader.name_of(event.user_id, event.user_name or "")
    prefix = f"{asset_of(event).title}: "
    if _is_worded_by_server(change, event, reader):
        return str(change.event["title"]).removeprefix(prefix), author
    text = event_text(event, zone=reader.zone, reader_id=reader.user_id or None)
    return text.headline.removeprefix(prefix), author


def _is_worded_by_server(change: Change, event: ChangeEvent, reader: ExplanationReader) -> bool:
    """Return whether the title of the server says the same: it names nobody, and so neither the reader.

    The server has the zone of the reader, too. The title of an event of earlier releases does not say what breaks.
    """
    if change.is_breaking or "title" not in change.event:
        return False
    is_of_fields = event.event_type is EventType.ENTITY_UPDATED and event.entity_type != THREAD
    names_nobody = not any(any(references_of(one)) for one in changes_of(event))
    return is_of_fields and names_nobody and reader.user_id not in ids_of_readers(event)


def _show(change: Change, reader: ExplanationReader, names: DisplayNames) -> None:
    words, author = words_of(change, reader, names.event_of)
    line = Text()
    line.append(f"{reader.moment(change.event['timestamp'])}  ", style="dim")
    line.append(f"{change.entity_type} ", style="cyan")
    line.append(change.entity_name, style="bold")
    line.append(f"  {words}", style="yellow" if change.is_breaking else "")
    if len(change.breaking_reasons) > 1:
        line.append(f"  ({'; '.join(change.breaking_reasons)})")
    line.append(f"  because: {change.reason}" if change.reason else "")
    line.append(f"  by {author}" if author else "", style="dim")
    line.append(f"  {change.event['id']}", style="dim")
    if sys.stdout.isatty():
        console().print(line, soft_wrap=True)
    else:  # without styles: it takes a tenth of the time
        sys.stdout.write(f"{printable(line.plain)}\n")
