"""Columns of a table from the fields of a dataset's schema facet.

Next: ``sources/openlineage/datasets.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.model.entity import Document
from tocsin.sources.column_types import column_type_of
from tocsin.sources.openlineage.events import SchemaField


def columns_of(fields: Sequence[SchemaField]) -> list[Document]:
    """Return the columns of these fields, in their order; of two with one name the first."""
    columns = {field.name: field for field in reversed(fields)}
    return [_column_of(columns[name]) for name in dict.fromkeys(field.name for field in fields)]


def _column_of(field: SchemaField) -> Document:
    column: Document = {"name": field.name, **column_type_of(field.type, has_fields=bool(field.fields))}
    if field.description:
        column["description"] = field.description
    if field.fields:
        column["children"] = columns_of(field.fields)
    return column
