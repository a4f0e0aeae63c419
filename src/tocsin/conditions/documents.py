"""Accessors for an entity document's tags, owners, domains, service and tests, used by ``fields.py``.

The seeds' older keys (``owner``, ``domain``) are supported as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache

from tocsin.conditions.paths import parts, unquote
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES

TIER_PREFIX = "Tier."
_OBJECTS = frozenset({dict})
_NESTED = ("columns", "children", "tasks", "schemaFields")
LABEL_KEYS = ("tags", *_NESTED)
"""Keys of an asset or a member of it under which labels are: without any of them it carries none."""

_LABELLED = frozenset(LABEL_KEYS)
_TABLE_PARTS = 4
_LINK = re.compile(r"<#E::table::(?P<fqn>.+?)(?:::(?:columns|description|tags)\b.*)?>\Z")


def members(value: object) -> list[Document]:
    """Return the objects in ``value``: a list's, or the one it is."""
    if not value:
        return []
    if isinstance(value, list) and _OBJECTS.issuperset(map(type, value)):
        return value
    values = value if isinstance(value, list | tuple) else (value,)
    return [member for member in values if isinstance(member, dict)]


def tags(document: Document) -> Iterator[str]:
    """Yield the FQN of every tag of the asset and of its nested members."""
    if document.get("tags"):
        yield from tag_names(document["tags"])
    for key in _NESTED:
        if key in document:
            for member in members(document[key]):
                yield from tags(member) if not _LABELLED.isdisjoint(member) else ()


def tag_names(value: object) -> Iterator[str]:
    """Yield the FQN of every tag label in ``value``."""
    yield from texts(label.get("tagFQN") for label in members(value))


def references(document: Document, *keys: str, full: bool) -> list[str]:
    """Return the names that the references under ``keys`` point to; FQNs where there are any when ``full``."""
    if not any(map(document.get, keys)):
        return []
    reference_documents = [member for key in keys if document.get(key) for member in members(document[key])]
    first, second = ("fullyQualifiedName", "name") if full else ("name", "fullyQualifiedName")
    return [
        name
        for reference in reference_documents
        if (name := reference.get(first) or reference.get(second)) and isinstance(name, str)
    ]


def service(entity_type: str, fqn: str | None, document: Document) -> str | None:
    """Return the name of the service that the asset belongs to, or that it is."""
    if entity_type.endswith("Service"):
        return _text(document.get("name")) or _first_part(fqn)
    service_names = references(document, "service", full=False)
    if service_names:
        return service_names[0]
    return _first_part(fqn) if _is_under_service(entity_type) else None


def has_service(entity_type: str) -> bool:
    """Return whether assets of a type belong to a service, or are one."""
    row = ENTITY_TYPES[entity_type]
    return row.is_service or "service" in row.keys or _is_under_service(entity_type)


def tested_table(document: Document) -> str | None:
    """Return the FQN of the table that a test case tests."""
    link = _LINK.match(_text(document.get("entityLink")) or "")
    if link:
        return link["fqn"]
    fqn = _text(document.get("entityFQN"))
    return ".".join(parts(fqn)[:_TABLE_PARTS]) if fqn else None


def decode(value: object) -> object:
    """Return ``value``, or what it spells: upstream writes old and new values as JSON text."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def texts(values: Iterable[object]) -> Iterator[str]:
    """Yield those of ``values`` that are text and not empty."""
    return (value for value in values if isinstance(value, str) and value)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _first_part(fqn: str | None) -> str | None:
    if fqn and '"' not in fqn and not fqn.startswith("."):
        return fqn.partition(".")[0]
    cut = parts(fqn or "")
    return unquote(cut[0]) if cut else None


@cache
def _is_under_service(entity_type: str) -> bool:
    """Return whether the FQNs of this type begin with a service's name."""
    if entity_type == "testCase":
        return True
    row = ENTITY_TYPES.get(entity_type)
    while row is not None and row.places:
        row = ENTITY_TYPES[row.places[-1].types[0]] if row.places[-1].types[0] != row.name else None
    return row is not None and row.is_service
