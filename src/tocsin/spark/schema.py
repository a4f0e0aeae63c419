"""Schemas of the pipeline's DataFrames: explicit, never inferred; that of events follows from the table of fields.

Next: ``spark/sources.py`` delivers ``EVENTS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
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

TEXT, NUMBER = StringType(), LongType()


def struct_of(*columns: tuple[str, DataType], nullable: bool = True) -> StructType:
    """Return the schema of these columns, all of which may be null, or none."""
    return StructType([StructField(name, kind, nullable) for name, kind in columns])


_TYPES = {
    Kind.TEXT: TEXT,
    Kind.STATUS: TEXT,
    Kind.TEXTS: ArrayType(TEXT, containsNull=False),
    Kind.NUMBER: NUMBER,
    Kind.BOOLEAN: BooleanType(),
}


def _type_of(field: Field) -> DataType:
    return DecimalType(10, field.scale) if field.scale else _TYPES[field.kind]


_OFFSET = "log_offset"

COLUMNS: dict[str, str] = {PLACE: _OFFSET, **{name: field.column for name, field in STORED.items()}}
"""The column of each field of ``conditions/fields.py`` that has one."""

EVENTS = struct_of(
    (_OFFSET, NUMBER),
    ("event_id", TEXT),
    *((field.column, _type_of(field)) for field in STORED.values()),
    ("event", TEXT),
)
"""One row per change event: the fields of ``conditions/fields.py``, and the event as JSON in ``event``.

What depends on earlier reports is null until ``spark/streaks.py`` has worked it out.
"""


def record_batch(tuples: Iterable[Sequence[Any]], columns: StructType) -> pa.RecordBatch:  # Any: a column's value
    """Return ``tuples``, in the order of ``columns``, as an Arrow batch: one row per tuple."""
    schema = to_arrow_schema(columns)
    values = list(zip(*tuples, strict=True)) or [()] * len(columns)
    arrays = [pa.array(column, field.type) for column, field in zip(values, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
