"""Errors for invalid conditions, with position, expected tokens and nearest known name."""

from __future__ import annotations

from collections.abc import Iterable

from tocsin.conditions.syntax import Position
from tocsin.errors import InvalidCondition
from tocsin.model.phrases import nearest


def refusal(
    message: str, at: Position, *, expected: tuple[str, ...] = (), suggestion: str | None = None
) -> InvalidCondition:
    """Return the error for the token ``at`` a position."""
    hint = f"; did you mean {suggestion}?" if suggestion else ""
    return InvalidCondition(
        f"Line {at.line}, column {at.column}: {message}{hint}",
        line=at.line,
        column=at.column,
        expected=expected,
        suggestion=suggestion,
    )


def unknown(noun: str, name: str, at: Position, valid_names: Iterable[str]) -> InvalidCondition:
    """Return the error for an unknown ``name`` of a kind such as ``field``, with the nearest of ``valid_names``."""
    names = tuple(sorted(valid_names))
    return refusal(f"unknown {noun} {name!r}", at, expected=names, suggestion=nearest(name, names))
