"""``tocsin events``: a live stream of change events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from tocsin.cli.output import AsJson, console
from tocsin.client import Change, Client
from tocsin.errors import InvalidInput

app = typer.Typer(help="Watch change events.", no_args_is_help=True)

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
) -> None:
    """Print change events as they happen, with the ids that `tocsin explain` takes; with --json one event per line.

    Examples: tocsin events tail · tocsin events tail --since start --once --json
    """
    with Client() as client:
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
