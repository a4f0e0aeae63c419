"""Values, IRIs and nodes that all linked data is made of.

Every node has an IRI that follows from ids and names, so that graphs of several answers can be put together. What
users wrote is in literals, and percent-encoded in IRIs; it is never a key or a prefix.
Next: ``entities.py``.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any
from urllib.parse import quote
from uuid import uuid5

import orjson

from tocsin.clock import LATEST_MS, to_datetime
from tocsin.model.entity import Document
from tocsin.model.notification import NAMESPACE

Node = dict[str, Any]  # Any: literals, nodes and lists of them
_UNWRITABLE = re.compile("[\ud800-\udfff\0]")
"""What no RDF string can hold: halves of characters, and NUL."""
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]+")
"""A step of an IRI that needs no encoding."""
_SMALLEST, _GREATEST = 1e-6, 1e21
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def iri_of(entity_id: str) -> str:
    """Return the IRI of an entity or event; of an id that is no UUID, one that follows from it."""
    return f"urn:uuid:{entity_id if _UUID.fullmatch(entity_id) else uuid5(NAMESPACE, clean(entity_id))}"


def agent_iri(user_id: str | None, user_name: str | None) -> str:
    """Return the IRI of a person or bot; without an id, one that follows from the name."""
    return iri_of(user_id if user_id and _UUID.fullmatch(user_id) else f"user {user_name or user_id}")


def version_iri(entity_iri: str, version: object) -> str:
    """Return the IRI of one version of an entity."""
    return f"{entity_iri}#v{version_text(version)}"


def part_iri(iri: str, *steps: str) -> str:
    """Return the IRI of a part of what ``iri`` names."""
    path = "/".join(step if _PLAIN.fullmatch(step) else quote(clean(step), safe="") for step in steps)
    return f"{iri}/{path}" if "#" in iri else f"{iri}#{path}"


def clean(text: str) -> str:
    """Return a text with U+FFFD for what no RDF string can hold."""
    return text if text.isascii() and "\0" not in text else _UNWRITABLE.sub("\ufffd", text)


def version_text(version: object) -> str:
    """Return a version as ``xsd:decimal`` has it: 0.2, never 2.0E-1."""
    return f"{version:.1f}" if isinstance(version, int | float) else clean(str(version))


def time_text(at_ms: int) -> str:
    """Return a time as ``xsd:dateTime``, UTC, to the millisecond."""
    return f"{to_datetime(at_ms - at_ms % 1000):%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03}Z"


def time_literal(value: object) -> Any:  # Any: a literal of JSON-LD
    """Return epoch milliseconds as an ``xsd:dateTime`` literal; what is no time, as ``literal_of`` does."""
    is_time = type(value) is int and 0 <= value <= LATEST_MS
    return typed_literal(time_text(value), "xsd:dateTime") if is_time else literal_of(value)  # type: ignore[arg-type]  # an int


def typed_literal(text: str, datatype: str) -> Node:
    """Return a literal of a datatype, which is given with its prefix."""
    return {"@type": datatype, "@value": text}


def literal_of(value: object) -> Any:  # Any: a literal of JSON-LD
    """Return a JSON value as a literal: null, lists, objects and extreme numbers as ``rdf:JSON``.

    Numbers are decimals, as JSON has them: processors write an ``xsd:double`` anew, some with fewer digits.
    """
    match value:
        case str():
            return clean(value)
        case bool():
            return typed_literal(str(value).lower(), "xsd:boolean")
        case int():
            return typed_literal(str(value), "xsd:integer")
        case float() if value == 0 or _SMALLEST <= abs(value) < _GREATEST:
            text = format(Decimal(repr(value)), "f")
            return typed_literal(text if "." in text else f"{text}.0", "xsd:decimal")
    return json_literal(value)


def json_literal(value: object) -> Node:
    """Return a JSON value as an ``rdf:JSON`` literal, its keys in order."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:  # halves of characters, or numbers of more than 64 bits
        text = json.dumps(value, sort_keys=True)
    return typed_literal(text, "rdf:JSON")


def change_nodes(iri: str, change: Document) -> Node:
    """Return the node of a change description, with a node for each changed field.

    An updated field without an old value had none: that is said as a JSON null.
    """
    node: Node = {"@id": iri, "@type": "om-event:ChangeDescription"}
    for kind in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted"):
        fields = change.get(kind) or ()
        if fields:
            is_update = kind == "fieldsUpdated"
            node[kind] = [_field(f"{iri}-{kind}-{at}", one, is_update=is_update) for at, one in enumerate(fields)]
    return node


def _field(iri: str, field: Document, *, is_update: bool) -> Node:
    node: Node = {"@id": iri, "@type": "om-event:FieldChange", "name": clean(str(field["name"]))}
    for key in ("oldValue", "newValue"):
        if key in field or is_update:
            node[key] = literal_of(field.get(key))
    return node
