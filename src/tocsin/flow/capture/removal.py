"""What goes when an entity goes, and what comes back with it? Everything under it, each with its own event.

Children go before their container and come back after it. Next: ``flow/capture/operations.py``.
"""

from __future__ import annotations

from dataclasses import replace

from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.ports import Hold, Key, Stored, Written
from tocsin.flow.capture.write import Record
from tocsin.model.change import EventType
from tocsin.model.entity_types import ENTITY_TYPES

_UNDER_TABLE = ("testCase", "testSuite")


def delete(record: Record, target: Stored, *, recursive: bool, hard: bool) -> Written:
    """Delete an entity, softly or for good, and with ``recursive`` all that lies under it.

    Raises
    ------
    InvalidInput : something lies under it and ``recursive`` is not set.
    """
    under = _under(record, target)
    affected = under if hard else [entity for entity in under if not entity.deleted]
    if affected and not recursive:
        raise InvalidInput(f"{target.entity_type} {target.fqn} is not empty")
    for entity in reversed(affected):
        _delete_one(record, entity, hard=hard)
    written = _delete_one(record, target, hard=hard)
    return replace(written, cascaded=tuple(captured.event for captured in record.events[:-1]))


def restore(record: Record, target: Stored) -> Written:
    """Bring a soft-deleted entity back, with all that lies under it; nothing if it is not deleted."""
    if not target.deleted:
        return Written(target.document, None)
    written = _restore_one(record, target)
    below = [_restore_one(record, entity) for entity in _under(record, target) if entity.deleted]
    return replace(written, cascaded=tuple(back.event for back in below if back.event))


def find_to_delete(record: Record, entity_type: str, key: Key, *, hard: bool) -> Stored:
    """Return the entity, held for removal; one that is softly deleted can only be deleted for good."""
    found = record.transaction.find(entity_type, key, Hold.REMOVE)
    if found is None or (found.deleted and not hard):
        raise NotFound(f"{entity_type} {key} not found")
    return found


def _delete_one(record: Record, entity: Stored, *, hard: bool) -> Written:
    can_be_soft = "deleted" in entity.document
    if not hard and can_be_soft:
        return record.change(entity, entity.document | {"deleted": True}, EventType.ENTITY_SOFT_DELETED)
    for owned in record.transaction.referring(entity.id):
        _forget(record, owned, entity.id)
    return record.remove(entity)


def _forget(record: Record, entity: Stored, gone_id: str) -> None:
    """Take a reference to an entity that goes for good out of a document that names it."""
    fields = dict(entity.document)
    for key in ("owners", "domains"):
        if key in fields:
            fields[key] = [reference for reference in fields[key] if reference.get("id") != gone_id]
    record.change(entity, fields)


def _restore_one(record: Record, entity: Stored) -> Written:
    return record.change(entity, entity.document | {"deleted": False}, EventType.ENTITY_RESTORED)


def _under(record: Record, target: Stored) -> list[Stored]:
    types = _types_under(target.entity_type)
    return record.transaction.descendants(types, target.fqn) if types else []


def _types_under(entity_type: str) -> list[str]:
    """Return every type that may lie under one of this type."""
    found = [kind.name for kind in ENTITY_TYPES.values() if kind.parent == entity_type]
    further = [name for child in found for name in _types_under(child)]
    return [*found, *further, *(_UNDER_TABLE if entity_type == "table" else ())]
