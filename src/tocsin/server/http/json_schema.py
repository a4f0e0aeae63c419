"""Building blocks of JSON Schemas: objects, lists, pages, references and scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


def exact_object(required: Mapping[str, Document], optional: Mapping[str, Document] | None = None) -> Document:
    """Return the schema of an object that has the first keys, may have the others, and has no more."""
    return closed_object({**required, **(optional or {})}, required=tuple(required))


def page(items: Document) -> Document:
    """Return the schema of one page of a list."""
    return exact_object({"data": array(items), "paging": ref("Paging")})
