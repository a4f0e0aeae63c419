"""Create and upsert of entities, shared by single and bulk requests.

Each function runs inside a transaction that its caller opened. Next: ``flow/capture/operations.py`` for single
requests, ``flow/capture/bulk.py`` for bulk requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture.authorization import check_change, check_create, check_restore
from tocsin.flow.capture.bot_puts import merge_bot_put
from tocsin.flow.capture.prepare import complete, draft_of, merge_put
from tocsin.flow.capture.references import Resolver
from tocsin.flow.capture.write import Record
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES, types_below
from tocsin.model.list_identity import MEMBER_LISTS
from tocsin.model.phrases import with_article
from tocsin.model.stored import Draft, Key, Stored, Written, not_found


def create(record: Record, entity_type: str, request: Document) -> Written:
    """Create an entity.

    Raises
    ------
    Conflict : there is one by that name, soft-deleted or not
    """
    draft = draft_for(record, entity_type, request)
    if record.transaction.find(entity_type, Key.by_name(draft.fqn)) is not None:
        raise Conflict(f"{entity_type} {draft.fqn} already exists")
    return record.rules.members(record, entity_type, request, _create(record, entity_type, draft))


def ensure(record: Record, entity_type: str, request: Document) -> Written:
    """Create an entity unless there is one by that name, which stays unchanged."""
    draft = draft_for(record, entity_type, request)
    old = record.transaction.find(entity_type, Key.by_name(draft.fqn))
    return _create(record, entity_type, draft) if old is None else Written(old.document, None)


def put(record: Record, entity_type: str, request: Document, *, overrides: bool = False) -> Written:
    """Create an entity, or put what the request gives; a soft-deleted one is restored.

    A bot's PUT leaves what a person wrote last, unless it ``overrides``.
    """
    return put_draft(record, entity_type, request, draft_for(record, entity_type, request), overrides=overrides)


def put_draft(
    record: Record,
    entity_type: str,
    request: Document,
    draft: Draft,
    *,
    overrides: bool = False,
    revise: Callable[[Document, Document], Document] | None = None,
) -> Written:
    """Put what a request asks for as ``put`` does, its ``draft`` made; ``revise`` gets the old document and the new."""
    old = record.transaction.find(entity_type, Key.by_name(draft.fqn))
    if old is None:
        written = _create(record, entity_type, draft)
    else:
        record.visible(old)
        fields, is_report = merge_put(ENTITY_TYPES[entity_type], old.document, draft.document), record.actor.is_bot
        fields = revise(old.document, fields) if revise else fields
        if is_report:
            old, fields = merge_bot_put(record, old, fields, overrides=overrides)
        written = change(record, record.resolver(), old, fields, is_report=is_report)
    return record.rules.members(record, entity_type, request, written)


def change(
    record: Record,
    resolver: Resolver,
    old: Stored,
    fields: Document,
    *,
    fqn: str | None = None,
    since: Stored | None = None,
    is_report: bool = False,
) -> Written:
    """Bring an entity to these fields, their references made full; a soft-deleted one is restored.

    ``fqn`` and ``since`` are those of ``Record.change``, ``is_report`` is that of ``check_change``.
    """
    live = {"deleted": False} if "deleted" in old.document else {}
    event_type = EventType.ENTITY_RESTORED if old.is_deleted else EventType.ENTITY_UPDATED
    kind = ENTITY_TYPES[old.entity_type]
    complete_fields = complete(record, kind, resolver, fields, old.document)
    check_change(record.permit, old, complete_fields, record.transaction, is_report=is_report)
    record.rules.before_change(record, old, complete_fields)
    if old.is_deleted:
        check_restore(record.permit, old, record.transaction)
    result = record.change(old, complete_fields | live, event_type, fqn=fqn, since=since)
    record.rules.after_write(record, old.entity_type, result.document, old.document)
    if kind.is_service and result.document.get("serviceType") != old.document.get("serviceType"):
        _hand_down(record, result.document, old)
    return result


def _hand_down(record: Record, service: Document, old: Stored) -> None:
    """Give everything under a service its new type, which is no change of theirs."""
    for entity in record.transaction.descendants(types_below(old.entity_type), old.fqn):
        if entity.document.get("serviceType") == old.document.get("serviceType"):
            record.change(entity, entity.document | {"serviceType": service["serviceType"]})


def set_membership(record: Record, entity: tuple[str, Key], field: str, member: Document, *, belongs: bool) -> Written:
    """Put ``member`` into a list of a live entity, or take it out; nothing if it is so already.

    Raises
    ------
    InvalidInput : this type has no such list
    NotFound : there is no such live entity
    """
    entity_type, key = entity
    if field not in kind_of(entity_type).keys:
        raise InvalidInput(f"{with_article(entity_type)} has no {field}", field=field)
    old = record.transaction.find(entity_type, key)
    if old is None or record.visible(old).is_deleted:
        raise not_found(entity_type, key)
    identity, members = MEMBER_LISTS[field].identity, old.document.get(field) or []
    remaining = [one for one in members if identity(one) != identity(member)]
    if belongs == (len(remaining) < len(members)):
        return Written(old.document, None)
    fields = old.document | {field: [*remaining, member] if belongs else remaining}
    return change(record, record.resolver(), old, fields)


def kind_of(entity_type: str) -> EntityType:
    """Return the row of this type.

    Raises
    ------
    InvalidInput : there is no such type
    """
    if entity_type not in ENTITY_TYPES:
        raise InvalidInput(f"unknown type {entity_type}")
    return ENTITY_TYPES[entity_type]


def draft_for(record: Record, entity_type: str, request: Document) -> Draft:
    """Return the checked document and the FQN that a request to create or put asks for."""
    kind = kind_of(entity_type)
    record.bounds.check_size(request)
    resolver = record.resolver()
    return record.rules.draft(record, resolver, kind, request) or draft_of(resolver, kind, request)


def _create(record: Record, entity_type: str, draft: Draft) -> Written:
    made_before = tuple(captured.event for captured in record.events)
    kind = ENTITY_TYPES[entity_type]
    fields = complete(record, kind, record.resolver(), dict(kind.defaults) | draft.document, {})
    check_create(record.permit, kind, fields, record.transaction)
    written = record.create(entity_type, draft.fqn, fields)
    place = len(record.events)
    record.rules.after_write(record, entity_type, written.document, {})
    made_after = tuple(captured.event for captured in record.events[place:])
    return replace(written, cascaded=(*made_before, *made_after)) if made_before or made_after else written
