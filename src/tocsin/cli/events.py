"""``tocsin events``: a live stream of change events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Annotated, Literal

import typer
from rich.text import Text

from tocsin.cli.output import AsJson, console
from tocsin.client import Change, Client
from tocsin.errors import InvalidInput

app = typer.Typer(help="Watch change events.", no_args_is_help=True)

RdfFormat = Literal["turtle", "ntriples", "jsonld"]
_EVERY_S = 0.5
_SLICE = 500


@app.callback()
def events() -> None:
    """See change events as they happen."""


@app.command()
def tail(
    *,
    since: Annotated[str, typer.Option(help="Where to begin: now, start, or an offset.")] = "now",
    once: Annotated[bool, typer.Option("--once", help="Stop at the end of the log instead of waiting.")] = False,
    as_json: AsJson = False,
    rdf_format: Annotated[
        RdfFormat | None,
        typer.Option("--format", help="Print RDF: turtle, ntriples, or jsonld, a document per line."),
    ] = None,
) -> None:
    """Print change events as they happen, with the ids that `tocsin explain` takes; with --json one event per line.

    Examples: tocsin events tail · tocsin events tail --since start --once --json · tocsin events tail --format ntriples
    """
    if rdf_format is not None and as_json:
        raise InvalidInput("give either --json or --format", field="format")
    with Client() as client:
        if rdf_format is not None:
            _print_documents(client, _first_offset(client, since), rdf_format, once=once)
            return
        for change in _changes(client, _first_offset(client, since), once=once):
            _show(change, as_json=as_json)


def _changes(client: Client, offset: int, *, once: bool) -> Iterator[Change]:
    """Yield every change after ``offset``; at the end of the log, stop or wait for more."""
    while True:
        piece = client.read_log(offset, limit=_SLICE)
        yield from piece.changes
        if piece.end > offset:
            offset = piece.end
        elif once:
            return
        else:
            time.sleep(_EVERY_S)


def _print_documents(client: Client, offset: int, rdf_format: RdfFormat, *, once: bool) -> None:
    """Print the log after ``offset`` as documents; at the end of the log, stop or wait for more."""
    while True:
        piece = client.read_log_as_rdf(offset, format=rdf_format, limit=_SLICE)
        if "urn:uuid:" in piece.text:  # else it is empty
            typer.echo(piece.text.rstrip("\n"))
        if piece.end > offset:
            offset = piece.end
        elif once:
            return
        else:
            time.sleep(_EVERY_S)


def _first_offset(client: Client, since: str) -> int:
    if since == "now":
        return client.read_log("latest").end
    if since == "start":
        return 0
    if not since.isdecimal():
        raise InvalidInput(f"--since must be now, start or an offset, not {since!r}.", field="since")
    return int(since)


def _show(change: Change, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(change.event, ensure_ascii=False))
        return
    line = Text()
    line.append(f"{change.timestamp:%Y-%m-%d %H:%M:%S}  ", style="dim")
    line.append(f"{change.entity_type} ", style="cyan")
    line.append(change.entity_name, style="bold")
    line.append(f"  {change.change_type}")
    line.append(f"  by {change.user_name}" if change.user_name else "", style="dim")
    line.append(f"  {change.event['id']}", style="dim")
    console().print(line, soft_wrap=True)
