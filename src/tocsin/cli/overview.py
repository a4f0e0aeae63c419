"""Overview of all commands, the help of ``tocsin`` itself, printed from ``cli/commands.py`` without any library.

Next: ``cli/app.py``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from shutil import get_terminal_size
from textwrap import wrap

from tocsin.cli.commands import COMMANDS, Command
from tocsin.cli.exit_codes import EXITS

ABOUT = "Notifies the right people of every change of a data asset, once, and says why."
DEBUG = "Show the traceback of an unexpected error."
VERSION = "Print the version and exit."

OPTIONS = (
    ("--debug", DEBUG),
    ("--version", VERSION),
    ("--install-completion", "Install completion for the current shell."),
    ("--show-completion", "Show completion for the current shell, to copy it or customize the installation."),
    ("-h, --help", "Show this message and exit."),
)
"""The options of ``tocsin`` itself, and their helps."""

_EXAMPLES = (
    ("tocsin up", "Start everything on this machine, with a sample company."),
    ("export TOCSIN_TOKEN=$(tocsin login admin@tocsin.example.org)", "Log in for the commands below."),
    ("tocsin follow postgres_prod.ecommerce.public.orders", "Be notified when that table changes."),
    ("tocsin events tail", "Watch changes as they happen."),
    ("tocsin alerts apply alerts.toml", "Create alerts from a file."),
)
_SETTINGS = "Settings come from TOCSIN_* variables and tocsin.toml; tocsin settings shows them."

_WIDEST = 120
_NARROWEST = 44
_GAP = 2


def print_overview() -> None:
    """Print the overview, as wide as the terminal; titles are bold on one."""
    width = max(_NARROWEST, min(_WIDEST, get_terminal_size().columns))
    is_bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    sys.stdout.write("\n".join(lines_of(width, title="\x1b[1m{}\x1b[0m" if is_bold else "{}")) + "\n")


def lines_of(width: int, *, title: str = "{}") -> Iterator[str]:
    """Yield the lines of the overview, none longer than ``width`` unless a word is; ``title`` is a format of titles."""
    yield f"{title.format('Usage:')} tocsin [OPTIONS] COMMAND [ARGS]..."
    yield from ("", *wrap(ABOUT, width))
    panels = [(name, [(command.name, command.summary) for command in commands]) for name, commands in _panels()]
    column = max(len(name) for _, entries in (("", OPTIONS), *panels) for name, _ in entries) + _GAP
    for name, entries in (("Options", OPTIONS), *panels):
        yield from ("", title.format(name))
        for word, text in entries:
            yield from _entry(word, text, column, width)
    yield from ("", title.format("To begin"))
    for command, text in _EXAMPLES:
        yield from (f"  {command}", *_paragraph(text, 6, width))
    yield from ("", *wrap(_SETTINGS, width), "", title.format("Exit codes"))
    for row in EXITS:
        yield from _entry(str(row.code), row.meaning, 3 + _GAP, width)


def _panels() -> Iterator[tuple[str, Iterable[Command]]]:
    names = list(dict.fromkeys(command.panel for command in COMMANDS))
    ordered = sorted(COMMANDS, key=lambda command: names.index(command.panel))
    return groupby(ordered, key=lambda command: command.panel)


def _entry(word: str, text: str, column: int, width: int) -> list[str]:
    line, *more_lines = _paragraph(text, _GAP + column, width)
    return [f"{'':{_GAP}}{word:<{column}}{line.lstrip()}", *more_lines]


def _paragraph(text: str, indent: int, width: int) -> list[str]:
    return wrap(text, width, initial_indent=" " * indent, subsequent_indent=" " * indent, break_on_hyphens=False)
