"""Deletion and restoration of an entity and its descendants, each with its own event.

Descendants are deleted before their container and restored after it. Next: ``flow/capture/operations.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tocsin.access.visibility_parents import gone_kinds
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture import nested_references
from tocsin.flow.capture.authorization import check_delete, check_restore, check_under
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.references import reference_to
from tocsin.flow.capture.write import Record
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.change_request import StandingRequest
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES, types_below
from tocsin.model.labels import SOURCES, replace_labels
from tocsin.model.list_identity import REFERENCE_LISTS, REFERENCES
from tocsin.model.stored import Key, Stored, Written, not_found, soft_deleted

_UNDER_TABLE = ("testCase", "testSuite")
_NEEDED = ("basicEntityReference", *nested_references.CONTAINS.values())
"""Keys of tests and their suites for what they cannot be without, besides a parent."""
_DELETION = "deletion"
"""Attachment of what was soft-deleted: the id of the deletion that included it. Older releases attached none."""


def delete(record: Record, target: Stored, *, recursive: bool, hard: bool) -> Written:
    """Delete an entity, softly or for good, and with ``recursive`` all its descendants.

    Raises
    ------
    InvalidInput : it has descendants and ``recursive`` is not set.
    Forbidden : it has descendants that the actor may not delete.
    Conflict : a rule of its type keeps it.
    """
    record.rules.check_removal(record, target)
    is_for_good, since = hard or not _can_be_soft(target), len(record.events)
    descendants = _descendants_of(record, target) if is_for_good else list_softly_deleted_below(record, target)
    if descendants and not recursive:
        raise InvalidInput(
            f"{target.entity_type} {target.fqn} is not empty; recursive=true deletes everything below it as well"
        )
    check_under(descendants, "delete", lambda one: check_delete(record.permit, one, hard=hard))
    if is_for_good:
        record.transaction.remember_relations([entity.id for entity in (*descendants, target)])
        _forget(record, [*descendants, target])
    also_gone = frozenset(entity.id for entity in (target, *descendants))
    record.read_ids = record.transaction.read_by_others(
        [one.id for one in (target, *descendants) if not one.is_deleted]
    )
    record.standing_requests = _requests_about(record, target, descendants)
    soft_ids = [] if hard else [one.id for one in (*descendants, target) if _can_be_soft(one)]
    record.transaction.attachments.put_all(soft_ids, _DELETION, {"id": record.ids.event()})
    entities = [*reversed(descendants), target]
    entities_for_good = [one for one in entities if hard or not _can_be_soft(one)]
    record.rules.before_removals(record, entities_for_good, target)
    for entity in entities[:-1]:
        _delete_one(record, entity, also_gone, hard=hard)
    result = _delete_one(record, target, also_gone, hard=hard)
    record.transaction.erase(entities_for_good)
    return record.join(result, {entity.id for entity in descendants}, since=since)


def _requests_about(record: Record, target: Stored, below: Sequence[Stored]) -> dict[str, list[StandingRequest]]:
    """Return the change requests about what is deleted: a removal of the whole announces that of what is below it."""
    requests_by_asset = record.transaction.change_requests.standing([one.id for one in (target, *below)])
    of_all = [one for one in requests_by_asset.get(target.id, ()) if one.request.column_path is None]
    return {target.id: requests_by_asset.get(target.id, [])} | {
        entity.id: [*of_all, *requests_by_asset.get(entity.id, ())] for entity in below
    }


def list_softly_deleted_below(record: Record, target: Stored) -> list[Stored]:
    """Return what a soft deletion of an entity includes; each has an event, before that of the entity."""
    return [one for one in _descendants_of(record, target) if not one.is_deleted and _can_be_soft(one)]


def forget_portion(record: Record, target: Stored, after: str, *, only_check: bool) -> str | None:
    """Take a person who goes for good out of a portion of what names them, one event each.

    Return the id after which the next portion begins; None when there is nothing left that the deletion itself cannot
    do in one transaction. With ``only_check`` nothing is written: a deletion that is refused must not have begun.

    Raises
    ------
    Forbidden : the actor may not change one of them
    """
    portion = record.bounds.portion
    referrers = record.transaction.entities_naming(target.id, after=after, limit=portion + 1)
    is_last = len(referrers) <= portion
    if is_last and not (only_check and after):
        return None
    for entity in referrers[:portion]:
        if record.rules.goes_with(entity, {target.id}):
            if not only_check:
                delete(record, entity, recursive=False, hard=True)
            continue
        document = _document_without(entity.document, {target.id}, set())
        record.permit.check_kept(entity.entity_type, entity.document, document)
        if not only_check and entity.id != target.id:
            record.change(entity, document, beside=_unfollow(record, entity, [reference_to(target)]))
    return None if is_last else referrers[portion - 1].id


def restore(record: Record, target: Stored) -> Written:
    """Restore a soft-deleted entity with the descendants deleted with it.

    Raises
    ------
    NotFound : it is not deleted
    InvalidInput : its parent is deleted, too, and must be restored first.
    """
    if not target.is_deleted:
        raise NotFound(f"{target.entity_type} {target.fqn} is not deleted")
    check_above(record, target)
    since = len(record.events)
    written = _restore_one(record, target)
    return record.join(written, {event.entity_id for event in restore_under(record, target)}, since=since)


def restore_under(record: Record, target: Stored) -> tuple[ChangeEvent, ...]:
    """Restore the descendants of an entity that its soft deletion included; return their events.

    One that lacks something else that is soft-deleted, as a test its definition, comes back with that.
    """
    below = [one for one in _descendants_of(record, target) if one.is_deleted]
    deletions = record.transaction.attachments.get_all([target.id, *(one.id for one in below)], _DELETION)
    descendants = [one for one in below if deletions.get(one.id) == deletions.get(target.id)]
    present = {target.id, *(one.id for one in descendants)}
    lacking = {one.id: lacked for one in descendants if (lacked := _gone_above(record, one, present))}
    back = [one for one in descendants if one.id not in lacking]
    check_under(back, "restore", lambda one: check_restore(record.permit, one, record.transaction))
    for entity_id, lacked in lacking.items():
        if other_deletion := _deletion_of(record, lacked):
            record.transaction.attachments.put(entity_id, _DELETION, other_deletion)
    restored = [_restore_one(record, entity) for entity in back]
    return tuple(one.event for one in restored if one.event)


def find_to_delete(record: Record, entity_type: str, key: Key, *, hard: bool) -> Stored:
    """Return the entity, held for removal; one that is softly deleted can only be deleted for good.

    Raises
    ------
    NotFound : there is no such entity, or it is soft-deleted already
    """
    entity = record.transaction.find(entity_type, key, Hold.REMOVE)
    if entity is None or (entity.is_deleted and not hard):
        raise not_found(entity_type, key)
    return entity


def _delete_one(record: Record, entity: Stored, also_gone: frozenset[str], *, hard: bool) -> Written:
    if not hard and _can_be_soft(entity):
        return record.change(entity, entity.document | {"deleted": True}, EventType.ENTITY_SOFT_DELETED)
    record.rules.before_removal(record, entity, also_gone)
    return record.note_removal(entity)


def _deletion_of(record: Record, entity: Stored) -> Document | None:
    return record.transaction.attachments.get(entity.id, _DELETION)


def check_above(record: Record, target: Stored) -> None:
    """Refuse to restore an entity before what it cannot be without.

    Raises
    ------
    InvalidInput : its parent, or the like, is soft-deleted
    """
    if required := _gone_above(record, target):
        field = ENTITY_TYPES[target.entity_type].parent_field(target.document)
        raise soft_deleted(required.entity_type, required.fqn, field=field)


def _gone_above(record: Record, entity: Stored, present: Collection[str] = ()) -> Stored | None:
    """Return what the entity cannot be without and is soft-deleted; ``present`` are ids of what is known not to be."""
    keys = (ENTITY_TYPES[entity.entity_type].parent_field(entity.document), *_NEEDED)
    for above in filter(None, (entity.document.get(key) for key in keys if key)):
        if "id" in above and above["id"] not in present:
            required = record.transaction.find(above["type"], Key.by_id(above["id"]), Hold.SHARED)
            if required is not None and required.is_deleted:
                return required
    return None


def _can_be_soft(entity: Stored) -> bool:
    return "deleted" in entity.document


def _forget(record: Record, entities: list[Stored]) -> None:
    """Take what names entities that go for good out of all that stays: one event each, however much it named."""
    ids = {entity.id for entity in entities}
    labels = {(SOURCES[entity.entity_type], entity.fqn) for entity in entities if entity.entity_type in SOURCES}
    users = {one.id: reference_to(one) for one in entities if one.entity_type == "user"}
    followed_entities = record.transaction.followed_entities(sorted(users)) if users else []
    followers = {entity.id: [users[one] for one in found] for entity, found in followed_entities}
    referring = record.transaction.entities_referring_to(sorted(ids), sorted({tag for _, tag in labels}))
    affected_by_id = {one.id: one for one in (*referring, *(entity for entity, _ in followed_entities))}
    for entity in sorted(affected_by_id.values(), key=lambda one: one.fqn):
        if record.rules.goes_with(entity, ids):
            delete(record, entity, recursive=False, hard=True)
        elif entity.id not in ids:
            document = _document_without(entity.document, ids, labels)
            record.permit.check_kept(entity.entity_type, entity.document, document)
            _note_gone_uses(record, entity, ids)
            record.change(entity, document, beside=_unfollow(record, entity, followers.get(entity.id, [])))


def _unfollow(record: Record, entity: Stored, users: list[Document]) -> ChangeDescription | None:
    """Make users who go for good no followers; return the change, None if there are none."""
    unfollowed = [user for user in users if record.transaction.unfollow(entity, user["id"])]
    return (
        ChangeDescription(fields_deleted=(FieldChange(name="followers", old_value=unfollowed),)) if unfollowed else None
    )


def _note_gone_uses(record: Record, query: Stored, ids: set[str]) -> None:
    """Attach to a query the types of what it was used in and goes for good: it is seen by no more people for that."""
    kinds = {used_type: kind for kind, used_type in gone_kinds(query.entity_type).items()}
    for use in (query.document.get("queryUsedIn") or ()) if kinds else ():
        if use.get("id") in ids and use.get("type") in kinds:
            record.transaction.attachments.put(query.id, kinds[use["type"]], {"gone": True})


def _document_without(document: Document, ids: set[str], labels: set[tuple[str, str]]) -> Document:
    def stays(label: Document) -> Document | None:
        return None if (label.get("source"), label["tagFQN"]) in labels else label

    fields = dict(replace_labels(document, stays)) if labels else dict(document)
    for key in REFERENCE_LISTS.keys() & fields.keys():
        fields[key] = [reference for reference in fields[key] or () if reference.get("id") not in ids]
    for key in REFERENCES.keys() & fields.keys():
        if fields[key].get("id") in ids:
            del fields[key]
    for key, value in nested_references.changes_without(document, ids).items():
        fields[key] = value
        if not value:
            del fields[key]
    return fields


def _restore_one(record: Record, entity: Stored) -> Written:
    return record.change(entity, entity.document | {"deleted": False}, EventType.ENTITY_RESTORED)


def _descendants_of(record: Record, target: Stored) -> list[Stored]:
    types = types_below(target.entity_type)
    if "table" in (target.entity_type, *types):
        types += _UNDER_TABLE
    if key := nested_references.CONTAINS.get(target.entity_type):
        return [one for one in record.transaction.entities_referring_to([target.id], []) if _names(one, key, target)]
    descendants = record.transaction.descendants(types, target.fqn) if types else []
    return [one for one in descendants if _is_below(one, {target.entity_type, *types})]


def _is_below(entity: Stored, types: set[str]) -> bool:
    """Return whether its parent is of these types: services of several types may have one name."""
    field = ENTITY_TYPES[entity.entity_type].parent_field(entity.document)
    return field is None or entity.document[field].get("type") in types


def _names(case: Stored, key: str, target: Stored) -> bool:
    reference = case.document.get(key)
    return isinstance(reference, dict) and reference.get("id") == target.id
