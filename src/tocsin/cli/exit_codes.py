"""Exit codes, one table for all commands; ``docs/cli.md`` repeats it and a test compares.

Source: the families of ``errors.py``; 2 for wrong usage is what every shell tool answers.
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
    Exit(
        1,
        "internal error; a message was not sent (`deliveries replay`), an event (`events ingest`) or an asset "
        "(`follow`, `unfollow`) was refused, or a run of a source had errors (`source openmetadata`, `source dbt`)",
    ),
    Exit(2, "invalid command, setting or file", (InvalidInput,)),
    Exit(3, "not found", (NotFound,)),
    Exit(4, "not logged in, or not allowed", (Unauthenticated, Forbidden)),
    Exit(5, "conflict: already exists, or taken by another person or process, such as a port", (Conflict,)),
    Exit(6, "a required service or package is unavailable, or `tocsin health` found a problem", (Unavailable,)),
    Exit(7, "the store is damaged, or an audit has findings", (StoreDamaged,)),
    Exit(8, "`tocsin alerts plan --detailed-exitcode`: there is something to change"),
    Exit(9, "`tocsin lag --fail-above`: a reader has more unread events"),
    Exit(10, "`tocsin check`: a change is against the rules"),
    Exit(130, "interrupted by Ctrl-C"),
)
"""Every exit code there is."""

FAULT = 1
UNAVAILABLE = 6
DAMAGED = 7
CHANGES = 8
LAGGING = 9
AGAINST_RULES = 10


def exit_code(error: TocsinError) -> int:
    """Return the code that a command ending in ``error`` exits with."""
    return next((row.code for row in EXITS if row.families and isinstance(error, row.families)), FAULT)
