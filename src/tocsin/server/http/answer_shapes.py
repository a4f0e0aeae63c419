"""Shapes of answers about records: every key once, with its JSON Schema and its value.

Next: ``server/openapi/operations.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from tocsin.model.entity import Document
from tocsin.server.http.json_schema import closed_object

T = TypeVar("T")
Shape = Mapping[str, tuple[Document, Callable[[T], object]]]
"""An answer about a record: of each key its schema and its value; a key with ``?`` is left out where that is None."""


def json_of(shape: Shape[T], record: T) -> Document:
    """Return the answer about a record."""
    document: Document = {}
    for key, (_, value_of) in shape.items():
        value = value_of(record)
        if not key.endswith("?"):
            document[key] = value
        elif value is not None:
            document[key[:-1]] = value
    return document


def schema_of(shape: Shape[T]) -> Document:
    """Return the schema of such answers."""
    schemas = {key.rstrip("?"): schema for key, (schema, _) in shape.items()}
    return closed_object(schemas, required=[key for key in shape if not key.endswith("?")])
