"""Table of data types by what they can hold: which change of a type loses nothing, and which may lose something.

A type is widened if every value of the old type is one of the new type; any other change narrows it, also one into
another family. A family lists its steps from the narrowest to the widest; types in one step hold the same values.

Source: Delta Lake "Type widening" and Apache Iceberg "Schema Evolution" (which promotions of numbers and dates lose
nothing, and that a decimal keeps its digits before and behind the point); IEEE 754 (the integers that a float holds
exactly); the documentation of MySQL and PostgreSQL (sizes of integers, texts and blobs); Elasticsearch "Field data
types" for search indexes. Where databases disagree about the size of a name, the one with the most steps counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import NamedTuple

Step = tuple[str, ...]

FAMILIES: dict[str, tuple[Step, ...]] = {
    "integers": (
        ("TINYINT", "BYTEINT", "BYTE"),
        ("SMALLINT", "SHORT"),
        ("INT", "INTEGER"),
        ("BIGINT", "LONG"),
        ("LARGEINT",),
    ),
    "unsigned integers": (("UINT",), ("BIGINT", "LONG")),
    "floats": (("HALF_FLOAT",), ("FLOAT",), ("DOUBLE",)),
    "floats that hold small integers": (("SMALLINT", "SHORT"), ("FLOAT",)),
    "floats that hold integers": (("INT", "INTEGER"), ("DOUBLE",)),
    "exact numbers": (("LARGEINT",), ("DECIMAL", "NUMERIC", "NUMBER")),
    "texts": (("CHAR",), ("VARCHAR",), ("TEXT", "STRING", "NTEXT"), ("MEDIUMTEXT",), ("CLOB",)),
    "enumerations": (("ENUM",), ("VARCHAR",)),
    "bytes": (("BINARY", "FIXED"), ("VARBINARY",), ("BLOB", "BYTES", "BYTEA"), ("MEDIUMBLOB",), ("LONGBLOB",)),
    "dates": (("DATE",), ("DATETIME", "TIMESTAMP")),
    "addresses": (("IPV4",), ("INET",)),
    "addresses of version 6": (("IPV6",), ("INET",)),
    "networks": (("CIDR",), ("INET",)),
    "keywords": (("CONSTANT_KEYWORD",), ("KEYWORD",), ("WILDCARD",)),
}
"""Families of types: steps from the narrowest to the widest; of two steps in one family, the later holds the earlier.

A type may be in several families; what one widens to, the other widens further.
"""

NOT_KNOWN = frozenset({"UNKNOWN", "NULL", "ERROR"})
"""Types that say that the type is unknown: from them, nothing is lost."""

_BOUNDED = frozenset({"CHAR", "VARCHAR", "BINARY", "VARBINARY", "FIXED"})
"""Types whose values have a greatest length."""

_EXACT = frozenset({"DECIMAL", "NUMERIC", "NUMBER"})
_DIGITS = {
    "TINYINT": 3,
    "BYTEINT": 3,
    "BYTE": 3,
    "SMALLINT": 5,
    "SHORT": 5,
    "INT": 10,
    "INTEGER": 10,
    "UINT": 10,
    "BIGINT": 19,
    "LONG": 19,
    "LARGEINT": 39,
}
"""Digits that an exact number needs before the point to hold every integer of a type."""


class ColumnType(NamedTuple):
    """A type with its sizes, as far as they are known, and the type of its elements."""

    name: str | None
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    element: str | None = None

    def __str__(self) -> str:
        name = self.name or "no type"
        if name in _BOUNDED and self.length is not None:
            return f"{name}({self.length})"
        if name in _EXACT and self.precision is not None:
            return f"{name}({self.precision})" if self.scale is None else f"{name}({self.precision},{self.scale})"
        return f"{name}<{self.element}>" if self.element else name


class TypeChange(Enum):
    """What a change of a type means for who reads it."""

    SAFE = "every value still fits"
    NARROWED = "some values of the old type may not fit the new one"
    CUT = "the same or a wider type, with a smaller length or fewer digits"


def type_change(before: ColumnType, after: ColumnType) -> TypeChange:
    """Return what the change from one type to another means; sizes that are not known lose nothing."""
    if not is_widening(before.name, after.name):
        return TypeChange.NARROWED
    if before.element and after.element and not is_widening(before.element, after.element):
        return TypeChange.NARROWED
    return TypeChange.CUT if _is_cut(before, after) else TypeChange.SAFE


def is_widening(before: str | None, after: str | None) -> bool:
    """Return whether every value of one type, by its name, is one of another; a type is as wide as itself."""
    return before == after or before is None or before in NOT_KNOWN or after in _types_holding(before)


def _is_cut(before: ColumnType, after: ColumnType) -> bool:
    if before.name in _EXACT or after.name in _EXACT:
        return _lacks_digits(before, after)
    is_limited = after.name == before.name or after.name in _BOUNDED
    return is_limited and (_is_less(after.length, before.length) or _has_fewer_digits(before, after))


def _lacks_digits(before: ColumnType, after: ColumnType) -> bool:
    """Return whether an exact number has fewer digits before or behind the point than what it has to hold."""
    if before.name not in _EXACT:
        return _is_less(_whole_digits(after), _DIGITS.get(before.name or ""))
    return _has_fewer_digits(before, after) or _is_less(_whole_digits(after), _whole_digits(before))


def _has_fewer_digits(before: ColumnType, after: ColumnType) -> bool:
    return _is_less(after.precision, before.precision) or _is_less(after.scale, before.scale)


def _whole_digits(exact: ColumnType) -> int | None:
    return None if exact.precision is None else exact.precision - (exact.scale or 0)


def _is_less(size: int | None, limit: int | None) -> bool:
    return size is not None and limit is not None and size < limit


@cache
def _types_holding(name: str) -> frozenset[str]:
    """Return the types that hold every value of the type ``name``."""
    wider: set[str] = set()
    unvisited = [name]
    while unvisited:
        for wider_name in _steps_from(unvisited.pop()):
            if wider_name not in wider:
                wider.add(wider_name)
                unvisited.append(wider_name)
    return frozenset(wider)


def _steps_from(name: str) -> Iterator[str]:
    for steps in FAMILIES.values():
        place = next((at for at, step in enumerate(steps) if name in step), None)
        if place is not None:
            yield from (one for step in steps[place : place + 2] for one in step)
