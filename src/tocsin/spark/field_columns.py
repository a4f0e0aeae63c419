"""Columns of the fields that conditions read, from the columns of ``schema.EVENTS``.

Closures of names and sets of changes are computed; all other fields are stored. Native functions only.
Next: ``spark/conditions.py``, ``spark/anchors.py``.
"""

from __future__ import annotations

from functools import reduce
from operator import and_

from pyspark.sql import Column
from pyspark.sql import functions as F  # the name everybody knows it by

from tocsin.conditions.changes import CHANGE_SETS, CHANGES, SEPARATOR
from tocsin.conditions.fields import CHANGED_TOGETHER, CLOSURES, DEPTHS, FIELD_CHANGED, FQN_PATH, is_taken, kind_of
from tocsin.conditions.nodes import Kind
from tocsin.conditions.paths import PART_PATTERN
from tocsin.spark.schema import COLUMNS


def is_stored(field: str) -> bool:
    """Return whether the values of ``field`` are in a column, and need not be computed."""
    return field in COLUMNS or is_taken(field)


def column_of(field: str) -> Column:
    """Return the column that stores ``field``, in its own type; null when the field is missing."""
    return F.col(COLUMNS[field])


def texts_of(field: str) -> Column:
    """Return the values of a field or closure as an array of texts as facts write them, empty when it is missing."""
    if is_taken(field):
        return F.col(field)
    if field == CHANGED_TOGETHER:
        return _changed_fields_text()
    if field in CLOSURES:
        return _closure(field)
    if field in CHANGE_SETS:
        return _change_parts_column(CHANGE_SETS[field])
    if kind_of(field) is Kind.TEXTS:
        return F.coalesce(column_of(field), no_texts())
    return F.array_compact(F.array(text_of(field)))


def text_of(field: str) -> Column:
    """Return the value of a field that is no set as a text as facts write it, null when it is missing."""
    match kind_of(field):
        case Kind.STATUS:
            return F.lower(column_of(field))
        case Kind.BOOLEAN:
            return column_of(field).cast("string")
        case _:
            return column_of(field)


def no_texts() -> Column:
    """Return the empty array of texts."""
    return F.array().cast("array<string>")


def _closure(name: str) -> Column:
    """Return a name and its ancestors, its suffixes, or its ancestor at a depth (``conditions/paths.py``)."""
    full_name = column_of(CLOSURES[name])
    if name in DEPTHS:
        return _ancestor(full_name, DEPTHS[name])
    dot = F.lit(".")
    has_odd_parts = F.contains(full_name, F.lit('"')) | F.contains(full_name, F.lit(".."))
    is_odd = has_odd_parts | F.startswith(full_name, dot) | F.endswith(full_name, dot)
    count = F.length(full_name) - F.length(F.replace(full_name, dot, F.lit(""))) + 1
    sign = 1 if name == FQN_PATH else -1

    def cut(n: Column) -> Column:
        return F.call_function("substring_index", full_name, dot, n * sign)

    plain = F.transform(F.sequence(F.lit(1), count), cut)
    closure = F.when(is_odd, _closure_of_parts(name, full_name)).otherwise(plain)
    return F.when(full_name != "", closure).otherwise(no_texts())


def _closure_of_parts(name: str, full_name: Column) -> Column:
    """Return the same for a name with quoted dots; several times as expensive."""
    parts = _parts(full_name)

    def cut(_: Column, at: Column) -> Column:
        kept_parts = F.slice(parts, 1, at + 1) if name == FQN_PATH else F.slice(parts, at + 1, F.size(parts))
        return F.array_join(kept_parts, ".")

    return F.array_distinct(F.concat(F.transform(parts, cut), F.array(full_name)))


def _ancestor(full_name: Column, depth: int) -> Column:
    """Return the plain and the full name of a name's ancestor at ``depth``; no name when it is not so deep."""

    def names(parts: Column) -> Column:
        part, quote = F.element_at(parts, depth), F.lit('"')
        is_quoted = (F.length(part) > 1) & F.startswith(part, quote) & F.endswith(part, quote)
        inside = F.replace(F.substring(part, F.lit(2), F.length(part) - 2), F.lit('""'), quote)
        plain = F.when(is_quoted, inside).otherwise(part)
        return F.array_distinct(F.array(plain, F.array_join(F.slice(parts, 1, depth), ".")))

    deep_enough = F.filter(F.array(_parts(full_name)), lambda parts: F.size(parts) >= depth)
    return F.flatten(F.transform(deep_enough, names))


def _parts(full_name: Column) -> Column:
    """Return the parts of a name, quotes kept."""
    return F.regexp_extract_all(full_name, F.lit(PART_PATTERN), F.lit(0))


def _changed_fields_text() -> Column:
    """Return the names of all changed fields as one text (``conditions/fields.py: together``)."""
    changed = F.filter(texts_of(FIELD_CHANGED), lambda path: (path != "") & ~F.contains(path, F.lit(".")))
    joined = F.array(F.array_join(F.array_sort(changed), SEPARATOR))
    return F.when(F.size(changed) > 0, joined).otherwise(no_texts())


def _change_parts_column(places: tuple[int, ...]) -> Column:
    """Return the changes of an event reduced to some of their parts (``conditions/changes.py``)."""

    def choose_parts(change: Column) -> list[Column]:
        return [F.split_part(change, F.lit(SEPARATOR), F.lit(at + 1)) for at in places]

    def is_whole(change: Column) -> Column:
        return reduce(and_, (part != "" for part in choose_parts(change)))

    stored = F.coalesce(column_of(CHANGES), no_texts())
    return F.transform(F.filter(stored, is_whole), lambda change: F.concat_ws(SEPARATOR, *choose_parts(change)))
