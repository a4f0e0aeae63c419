"""Output of commands: a table for people, or JSON with ``--json``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
"""The option that every command which prints results has."""


_KEPT_WHOLE = 40
"""Names up to this length stay on one line, so that they can be copied."""


def console() -> Console:
    """Return the console for results; it colours only what a terminal shows."""
    return Console(file=sys.stdout, highlight=False)


def show_json(value: object) -> None:
    """Print ``value`` as one JSON document."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def show_rows(rows: Sequence[Mapping[str, object]], *, as_json: bool) -> None:
    """Print ``rows``, which all have the same keys: as a table with a line each, or as a JSON list."""
    if as_json:
        show_json(rows)
        return
    if not rows:
        typer.echo("Nothing to show.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, key in enumerate(rows[0]):
        is_kept_whole = number == 0 and all(len(_cell(row[key])) <= _KEPT_WHOLE for row in rows)
        table.add_column(key, overflow="fold", no_wrap=is_kept_whole)
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    console().print(table)


def show_facts(facts: Mapping[str, object], *, as_json: bool) -> None:
    """Print the ``facts`` of one object, a line each, or as a JSON object."""
    if as_json:
        show_json(facts)
        return
    for key, value in facts.items():
        typer.echo(f"{key}: {_cell(value)}")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    return str(value)
