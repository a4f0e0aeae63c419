"""Output of commands: a table for people, or JSON with ``--json``; and the prompt for secrets."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tocsin.delivery.lines import UTC, exact_moment_text
from tocsin.errors import InvalidInput

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
"""The option that every command which prints results has."""


_KEPT_WHOLE = 40
"""Words up to this length, such as ids and names, are not broken, so that they can be copied."""

_GAP = 2
"""Blanks between the columns of a table."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What moves the cursor of a terminal, colours or clears it, or lets the text around it be read in another order."""

_UNBOUND = 100_000
"""The width of what is no terminal: a line for each row, for other programs."""


class _ResultConsole(Console):
    """A console whose terminal obeys the styles of this program and no character of what it prints."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def console() -> Console:
    """Return the console for results; it colours only what a terminal shows."""
    is_bound = sys.stdout.isatty() or "COLUMNS" in os.environ
    return _ResultConsole(file=sys.stdout, highlight=False, width=None if is_bound else _UNBOUND)


def show_json(value: object) -> None:
    """Print ``value`` as one JSON document."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    typer.echo(CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # in strings alone: it is the same JSON


def entered_secret(label: str, *, is_piped: bool = False) -> str:
    """Return what is entered at a prompt that does not show it, or the first line of standard input if it is piped.

    The prompt goes to stderr, so that ``$(…)`` holds nothing but the result of the command.

    Raises
    ------
    InvalidInput : it is no text
    """
    if is_piped or not sys.stdin.isatty():
        try:
            line = sys.stdin.readline().rstrip("\r\n")
            line.encode()
        except UnicodeError as error:  # its message would show the secret
            raise InvalidInput(f"{label}: standard input is not UTF-8.", field=label) from error
        return line
    return str(typer.prompt(label, hide_input=True, err=True))


def moment_text(at_ms: int, zone: str = UTC) -> str:
    """Return a time, given as epoch milliseconds, in an IANA zone, which it names, and to the second."""
    return exact_moment_text(at_ms, zone)


def names_of(references: Sequence[Mapping[str, object]]) -> str:
    """Return what people call these people and teams as one text, with a note for each who is deleted."""
    return ", ".join(f"{_shown_name(one)}{' (deleted)' if one.get('deleted') else ''}" for one in references)


def _shown_name(reference: Mapping[str, object]) -> object:
    return reference.get("displayName") or reference.get("name")


def show_text(text: str, *, answer: object, as_json: bool) -> None:
    """Print a text, or the answer that it is about as JSON."""
    if as_json:
        show_json(answer)
    else:
        typer.echo(printable(text))


def show_lines(lines: Iterable[Text], *, answer: object, as_json: bool) -> None:
    """Print lines, which a terminal wraps, or the answer that they are about as JSON."""
    if as_json:
        show_json(answer)
        return
    for line in lines:
        console().print(line, soft_wrap=True)


def show_rows(all_rows: Iterable[Mapping[str, object]], *, as_json: bool, answer: object = None) -> None:
    """Print rows, which all have the same keys: as a table, or as JSON them or the answer that they are about.

    Where the table does not fit without breaking words, each row is a block with a line per key.
    """
    if as_json:
        show_json(list(all_rows) if answer is None else answer)
        return
    table_rows = list(all_rows)
    if not table_rows:
        typer.echo("Nothing to show.")
        return
    screen = console()
    cells = [list(table_rows[0]), *([_cell(value) for value in row.values()] for row in table_rows)]
    widths = _widths(cells, screen.width)
    if widths is None:
        _show_blocks(table_rows)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for key, width in zip(table_rows[0], widths, strict=True):
        table.add_column(key, width=width, overflow="fold")
    for row in cells[1:]:
        table.add_row(*map(escape, row))
    screen.print(table)


def say_there_are_more(limit: int, *, is_cut: bool, as_json: bool) -> None:
    """Say below a table, on standard error, that it ends after ``limit`` rows, where there are more."""
    if is_cut and not as_json:
        typer.echo(f"There are more: --limit ends the list at {limit:,}.", err=True)


def _widths(cells: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Return the widths of columns, the left ones as wide as they want to be; None if words would be broken."""
    columns = list(zip(*cells, strict=True))
    least = [min(_KEPT_WHOLE, max(len(word) for text in column for word in text.split() or [""])) for column in columns]
    spare = room - sum(least) - _GAP * (len(columns) - 1)
    if spare < 0:
        return None
    widths: list[int] = []
    for narrowest, column in zip(least, columns, strict=True):
        widest = max(len(text) for text in column)
        widths.append(min(widest, narrowest + spare) if widest > narrowest else narrowest)
        spare -= widths[-1] - narrowest
    return widths


def _show_blocks(table_rows: Sequence[Mapping[str, object]]) -> None:
    width = max(len(key) for key in table_rows[0])
    for number, row in enumerate(table_rows):
        if number:
            typer.echo()
        for key, value in row.items():
            typer.echo(f"{key:<{width}}  {_cell(value)}".rstrip())


def show_facts(facts: Mapping[str, object], *, as_json: bool) -> None:
    """Print the ``facts`` of one object, a line each, or as a JSON object."""
    if as_json:
        show_json(facts)
        return
    for key, value in facts.items():
        typer.echo(f"{key}: {_cell(value)}")


def printable(text: str) -> str:
    """Return a text whose characters a terminal shows and does not obey: others may have written it."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _cell(value: object) -> str:
    return printable(_words(value))


def _words(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict) or (isinstance(value, list | tuple) and any(isinstance(one, dict) for one in value)):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    return str(value)
