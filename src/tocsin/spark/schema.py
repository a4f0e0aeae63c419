"""Schemas of the pipeline's DataFrames: explicit, never inferred; that of events follows from the table of fields.

Next: ``spark/sources.py`` delivers ``EVENTS``.
"""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from tocsin.conditions.fields import PLACE, STORED, Field
from tocsin.conditions.nodes import Kind

_TEXT = StringType()
_TEXTS = ArrayType(_TEXT, containsNull=False)


def _struct(*columns: tuple[str, DataType]) -> StructType:
    return StructType([StructField(name, kind, nullable=True) for name, kind in columns])


_TYPES = {
    Kind.TEXT: _TEXT,
    Kind.STATUS: _TEXT,
    Kind.TEXTS: _TEXTS,
    Kind.NUMBER: LongType(),
    Kind.BOOLEAN: BooleanType(),
}


def _type_of(field: Field) -> DataType:
    return DecimalType(10, field.scale) if field.scale else _TYPES[field.kind]


_OFFSET = "log_offset"

COLUMNS: dict[str, str] = {PLACE: _OFFSET, **{name: field.column for name, field in STORED.items()}}
"""The column of each field of ``conditions/fields.py`` that has one."""

EVENTS = _struct(
    (_OFFSET, LongType()),
    ("event_id", _TEXT),
    *((field.column, _type_of(field)) for field in STORED.values()),
    ("event", _TEXT),
)
"""One row per change event: the fields of ``conditions/fields.py``, and the event as JSON in ``event``.

What depends on earlier reports is null until ``spark/streaks.py`` has worked it out.
"""
