"""Text of values for recipients: names instead of references and links, never JSON; types of columns with their sizes.

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from typing import Any

import orjson

from tocsin.delivery.lines import SHOWN_LIMIT, clean_line, in_words
from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link

TYPE_KEYS = frozenset({"dataType", "dataTypeDisplay", "dataLength", "arrayDataType", "precision", "scale"})
"""What together says the type of a column or field."""

IDENTITIES = ("displayName", "tagFQN", "name", "fullyQualifiedName", "id")
"""What an object is called by, the best first."""

INLINE_LIMIT = 60
"""Most characters of a value that stands within a sentence."""

_SIZED = frozenset({"CHAR", "VARCHAR", "BINARY", "VARBINARY", "BYTES", "STRING"})
_MOST_MEMBERS = 10
_DEEPEST = 4
_YES, _NO = "yes", "no"
Value = Any  # Any: a JSON value of whatever field changed


def value_text(value: Value) -> str | None:
    """Return a value as one line of at most ``SHOWN_LIMIT`` characters; None for none."""
    if value is None:
        return None
    return clean_line(_in_words(parse_json(value), 0), limit=SHOWN_LIMIT, strips=not isinstance(value, str))


def parse_json(value: Value) -> Value:
    """Return the value behind upstream's habit of writing JSON into a string."""
    if not (isinstance(value, str) and value[:1] in ("{", "[")):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def name_of(member: Document) -> str | None:
    """Return what people call an object, or a constraint, ``UNIQUE (email)``; None where nothing names it."""
    if isinstance(kind := member.get("constraintType"), str):
        columns = member.get("columns")
        return f"{kind} ({', '.join(map(str, columns))})" if isinstance(columns, list) else kind
    return next((str(member[key]) for key in IDENTITIES if isinstance(member.get(key), str) and member[key]), None)


def type_of(member: Document) -> str:
    """Return the type of a column or field with its size: ``VARCHAR(16)``, ``ARRAY<INT>``; empty where none is known.

    A type whose parts have names, such as ``struct<a:int>``, is how the source displays it.
    """
    kind = member.get("dataType")
    if not isinstance(kind, str) or not kind:
        return _display_of(member)
    if kind == "ARRAY" and isinstance(inner := member.get("arrayDataType"), str):
        kind = f"ARRAY<{inner}>"
    length, precision, scale = (member.get(key) for key in ("dataLength", "precision", "scale"))
    if type(precision) is int:
        kind = f"{kind}({precision},{scale})" if type(scale) is int else f"{kind}({precision})"
    elif type(length) is int and kind in _SIZED:
        kind = f"{kind}({length})"
    return clean_line(kind, limit=INLINE_LIMIT)


def types_of(before: Document, after: Document) -> tuple[str, str]:
    """Return the types of a column before and after, by how the source displays them where they differ in that only."""
    old, new = type_of(before), type_of(after)
    if old != new:
        return old, new
    return _display_of(before) or old, _display_of(after) or new


def _display_of(member: Document) -> str:
    display = member.get("dataTypeDisplay")
    return clean_line(display, limit=INLINE_LIMIT) if isinstance(display, str) else ""


def is_short(value: Value) -> bool:
    """Return whether a value is read within a sentence: a short text, a number, yes or no."""
    if isinstance(value, str):
        return 0 < len(value) <= INLINE_LIMIT and "\n" not in value
    return isinstance(value, int | float)


def _in_words(value: Value, depth: int) -> str:
    match value:
        case bool():
            return _YES if value else _NO
        case str():
            return _link_text(value) if value.startswith("<#E::") else value
        case list():
            texts = [_in_words(one, depth + 1) for one in value[:_MOST_MEMBERS]]
            counted = [f"… and {len(value) - _MOST_MEMBERS:,} more"] if len(value) > _MOST_MEMBERS else []
            return ", ".join((*filter(None, texts), *counted)) or "none"
        case dict():
            return _object_text(value, depth)
        case None:
            return ""
        case _:
            return str(value)


def _object_text(value: Document, depth: int) -> str:
    """Return what people call an object, a column with its type; of one without a name, its parts in words."""
    if (name := name_of(value)) is not None:
        kind = type_of(value)
        return f"{name} {kind}" if kind else name
    if depth >= _DEEPEST:
        return "…"
    parts = [(in_words(key), _in_words(one, depth + 1)) for key, one in value.items() if one is not None]
    return "; ".join(f"{key} {text}" for key, text in parts if text) or "none"


def _link_text(text: str) -> str:
    """Return what a link to an entity points to: ``orders.email`` for a column of a table."""
    try:
        link = parse_link(text, "link")
    except InvalidInput:
        return text
    name = fqn.steps_of(link.fqn)[-1]
    return f"{name}.{link.steps[1]}" if len(link.steps) > 1 else name
