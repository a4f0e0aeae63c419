"""Renaming and moving of entities, with their descendants and all references by name.

In one transaction, the entity and its descendants each get a version and an event. What refers to one of them, or
carries it as a label, shows the new name without either. Next: ``flow/capture/operations.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture import nested_references
from tocsin.flow.capture.curation import relabelled_paths
from tocsin.flow.capture.normalize import check_required
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.prepare import draft_of, inherited_fields
from tocsin.flow.capture.upsert import change
from tocsin.flow.capture.write import Record
from tocsin.model import fqn as names
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES, types_below
from tocsin.model.labels import SOURCES, LabelNames, labels_of
from tocsin.model.labels import rename_labels as with_new_labels
from tocsin.model.list_identity import REFERENCE_LISTS, REFERENCES, target_of
from tocsin.model.phrases import with_article
from tocsin.model.stored import Draft, Key, Relabelling, Stored, Written

_SERVICE_TYPE = "serviceType"


@dataclass(frozen=True)
class _Renaming:
    """The new names: FQN by id, and by what a label says."""

    by_id: Mapping[str, str]
    by_label: LabelNames


def is_moved(old: Stored, document: Document) -> bool:
    """Return whether a document asks for another name or another parent than the entity has."""
    kind = ENTITY_TYPES[old.entity_type]
    return document.get("name") != old.document["name"] or bool(_moved_keys(kind, old.document, document))


def place_of(record: Record, old: Stored, document: Document) -> Draft:
    """Return the parent and name that a changed document asks for.

    Raises
    ------
    InvalidInput : this type keeps its name or its parent, or the new parent is a descendant of the entity.
    NotFound : the new parent does not exist.
    Conflict : there is one by that name.
    """
    kind = ENTITY_TYPES[old.entity_type]
    _check_allowed(kind, old.document, document)
    check_required(kind, document)
    draft = draft_of(record.resolver(), kind, document)
    if draft.fqn.startswith(f"{old.fqn}."):
        raise InvalidInput(f"{old.fqn} cannot be moved below itself", field=kind.parent_field(document))
    if draft.fqn != old.fqn and record.transaction.find(kind.name, Key.by_name(draft.fqn)) is not None:
        raise Conflict(f"{kind.name} {draft.fqn} already exists")
    return draft


def put(record: Record, old: Stored, fields: Document, *, since: Stored | None = None) -> Written:
    """Bring an entity to these fields, at the place that they ask for. Raises as ``place_of``.

    ``since`` is the state from which the present version led here, if this change is to be part of it.
    """
    if is_moved(old, fields):
        draft = place_of(record, old, fields)
        if draft.fqn != old.fqn:
            return rename(record, old, draft)
    kind = ENTITY_TYPES[old.entity_type]
    place = {key: old.document[key] for key in kind.upward if key in old.document}
    fields = _with_service_type(record, old, fields | place)
    return change(record, record.resolver(), old, fields, since=since)


def _with_service_type(record: Record, old: Stored, fields: Document) -> Document:
    """Return the fields with the type of the service that an entity is under, whatever a request says."""
    kind, service_type = ENTITY_TYPES[old.entity_type], old.document.get(_SERVICE_TYPE)
    field = kind.parent_field(old.document)
    if _SERVICE_TYPE not in kind.keys or kind.is_service or field is None:
        return fields
    if service_type is not None and fields.get(_SERVICE_TYPE) == service_type:
        return fields
    reference = old.document[field]
    parent = record.transaction.find(reference["type"], Key.by_id(reference["id"]), Hold.SHARED)
    from_parent = inherited_fields(kind, field, parent) if parent else {}
    other_fields = {key: value for key, value in fields.items() if key != _SERVICE_TYPE}
    return other_fields | {key: from_parent[key] for key in (_SERVICE_TYPE,) if key in from_parent}


def rename(record: Record, old: Stored, draft: Draft) -> Written:
    """Move an entity with its descendants, and update everything that names one of them."""
    under, since = record.transaction.descendants(types_below(old.entity_type), old.fqn), len(record.events)
    entities = [old, *under]
    renaming = _renaming(entities, old.fqn, draft.fqn)
    carriers = _relabel(record, old, renaming.by_label)
    before = carriers.get(old.id, old)
    result = change(record, record.resolver(), before, _with_new_names(draft.document, renaming), fqn=draft.fqn)
    after = {old.id: replace(old, fqn=draft.fqn, document=result.document)}
    for entity in (carriers.get(one.id, one) for one in under):
        fqn = renaming.by_id[entity.id]
        descendant_write = record.change(
            entity, _with_new_names(entity.document | _upward(entity, after), renaming), fqn=fqn
        )
        after[entity.id] = replace(entity, fqn=fqn, document=descendant_write.document)
    _rename_referrers(record, renaming)
    record.rules.after_renaming(record, [(entity, renaming.by_id[entity.id]) for entity in entities])
    return record.join(result, {entity.id for entity in under}, since=since)


def _check_allowed(kind: EntityType, old: Document, new: Document) -> None:
    if new.get("name") != old["name"] and not kind.is_renamable:
        raise InvalidInput(f"the name of {with_article(kind.name)} cannot be changed", field="name")
    moved = _moved_keys(kind, old, new)
    if moved and not kind.is_movable:
        raise InvalidInput(f"{moved[0]} of {with_article(kind.name)} cannot be changed", field=moved[0])
    above = kind.parent_field(new)
    if moved and above not in moved and above == kind.parent_field(old):
        raise InvalidInput(f"{moved[0]} is derived from {above}; change or remove {above} instead", field=moved[0])


def _moved_keys(kind: EntityType, old: Document, new: Document) -> list[str]:
    return [key for key in (*kind.upward, *kind.fixed) if _target(old.get(key)) != _target(new.get(key))]


def _target(reference: object) -> str | None:
    if isinstance(reference, dict):
        return target_of(reference)
    return str(reference) if reference else None


def _renaming(affected: list[Stored], old_fqn: str, new_fqn: str) -> _Renaming:
    by_id = {entity.id: new_fqn + entity.fqn.removeprefix(old_fqn) for entity in affected}
    labels = {
        (SOURCES[entity.entity_type], entity.fqn): by_id[entity.id]
        for entity in affected
        if entity.entity_type in SOURCES
    }
    return _Renaming(by_id, labels)


def _upward(entity: Stored, after: Mapping[str, Stored]) -> Document:
    """Return an entity's references to its ancestors, from its parent's current state."""
    kind = ENTITY_TYPES[entity.entity_type]
    field = kind.parent_field(entity.document)
    parent = after.get(entity.document[field].get("id")) if field else None
    return inherited_fields(kind, field, parent) if field and parent else {}


def _relabel(record: Record, root: Stored, new_names: LabelNames) -> dict[str, Stored]:
    """Give every label of these its new name, without a version; return what carries one, by id, as it is now."""
    carriers: dict[str, Stored] = {}
    for entity in (
        record.transaction.entities_referring_to([], sorted({tag for _, tag in new_names})) if new_names else ()
    ):
        labels = {(label.get("source", ""), label["tagFQN"]) for label in labels_of(entity.document)}
        names = {label: new_names[label] for label in labels & new_names.keys()}
        if not names:
            continue
        document = with_new_labels(entity.document, names)
        record.permit.check_kept(entity.entity_type, entity.document, document)
        curated_paths = relabelled_paths(entity.entity_type, entity.document, entity.curated, names)
        carriers[entity.id] = replace(entity, document=document, curated=curated_paths)
        record.transaction.relabel(entity, carriers[entity.id], Relabelling(root.id, record.at_ms, names))
    return carriers


def _rename_referrers(record: Record, renaming: _Renaming) -> None:
    for entity in record.transaction.entities_referring_to(list(renaming.by_id), []):
        document = _with_new_names(entity.document, renaming)
        if entity.id in renaming.by_id or document == entity.document:
            continue
        record.permit.check_kept(entity.entity_type, entity.document, document)
        record.transaction.update(entity, replace(entity, document=document))


def _with_new_names(document: Document, renaming: _Renaming) -> Document:
    """Return a document that calls everything by its new name."""
    renamed = with_new_labels(document, renaming.by_label) if renaming.by_label else dict(document)
    for key in REFERENCE_LISTS.keys() & renamed.keys():
        renamed[key] = [_renamed_reference(reference, renaming) for reference in renamed[key] or ()]
    for key in REFERENCES.keys() & renamed.keys():
        renamed[key] = _renamed_reference(renamed[key], renaming)
    return renamed | nested_references.renamed_references(renamed, renaming.by_id)


def _renamed_reference(reference: object, renaming: _Renaming) -> object:
    fqn = renaming.by_id.get(reference.get("id", "")) if isinstance(reference, dict) else None
    if fqn is None or not isinstance(reference, dict):
        return reference
    name = {"name": names.split(fqn)[-1]} if "name" in reference else {}
    return reference | {"fullyQualifiedName": fqn} | name
