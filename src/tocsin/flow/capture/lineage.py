"""What is written when lineage changes? The edge, and an event of the asset it leads to.

Source: seeds/002 "Data Lineage Tracking": the field change is called ``lineage`` and its value is the edge.
"""

from __future__ import annotations

from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.diff import is_same
from tocsin.flow.capture.ports import Hold, Key, Stored, Written
from tocsin.flow.capture.references import key_of, reference_to
from tocsin.flow.capture.write import Record
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES


def put_edge(record: Record, edge: Document) -> Written:
    """Add an edge, or replace its details; nothing if it stands there just so."""
    from_, to = _end(record, edge.get("fromEntity")), _end(record, edge.get("toEntity"))
    details = edge.get("lineageDetails") or {}
    if not isinstance(details, dict):
        raise InvalidInput("lineageDetails must be an object", field="lineageDetails")
    old = record.transaction.edge(from_.id, to.id)
    new = _edge(from_, to, details)
    if old is not None and is_same(old, details):
        return Written(new, None)
    record.transaction.put_edge(from_, to, details)
    if old is None:
        change = ChangeDescription(fields_added=(FieldChange(name="lineage", new_value=new),))
    else:
        update = FieldChange(name="lineage", old_value=_edge(from_, to, old), new_value=new)
        change = ChangeDescription(fields_updated=(update,))
    return Written(new, record.note(to, change).event, created=old is None)


def delete_edge(record: Record, from_entity: Document, to_entity: Document) -> Written:
    """Remove an edge.

    Raises
    ------
    NotFound : there is no such edge.
    """
    from_, to = _end(record, from_entity), _end(record, to_entity)
    details = record.transaction.edge(from_.id, to.id)
    if details is None:
        raise NotFound(f"no lineage edge from {from_.fqn} to {to.fqn}")
    record.transaction.delete_edge(from_.id, to.id)
    old = _edge(from_, to, details)
    change = ChangeDescription(fields_deleted=(FieldChange(name="lineage", old_value=old),))
    return Written(old, record.note(to, change).event)


def _end(record: Record, reference: object) -> Stored:
    entity_type = reference.get("type") if isinstance(reference, dict) else None
    if entity_type not in ENTITY_TYPES:
        raise InvalidInput("an edge needs fromEntity and toEntity, each with a type and an id or name")
    key: Key = key_of(reference)
    found = record.transaction.find(str(entity_type), key, Hold.SHARED)
    if found is None:
        raise NotFound(f"{entity_type} {key} not found")
    return found


def _edge(from_: Stored, to: Stored, details: Document) -> Document:
    edge = {"fromEntity": reference_to(from_), "toEntity": reference_to(to)}
    return edge | ({"lineageDetails": details} if details else {})
