"""Conversion between documents and rows: JSON text in the store, dictionaries elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Any

import orjson
from sqlalchemy import Connection, select
from sqlalchemy import Row as ResultRow

from tocsin.model.entity import Document, version_from_tenths, version_to_tenths
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import BY_REFERENCE
from tocsin.model.stored import Stored
from tocsin.store.database import tables
from tocsin.store.database.keys import rows_by_key

_ENTITY = tables.entity.c
STORED = (
    _ENTITY.id,
    _ENTITY.entity_type,
    _ENTITY.fqn,
    _ENTITY.version_tenths,
    _ENTITY.document,
    _ENTITY.updated_by_id,
    _ENTITY.curated,
)
"""The columns of which ``entity_of`` makes an entity."""
REFERENCE = (_ENTITY.id, _ENTITY.entity_type, _ENTITY.name, _ENTITY.fqn, _ENTITY.deleted)
"""The columns of which ``reference_of`` makes a reference."""

Row = dict[str, Any]  # Any: a row's values are whatever its columns hold


def to_text(document: Document) -> str:
    """Return a document as it is stored."""
    return orjson.dumps(document).decode()


def from_text(text: str) -> Document:
    """Return a stored document."""
    document: Document = orjson.loads(text)
    return document


def tenths_of(version: Decimal | float | str) -> int:
    """Return a version as the store counts it, in tenths."""
    return version_to_tenths(round(Decimal(str(version)), 1))


def entity_of(*row: Any) -> Stored:  # Any: a column's value
    """Return an entity from the columns of its row."""
    entity_id, entity_type, fqn, version_tenths, document, updated_by_id, curated = row
    version = version_from_tenths(version_tenths)
    paths = None if curated is None else frozenset(orjson.loads(curated)) if curated else frozenset[str]()
    return Stored(entity_id, entity_type, fqn, version, from_text(document), updated_by_id, paths)


def curated_text(paths: frozenset[str] | None) -> str | None:
    """Return the paths of curated values as they are stored."""
    if not paths:
        return None if paths is None else ""
    return orjson.dumps(sorted(paths)).decode()


def entity_row(entity: Stored, text: str) -> Row:
    """Return the row of an entity; ``text`` is its stored document."""
    document = entity.document
    return {
        "id": entity.id,
        "entity_type": entity.entity_type,
        "fqn": entity.fqn,
        "name": document["name"],
        "parent_id": parent_of(entity),
        "version_tenths": version_to_tenths(entity.version),
        "updated_at_ms": document["updatedAt"],
        "updated_by": document["updatedBy"],
        "updated_by_id": entity.updated_by_id,
        "deleted": entity.is_deleted,
        "document": text,
        "curated": curated_text(entity.curated),
    }


def version_row(entity: Stored, text: str) -> Row:
    """Return the row of an entity's present version; ``text`` is its stored document."""
    return {
        "entity_id": entity.id,
        "version_tenths": version_to_tenths(entity.version),
        "updated_at_ms": entity.document["updatedAt"],
        "document": text,
        "reason": entity.reason,
    }


def parent_of(entity: Stored) -> str | None:
    """Return the id of the entity's parent, or of what it inherits from in its place, if its document names one."""
    if entity.entity_type in BY_REFERENCE:
        parent = next(iter(entity.document.get(BY_REFERENCE[entity.entity_type][0]) or ()), None)
    else:
        field = ENTITY_TYPES[entity.entity_type].parent_field(entity.document)
        parent = entity.document.get(field) if field else None
    return parent.get("id") if isinstance(parent, dict) else None


def reference_of(entity_id: str, entity_type: str, name: str, fqn: str, deleted: bool) -> Document:
    """Return the full reference to an entity from the columns of its row."""
    reference = {"id": entity_id, "type": entity_type, "name": name, "fullyQualifiedName": fqn}
    return reference | ({"deleted": True} if deleted else {})


def references_by_id(connection: Connection, ids: Collection[str]) -> dict[str, Document]:
    """Return the references to the entities of these ids, deleted ones included, by id."""
    return {row.id: reference_of(*row) for row in rows_by_key(connection, select(*REFERENCE), _ENTITY.id, ids)}


def references_by_key(key_rows: Iterable[ResultRow[*tuple[Any, ...]]]) -> dict[str, list[Document]]:
    """Return the references in rows of a key and the columns of ``REFERENCE``, by the key, in the order of the rows."""
    references: dict[str, list[Document]] = {}
    for key, *reference in key_rows:
        references.setdefault(key, []).append(reference_of(*reference))
    return references
