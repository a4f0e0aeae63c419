"""Values of notification templates: JSON, and text that is markup already.

What is true differs, as it does in Handlebars: zero opens a section and no ``if``; an empty list opens neither, and is
true to ``and``, ``or`` and ``not``. Source: handlebarsjs.com, "Built-in Helpers" and "Block Helpers".
Next: ``delivery/templates/functions.py``.
"""

from __future__ import annotations

import json
from html import escape
from typing import Any

Value = Any  # Any: a JSON value of an event, or markup


class Markup(str):
    """Text that is HTML already: only functions make it, from escaped text."""

    __slots__ = ()


def escape_text(text: str) -> Markup:
    """Return ``text`` as markup that shows it."""
    return text if isinstance(text, Markup) else Markup(escape(text, quote=True))


def text_of(value: Value) -> str:
    """Return a value as text: nothing for null, JSON for lists and objects."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return json.dumps(value, ensure_ascii=False, default=str)
        case _:
            return str(value)


def size_of(value: Value) -> int:
    """Return about how many characters a value has, its members as one each."""
    return len(value) if isinstance(value, str | list | dict) else 1


def opens_if(value: Value, *, with_zero: bool = False) -> bool:
    """Return whether ``if`` renders its body for a value: not for null, false, an empty text or list, and zero."""
    if with_zero and value == 0 and not isinstance(value, bool):
        return True
    return isinstance(value, dict) or bool(value)


def opens_section(value: Value) -> bool:
    """Return whether a section is rendered for a value: not for null, false and an empty list."""
    return not (value is None or value is False or value == [])


def is_true(value: Value) -> bool:
    """Return whether a value is true to ``and``, ``or`` and ``not``: lists and objects always are."""
    return True if isinstance(value, list | dict) else bool(value)


def are_equal(first: Value, second: Value) -> bool:
    """Return whether two values are equal; ``true`` is not 1."""
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


def step_into(value: Value, step: str) -> Value:
    """Return the member of an object, list or text that a step of a path names; None for none."""
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and step.isdecimal():
        index = int(step[:9])
        return value[index] if index < len(value) else None
    if isinstance(value, list | str) and step in ("length", "size"):
        return len(value)
    return None


def number_of(value: Value) -> float:
    """Return a value as a number; raise ``ValueError`` where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(value)
    return float(value)
