"""Exit codes, one table for all commands; ``docs/cli.md`` repeats it and a test compares.

Source: the families of ``tocsin/errors.py``; 2 for wrong usage is what every shell tool answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    StoreDamaged,
    TocsinError,
    Unauthenticated,
    Unavailable,
)


@dataclass(frozen=True)
class Exit:
    """One exit code, what it means, and the families of errors that end in it."""

    code: int
    meaning: str
    families: tuple[type[TocsinError], ...] = ()


EXITS = (
    Exit(0, "done"),
    Exit(1, "Tocsin itself is at fault"),
    Exit(2, "the command, a setting or a file holds something that cannot be accepted", (InvalidInput,)),
    Exit(3, "there is nothing by that name", (NotFound,)),
    Exit(4, "not logged in, or not allowed", (Unauthenticated, Forbidden)),
    Exit(5, "something else stands there already, or a port is taken", (Conflict,)),
    Exit(6, "a part that is needed does not answer or is not installed", (Unavailable,)),
    Exit(7, "the store is damaged, or `tocsin audit` found something wrong", (StoreDamaged,)),
    Exit(130, "stopped by Ctrl-C"),
)
"""Every exit code there is."""

FAULT = 1
DAMAGED = 7
INTERRUPTED = 130


def exit_code(error: TocsinError) -> int:
    """Return the code that a command ending in ``error`` exits with."""
    return next((row.code for row in EXITS if row.families and isinstance(error, row.families)), FAULT)
