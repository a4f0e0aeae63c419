"""``tocsin consumers``: consumers of the log whose positions the server keeps."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.output import AsJson, moment_text, show_rows
from tocsin.cli.own_zone import own_zone
from tocsin.client import Client
from tocsin.client.consume.api_source import Start, parse_start
from tocsin.model.entity import Document

app = typer.Typer(help="Register consumers of change events, and show their positions.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the consumer.")]


@app.command("list")
def list_consumers(*, as_json: AsJson = False) -> None:
    """List the registered consumers: administrators see all, others their own."""
    with Client() as client:
        answer, zone = client.consumers(), own_zone(client, is_shown=not as_json)
    show_rows((_row(one, zone) for one in answer["data"]), as_json=as_json, answer=answer)


@app.command()
def register(
    name: Name,
    *,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Who commits the position; you.")] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="Where to begin: now (default), start or an offset.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Register a consumer, or change one. Retention waits for it, and `tocsin lag` shows it. For administrators.

    Examples
    tocsin consumers register warehouse --user warehouse-bot --from start
    tocsin events consume --consumer warehouse --exec './load.py'
    """
    begin: Start | None = None if start is None else parse_start(start)
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        answer = client.register_consumer(name, user=user, start=begin)
    show_rows([_row(answer, zone)], as_json=as_json, answer=answer)


@app.command()
def remove(name: Name) -> None:
    """Remove a consumer: retention no longer waits for it. For administrators."""
    with Client() as client:
        client.remove_consumer(name)
    typer.echo(f"Removed the consumer {name}.")


def _row(consumer: Document, zone: str) -> Document:
    committed_at = consumer["committedAt"]
    return {
        "CONSUMER": consumer["name"],
        "USER": consumer["user"] or "(deleted)",
        "OFFSET": consumer["offset"],
        "COMMITTED": None if committed_at is None else moment_text(committed_at, zone),
    }
