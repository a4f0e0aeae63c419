"""One change request, applied by a bot as its own write. Next: ``catalogue/ingest/writes.py``."""

from __future__ import annotations

from collections.abc import Callable

from tocsin.catalogue.ingest.changes import apply_changes, without_deleted
from tocsin.catalogue.ingest.requests import ChangeRequest
from tocsin.errors import Forbidden, InvalidInput
from tocsin.flow.capture import removal
from tocsin.flow.capture.authorization import check_create, check_delete, check_restore
from tocsin.flow.capture.upsert import draft_for, put_draft
from tocsin.flow.capture.write import Record
from tocsin.model.access import Operation
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Draft, Key, Stored, Written, not_found, soft_deleted

NOTHING = Written({}, None)
"""What a deletion comes to that has happened already."""

_TAKEN_OVER = ("owners", "domains", "experts", "reviewers")
_NOT_PERMITTED = "The policies of this bot do not permit this change."


def apply_request(record: Record, request: ChangeRequest, check_order: Callable[[str], None]) -> Written:
    """Apply a change request.

    An entity that the bot may not view is to it as if it did not exist. Where only the store says which entity an
    event is about, ``check_order`` is called with its FQN, and raises what is raised if it is older than another.

    Raises
    ------
    Forbidden : the bot lacks ``Ingest``, or the right to this change
    NotFound : there is no such entity to change
    Conflict : the entity is not as the event says it was
    InvalidInput : the entity or a change is malformed
    """
    if request.entity is not None:
        return _put(record, request, request.entity, check_order)
    assert request.fqn is not None, "checked by parse_request"  # noqa: S101
    entity = record.transaction.find(request.entity_type, Key.by_name(request.fqn))
    if entity is not None and not record.permit.may(Operation.VIEW_BASIC, entity.entity_type, entity.document):
        entity = None
    _check_ingest(record, request.entity_type, entity.document if entity else {})
    if request.change is not None:
        return _change(record, request, entity)
    if entity is None:
        if request.event_type is EventType.ENTITY_RESTORED:
            raise not_found(request.entity_type, Key.by_name(request.fqn))
        return NOTHING
    return _turn(record, request.event_type, entity)


def _put(record: Record, request: ChangeRequest, entity: Document, check_order: Callable[[str], None]) -> Written:
    draft = draft_for(record, request.entity_type, entity)
    if request.fqn is not None and draft.fqn != request.fqn:
        raise InvalidInput(
            f"the entity's name and parent make {draft.fqn}, not {request.fqn}",
            field=f"{request.place}entityFullyQualifiedName",
        )
    old = record.transaction.find(request.entity_type, Key.by_name(draft.fqn))
    if old is None or not record.permit.may(Operation.VIEW_BASIC, old.entity_type, old.document):
        _check_new(record, request.entity_type, draft, is_hidden=old is not None)
    else:
        _check_ingest(record, request.entity_type, old.document)
    if request.fqn is None:
        check_order(draft.fqn)
    return put_draft(record, request.entity_type, entity, draft, revise=without_deleted(request.change))


def _check_new(record: Record, entity_type: str, draft: Draft, *, is_hidden: bool) -> None:
    """Refuse to create an entity; one that is hidden from the bot is refused in the same words."""
    unowned = {key: value for key, value in draft.document.items() if key not in _TAKEN_OVER}
    _check_ingest(record, entity_type, unowned | {"fullyQualifiedName": draft.fqn})
    try:
        check_create(record.permit, ENTITY_TYPES[entity_type], draft.document, record.transaction)
    except Forbidden as refused:
        raise Forbidden(_NOT_PERMITTED) from refused
    if is_hidden:
        raise Forbidden(_NOT_PERMITTED)


def _check_ingest(record: Record, entity_type: str, document: Document) -> None:
    record.permit.check(entity_type, {Operation.INGEST}, document)


def _change(record: Record, request: ChangeRequest, entity: Stored | None) -> Written:
    assert request.change is not None and request.fqn is not None, "checked by its caller"  # noqa: S101
    if entity is None:
        raise not_found(request.entity_type, Key.by_name(request.fqn))
    if entity.is_deleted:
        raise soft_deleted(entity.entity_type, entity.fqn)
    return apply_changes(record, entity, request.change, f"{request.place}changeDescription")


def _turn(record: Record, event_type: EventType, entity: Stored) -> Written:
    """Delete or restore an entity, unless it is so already."""
    if event_type is EventType.ENTITY_RESTORED:
        if not entity.is_deleted:
            return Written(entity.document, None)
        check_restore(record.permit, entity, record.transaction)
        return removal.restore(record, entity)
    is_hard = event_type is EventType.ENTITY_DELETED
    if entity.is_deleted and not is_hard:
        return Written(entity.document, None)
    if entity.document.get("provider") == "system":
        raise Forbidden(f"The {entity.entity_type} {entity.fqn} is required by Tocsin: it can be changed, not deleted.")
    check_delete(record.permit, entity, hard=is_hard)
    return removal.delete(record, entity, recursive=not is_hard, hard=is_hard)
