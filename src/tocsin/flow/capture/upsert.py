"""Create and upsert of entities, shared by single and bulk requests.

Each function runs inside a transaction that its caller opened. Next: ``flow/capture/operations.py`` for single
requests, ``flow/capture/bulk.py`` for bulk requests.
"""

from __future__ import annotations

from dataclasses import replace

from tocsin.access.subject import ORGANIZATION
from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture import case_placement
from tocsin.flow.capture.labels import certified
from tocsin.flow.capture.lineage import connect
from tocsin.flow.capture.memberships import GIVEN, member_of
from tocsin.flow.capture.permit import check_change, check_create, check_restore
from tocsin.flow.capture.prepare import checked, complete, draft_of, merged
from tocsin.flow.capture.properties import forget_values
from tocsin.flow.capture.references import Resolver, key_of
from tocsin.flow.capture.shorthands import named
from tocsin.flow.capture.write import Record
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import MEMBER_LISTS
from tocsin.model.stored import Draft, Key, Stored, Written, missing
from tocsin.model.wording import with_article


def create(record: Record, entity_type: str, request: Document) -> Written:
    """Create an entity; ``Conflict`` if there is one by that name, soft-deleted or not."""
    draft = _draft(record, entity_type, request)
    if record.transaction.find(entity_type, Key.by_name(draft.fqn)) is not None:
        raise Conflict(f"{entity_type} {draft.fqn} already exists")
    return joined(record, entity_type, request, _created(record, entity_type, draft))


def ensure(record: Record, entity_type: str, request: Document) -> Written:
    """Create an entity unless there is one by that name, which stays unchanged."""
    draft = _draft(record, entity_type, request)
    old = record.transaction.find(entity_type, Key.by_name(draft.fqn))
    return _created(record, entity_type, draft) if old is None else Written(old.document, None)


def put(record: Record, entity_type: str, request: Document) -> Written:
    """Create an entity, or put what the request gives; a soft-deleted one is restored."""
    draft = _draft(record, entity_type, request)
    old = record.transaction.find(entity_type, Key.by_name(draft.fqn))
    if old is None:
        written = _created(record, entity_type, draft)
    else:
        record.visible(old)
        fields = merged(ENTITY_TYPES[entity_type], old.document, draft.document)
        written = change(record, record.resolver(), old, fields)
    return joined(record, entity_type, request, written)


def change(
    record: Record,
    resolver: Resolver,
    old: Stored,
    fields: Document,
    *,
    fqn: str | None = None,
    since: Stored | None = None,
) -> Written:
    """Bring an entity to these fields, their references made full; a soft-deleted one is restored.

    ``fqn`` and ``since`` are those of ``Record.change``.
    """
    live = {"deleted": False} if "deleted" in old.document else {}
    event_type = EventType.ENTITY_RESTORED if old.deleted else EventType.ENTITY_UPDATED
    kind = ENTITY_TYPES[old.entity_type]
    whole = complete(kind, resolver, certified(fields, record.at_ms), old.document)
    check_change(record.permit, old, whole, record.transaction)
    if old.entity_type == "type":
        forget_values(record, old, whole)
    if old.deleted:
        check_restore(record.permit, old, record.transaction)
    written = record.change(old, whole | live, event_type, fqn=fqn, since=since)
    connect(record, old.entity_type, written.document, old.document)
    return written


def belong(record: Record, entity: tuple[str, Key], field: str, member: Document, *, belongs: bool) -> Written:
    """Put ``member`` into a list of a live entity, or take it out; nothing if it is so already."""
    entity_type, key = entity
    if field not in kind_of(entity_type).keys:
        raise InvalidInput(f"{with_article(entity_type)} has no {field}", field=field)
    old = record.transaction.find(entity_type, key)
    if old is None or record.visible(old).deleted:
        raise missing(entity_type, key)
    identity, members = MEMBER_LISTS[field].identity, old.document.get(field) or []
    others = [one for one in members if identity(one) != identity(member)]
    if belongs == (len(others) < len(members)):
        return Written(old.document, None)
    fields = old.document | {field: [*others, member] if belongs else others}
    return change(record, record.resolver(), old, fields)


def kind_of(entity_type: str) -> EntityType:
    """Return the row of this type; ``InvalidInput`` if there is no such type."""
    if entity_type not in ENTITY_TYPES:
        raise InvalidInput(f"there is no type {entity_type}")
    return ENTITY_TYPES[entity_type]


def _draft(record: Record, entity_type: str, request: Document) -> Draft:
    kind = kind_of(entity_type)
    record.bounds.check_size(request)
    resolver = record.resolver()
    match entity_type:
        case "testCase":
            return case_placement.place_case(record, resolver, checked(kind, request))
        case "testSuite":
            return case_placement.place_suite(resolver, checked(kind, request))
        case _:
            return draft_of(resolver, kind, named(entity_type, request))


def _created(record: Record, entity_type: str, draft: Draft) -> Written:
    made_before = tuple(captured.event for captured in record.events)
    kind = ENTITY_TYPES[entity_type]
    given = certified(dict(kind.defaults) | draft.document, record.at_ms)
    fields = complete(kind, record.resolver(), given, {})
    check_create(record.permit, kind, fields, record.transaction)
    written = record.create(entity_type, draft.fqn, fields)
    place = len(record.events)
    connect(record, entity_type, written.document, {})
    made_after = tuple(captured.event for captured in record.events[place:])
    return replace(written, cascaded=(*made_before, *made_after)) if made_before or made_after else written


def joined(record: Record, entity_type: str, request: Document, written: Written) -> Written:
    """Make the members that the request names belong to the written entity, each as a change of its own.

    Child teams that are no longer named lose this parent.
    """
    if entity_type not in GIVEN:
        return written
    key, field = GIVEN[entity_type]
    named_there = request.get(key) or []
    if not isinstance(named_there, list):
        raise InvalidInput(f"{key} must be a list", field=key)
    place = len(record.events)
    if entity_type == "team" and request.get(key) is not None:
        named_there = _regrouped(record, written.document, named_there)
    for one in named_there:
        target = str(one.get("type", entity_type)) if isinstance(one, dict) else entity_type
        belong(record, (target, key_of(one)), field, member_of(entity_type, written.document), belongs=True)
    events = tuple(captured.event for captured in record.events[place:])
    return replace(written, cascaded=(*written.cascaded, *events)) if events else written


def _regrouped(record: Record, team: Document, wanted: list[Document]) -> list[Document]:
    """Remove this parent from unwanted child teams; return those that do not have it yet."""
    found = [record.transaction.reference("team", key_of(one)) for one in wanted]
    ids = {one["id"] for one in found if one}
    before = {one["id"] for one in record.transaction.teams.children(team["id"])}
    for one in sorted(before - ids) if team["name"] != ORGANIZATION else ():
        belong(record, ("team", Key.by_id(one)), "parents", member_of("team", team), belongs=False)
    return [one for one, reference in zip(wanted, found, strict=True) if not reference or reference["id"] not in before]
