"""Text of values for recipients: names for references and links, never JSON or logins; types of columns with sizes.

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

import re
from itertools import takewhile
from operator import eq
from typing import Any

import orjson

from tocsin.clock import LATEST_MS
from tocsin.delivery.lines import ARROW, SHOWN_LIMIT, UTC, clean_line, moment_text
from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.address import without_logins
from tocsin.model.breaking import constraint_name
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link
from tocsin.model.phrases import count_text, in_words

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
_CERTIFICATION = "Certification."
_LEADING = ("tagLabel", "term")
"""Parts that an object without a name is called by: of a certification, of the relation of a term."""

_MOMENT_KEY = re.compile(r"(timestamp|Time|Date|At|start|end|expires)$")
"""How the keys of times end, which are epoch milliseconds."""

_RETENTION = "retentionPeriod"
_DURATION = re.compile(r"P([0-9]{1,6})([DWMY])", re.ASCII | re.IGNORECASE)
_DURATION_UNITS = {"D": "day", "W": "week", "M": "month", "Y": "year"}
_MOMENTS = range(10**12, LATEST_MS + 1)
_SAME_BEGINNING = 60
_LEAD_LENGTH = 30
_MOST_COMPARED = 10_000
"""Texts that begin alike for so many characters are shown from so many characters before they differ."""

Value = Any  # Any: a JSON value of whatever field changed


class _Name(str):
    """A key that is a name, and is shown as it is written."""

    __slots__ = ()


def value_text(value: Value, zone: str = UTC, key: str = "") -> str | None:
    """Return a value as one line of at most ``SHOWN_LIMIT`` characters, its times in a zone; None for none.

    ``key`` is that of the value, if it has one: it says whether a number is a time.
    """
    if value is None:
        return None
    text = without_logins(_in_words(parse_json(value), 0, zone, key))
    return clean_line(text, limit=SHOWN_LIMIT, strips=not isinstance(value, str))


def change_texts(old: Value, new: Value, zone: str = UTC, key: str = "") -> tuple[str | None, str | None]:
    """Return a value before and after as text, its times in a zone: of structures and of long texts what differs."""
    if isinstance(old, str) and isinstance(new, str):
        old, new = map(without_logins, (old, new))
        same_count = sum(takewhile(bool, map(eq, old[:_MOST_COMPARED], new)))
        if same_count >= _SAME_BEGINNING and old != new:
            start = old.rfind(" ", 0, same_count - _LEAD_LENGTH) + 1 or same_count - _LEAD_LENGTH
            return value_text(f"… {old[start:]}"), value_text(f"… {new[start:]}")
    before, after = _values_that_differ(old, new)
    return value_text(before, zone, key), value_text(after, zone, key)


def _values_that_differ(old: Value, new: Value) -> tuple[Value, Value]:
    """Return what differs between two values, with the names of the objects that it is in."""
    if isinstance(old, dict) and isinstance(new, dict):
        return _parts_that_differ(old, new)
    if isinstance(old, list) and isinstance(new, list):
        return _members_that_differ(old, new)
    return old, new


def _parts_that_differ(old: Document, new: Document) -> tuple[Document, Document]:
    before: Document = {}
    after: Document = {}
    if (name := name_of(old)) != name_of(new):
        return old, new
    for key in (*old, *(key for key in new if key not in old)):
        if (was := old.get(key)) != (is_now := new.get(key)):
            before[key], after[key] = _values_that_differ(was, is_now)
    return (before, after) if name is None else ({_Name(name): before}, {_Name(name): after})


def _members_that_differ(old: list[Value], new: list[Value]) -> tuple[list[Value], list[Value]]:
    """Return the members of two lists that differ; all of short lists of texts and numbers."""
    by_old, by_new = ({name_of(one): one for one in many if isinstance(one, dict)} for many in (old, new))
    if None in by_old or None in by_new or len(by_old) != len(old) or len(by_new) != len(new):
        if max(len(old), len(new)) <= _MOST_MEMBERS:
            return old, new
        return [one for one in old if one not in new], [one for one in new if one not in old]
    changed_names = [name for name in by_old if name in by_new and by_old[name] != by_new[name]]
    pairs = [_values_that_differ(by_old[name], by_new[name]) for name in changed_names]
    removed = [by_old[name] for name in by_old if name not in by_new]
    added = [by_new[name] for name in by_new if name not in by_old]
    return [*removed, *(was for was, _ in pairs)], [*added, *(is_now for _, is_now in pairs)]


def lineage_text(edge: Document, verb: str) -> str:
    """Return an edge of the lineage: ``lineage added: a.raw.orders → a.shop.orders (2 columns, by load_orders)``.

    What happened to it comes first: two long names fill a headline.
    """
    ends = ARROW.join(_reference_text(edge.get(key)) for key in ("fromEntity", "toEntity"))
    details = edge.get("lineageDetails")
    details = details if isinstance(details, dict) else {}
    columns = details.get("columnsLineage")
    facts = [count_text(len(columns), "column")] if isinstance(columns, list) and columns else []
    facts += [f"by {_reference_text(details['pipeline'])}"] if isinstance(details.get("pipeline"), dict) else []
    text = f"lineage {verb}: {ends} ({', '.join(facts)})" if facts else f"lineage {verb}: {ends}"
    return clean_line(text, limit=SHOWN_LIMIT)


def _reference_text(reference: Value) -> str:
    names = reference if isinstance(reference, dict) else {}
    return str(names.get("fullyQualifiedName") or names.get("displayName") or names.get("name") or "something")


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
        kind = constraint_name(kind)
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


def are_short(old: Value, new: Value) -> bool:
    """Return whether values are read within a sentence: short texts, numbers, yes and no, different objects by name."""
    names = [name_of(value) if isinstance(value, dict) else value for value in (old, new)]
    is_one_object = isinstance(old, dict) and isinstance(new, dict) and names[0] == names[1]
    return not is_one_object and all(map(_is_short, names))


def _is_short(value: Value) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= INLINE_LIMIT and "\n" not in value
    return isinstance(value, int | float)


def _in_words(value: Value, depth: int, zone: str, key: str = "") -> str:
    match value:
        case bool():
            return _YES if value else _NO
        case int() if value in _MOMENTS and _MOMENT_KEY.search(key):
            return moment_text(value, zone)
        case str() if key == _RETENTION:
            return _duration_text(value)
        case str():
            return _link_text(value) if value.startswith("<#E::") else value
        case list() if depth > _DEEPEST:
            return "…"
        case list():
            texts = [_in_words(one, depth + 1, zone) for one in value[:_MOST_MEMBERS]]
            remainder = [f"… and {len(value) - _MOST_MEMBERS:,} more"] if len(value) > _MOST_MEMBERS else []
            return ", ".join((*filter(None, texts), *remainder)) or "none"
        case dict():
            return _object_text(value, depth, zone)
        case None:
            return ""
        case _:
            return str(value)


def _object_text(value: Document, depth: int, zone: str) -> str:
    """Return what people call an object, a column with its type; of one without a name, its parts in words.

    One that is called by a part, such as the relation of a term, is ``Customer (relation type synonym)``.
    """
    if (name := name_of(value)) is not None:
        kind = type_of(value)
        return f"{name} {kind}" if kind else name
    if depth >= _DEEPEST:
        return "…"
    leading = next((key for key in _LEADING if isinstance(value.get(key), dict)), None)
    parts = [
        (key if isinstance(key, _Name) else in_words(key), _in_words(part, depth + 1, zone, key))
        for key, part in value.items()
        if part is not None and key != leading
    ]
    texts = [f"{key} {text}" for key, text in parts if text]
    if leading is not None:
        name = _in_words(value[leading], depth + 1, zone).removeprefix(_CERTIFICATION)
        return " ".join((name, *([f"({', '.join(texts)})"] if texts else [])))
    is_whole = depth == 0 or any(isinstance(key, _Name) for key in value)
    return ("; ".join(texts) if is_whole else f"({', '.join(texts)})") if texts else "none"


def _duration_text(text: str) -> str:
    """Return a duration of ISO 8601 in words, ``90 days``; what is none, or has several parts or times, as it is."""
    duration = _DURATION.fullmatch(text)
    return text if duration is None else count_text(int(duration[1]), _DURATION_UNITS[duration[2].upper()])


def _link_text(text: str) -> str:
    """Return what a link to an entity points to: ``orders.email`` for a column of a table."""
    try:
        link = parse_link(text, "link")
    except InvalidInput:
        return text
    name = fqn.steps_of(link.fqn)[-1]
    return f"{name}.{link.steps[1]}" if len(link.steps) > 1 else name
