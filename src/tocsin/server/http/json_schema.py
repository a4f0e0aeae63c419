"""Building blocks of JSON Schemas: objects, lists, pages, references, scalars; shapes with schemas and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tocsin.model.entity import Document

TEXT: Document = {"type": "string"}
FLAG: Document = {"type": "boolean"}
COUNT: Document = {"type": "integer", "minimum": 0}
WHOLE: Document = {"type": "integer"}
NUMBER: Document = {"type": "number"}
OPEN: Document = {"type": "object"}
ID: Document = {"type": "string", "format": "uuid"}
DAY: Document = {"type": "string", "format": "date"}
TIME: Document = {"type": "integer", "description": "Epoch milliseconds, UTC."}
URL: Document = {"type": "string", "format": "uri"}
ENTITY_TYPE: Document = {"type": "string", "examples": ["table"]}


def ref(name: str) -> Document:
    """Return the reference to a named schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def array(items: Document) -> Document:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def mapping(values: Document) -> Document:
    """Return the schema of an object whose keys are open and whose values are alike."""
    return {"type": "object", "additionalProperties": values}


def either(*words: str) -> Document:
    """Return the schema of one of these words."""
    return {"type": "string", "enum": list(words)}


def nullable(schema: Document) -> Document:
    """Return the schema of a value that may be null."""
    return {"anyOf": [schema, {"type": "null"}]}


def closed_object(properties: Mapping[str, Document], *, required: Sequence[str] = ()) -> Document:
    """Return the schema of an object with these keys and no others."""
    schema: Document = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return schema | ({"required": list(dict.fromkeys(required))} if required else {})


def whole(required: Mapping[str, Document], optional: Mapping[str, Document] | None = None) -> Document:
    """Return the schema of an object that has the first keys, may have the others, and has no more."""
    return closed_object({**required, **(optional or {})}, required=tuple(required))


def page(items: Document) -> Document:
    """Return the schema of one page of a list."""
    return whole({"data": array(items), "paging": ref("Paging")})


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
