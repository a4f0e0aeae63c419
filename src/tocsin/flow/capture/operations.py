"""Which writes are there? All of them, each one transaction: entity, version, change event and outbox row.

This is the only door to the catalogue's contents. Next: ``flow/eventlog``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

import uuid_utils

from tocsin.clock import Clock
from tocsin.errors import Conflict, InvalidInput, NotFound, PreconditionFailed
from tocsin.flow.capture import etag, json_patch, lineage, quality, removal, reports
from tocsin.flow.capture.ports import Catalogue, Collision, Hold, Key, Stored, Written
from tocsin.flow.capture.prepare import Draft, checked, complete, draft_of, merged, patched, whole_state
from tocsin.flow.capture.references import Resolver
from tocsin.flow.capture.write import Ids, Record
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES, EntityType
from tocsin.model.people import Actor

Work = Callable[[Record], Written]


def new_entity_id() -> str:
    """Return a fresh id for an entity."""
    return str(uuid.uuid4())


def new_event_id() -> str:
    """Return a fresh id for a change event: a UUIDv7, which sorts by time."""
    return str(uuid_utils.uuid7())


class Writes:
    """Every write on the catalogue.

    Each method is one transaction and returns what it came to; a write that changes nothing leaves nothing.
    ``key`` is ``Key.by_id(…)`` or ``Key.by_name(fqn)``.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        clock: Clock,
        new_id: Callable[[], str] = new_entity_id,
        *,
        event_id: Callable[[], str] = new_event_id,
    ) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._ids = Ids(new_id, event_id)

    def create(self, entity_type: str, request: Document, *, actor: Actor) -> Written:
        """Create an entity.

        Raises
        ------
        Conflict : there is one by that name, soft-deleted or not.
        NotFound : its parent, an owner or a domain does not exist.
        InvalidInput : the request is malformed; ``field`` says where.
        """

        def work(record: Record) -> Written:
            draft = _draft(record, entity_type, request)
            if record.transaction.find(entity_type, Key.by_name(draft.fqn)) is not None:
                raise Conflict(f"{entity_type} {draft.fqn} already exists")
            return _create(record, entity_type, draft)

        return self._write(work, actor)

    def ensure(self, entity_type: str, request: Document, *, actor: Actor, at_ms: int | None = None) -> Written:
        """Create an entity unless there is one by that name, which is then left as it is. Raises as ``upsert``."""

        def work(record: Record) -> Written:
            draft = _draft(record, entity_type, request)
            old = record.transaction.find(entity_type, Key.by_name(draft.fqn))
            return _create(record, entity_type, draft) if old is None else Written(old.document, None)

        return self._write(work, actor, at_ms)

    def upsert(self, entity_type: str, request: Document, *, actor: Actor) -> Written:
        """Create an entity, or put what the request gives; a soft-deleted one is restored.

        Keys that the request leaves out stay as they are, and so do tags and what was written about members
        that are still there; ``patch`` takes them away. Raises as ``create``, but never ``Conflict``.
        """

        def work(record: Record) -> Written:
            draft = _draft(record, entity_type, request)
            old = record.transaction.find(entity_type, Key.by_name(draft.fqn))
            if old is None:
                return _create(record, entity_type, draft)
            fields = merged(ENTITY_TYPES[entity_type], old.document, draft.document)
            return _replace(record, Resolver(record.transaction), old, fields)

        return self._write(work, actor)

    def patch(
        self,
        entity_type: str,
        key: Key,
        operations: Sequence[json_patch.Operation],
        *,
        actor: Actor,
        if_match: str | None = None,
    ) -> Written:
        """Apply a JSON Patch (RFC 6902).

        Raises
        ------
        NotFound : there is no such entity, or it is soft-deleted.
        PreconditionFailed : ``if_match``, an ``If-Match`` header, names another state than the present one.
        InvalidInput : the patch does not fit, or leaves something malformed.
        """

        def work(record: Record) -> Written:
            old = _live(record, entity_type, key)
            if if_match is not None and not etag.holds(if_match, old.document):
                raise PreconditionFailed()
            document = json_patch.apply(entity_type, old.document, operations)
            fields = patched(ENTITY_TYPES[entity_type], old, document)
            return _replace(record, Resolver(record.transaction), old, fields)

        return self._write(work, actor)

    def delete(
        self, entity_type: str, key: Key, *, actor: Actor, recursive: bool = False, hard: bool = False
    ) -> Written:
        """Delete an entity: softly (it can be restored) or ``hard`` (it is gone, its log and versions stay).

        Raises
        ------
        NotFound : there is no such entity.
        InvalidInput : something lies under it and ``recursive`` is not set.
        """

        def work(record: Record) -> Written:
            target = removal.find_to_delete(record, entity_type, key, hard=hard)
            return removal.delete(record, target, recursive=recursive, hard=hard)

        return self._write(work, actor)

    def restore(self, entity_type: str, entity_id: str, *, actor: Actor) -> Written:
        """Restore a soft-deleted entity and all under it; nothing if it is not deleted."""
        return self._write(
            lambda record: removal.restore(record, _found(record, entity_type, Key.by_id(entity_id))), actor
        )

    def follow(self, entity_type: str, entity_id: str, user_id: str, *, actor: Actor) -> Written:
        """Make a user a follower; nothing if they are one already.

        Raises
        ------
        NotFound : there is no such entity or user.
        InvalidInput : the user is deleted, or nobody can follow this type.
        """

        def work(record: Record) -> Written:
            _check_followable(entity_type)
            entity = _live(record, entity_type, Key.by_id(entity_id), Hold.SHARED)
            return reports.follow(record, entity, _user(record, user_id))

        return self._write(work, actor)

    def unfollow(self, entity_type: str, entity_id: str, user_id: str, *, actor: Actor) -> Written:
        """Make a user no follower; nothing if they are none. Raises as ``follow``."""

        def work(record: Record) -> Written:
            _check_followable(entity_type)
            entity = _live(record, entity_type, Key.by_id(entity_id), Hold.SHARED)
            return reports.unfollow(record, entity, _user(record, user_id, even_deleted=True))

        return self._write(work, actor)

    def add_test_result(self, fqn: str, result: Document, *, actor: Actor) -> Written:
        """Report a run of a test case; nothing if the same was reported before."""
        return self._write(
            lambda record: reports.add_test_result(record, _live(record, "testCase", Key.by_name(fqn)), result), actor
        )

    def add_pipeline_status(self, fqn: str, status: Document, *, actor: Actor) -> Written:
        """Report a run of a pipeline; nothing if the same was reported before."""
        return self._write(
            lambda record: reports.add_pipeline_status(record, _live(record, "pipeline", Key.by_name(fqn)), status),
            actor,
        )

    def put_edge(self, edge: Document, *, actor: Actor, at_ms: int | None = None) -> Written:
        """Add a lineage edge (``fromEntity``, ``toEntity``, ``lineageDetails``) or replace its details."""
        return self._write(lambda record: lineage.put_edge(record, edge), actor, at_ms)

    def delete_edge(
        self, from_entity: Document, to_entity: Document, *, actor: Actor, at_ms: int | None = None
    ) -> Written:
        """Remove the lineage edge between two references; ``NotFound`` if there is none."""
        return self._write(lambda record: lineage.delete_edge(record, from_entity, to_entity), actor, at_ms)

    def replace(self, entity_type: str, fqn: str, state: Document, at_ms: int, *, actor: Actor) -> Written:
        """Put a whole state, as a history has it: what it leaves out goes. Its parent need not exist."""

        def work(record: Record) -> Written:
            resolver = Resolver(record.transaction, strict=False)
            old = record.transaction.find(entity_type, Key.by_name(fqn))
            fields = whole_state(old, state)
            if old is None:
                return record.create(entity_type, fqn, complete(resolver, fields, {}))
            return _replace(record, resolver, old, fields)

        return self._write(work, actor, at_ms)

    def remove(self, entity_type: str, fqn: str, at_ms: int, *, actor: Actor) -> Written:
        """Erase an entity as a history does: for good, and only itself."""

        def work(record: Record) -> Written:
            return record.remove(removal.find_to_delete(record, entity_type, Key.by_name(fqn), hard=True))

        return self._write(work, actor, at_ms)

    def _write(self, work: Work, actor: Actor, at_ms: int | None = None) -> Written:
        try:
            return self._attempt(work, actor, at_ms)
        except Collision:  # whoever came first has committed by now, so a second look sees their write
            return self._attempt(work, actor, at_ms)

    def _attempt(self, work: Work, actor: Actor, at_ms: int | None) -> Written:
        with self._catalogue.transaction() as transaction:
            record = Record(transaction, actor, self._clock.now_ms() if at_ms is None else at_ms, self._ids)
            written = work(record)
            transaction.append(record.events)
        return written


def _draft(record: Record, entity_type: str, request: Document) -> Draft:
    kind = _kind(entity_type)
    resolver = Resolver(record.transaction)
    match entity_type:
        case "testCase":
            return quality.place_case(record, resolver, checked(kind, request))
        case "testSuite":
            return quality.place_suite(resolver, checked(kind, request))
        case _:
            return draft_of(resolver, kind, request)


def _create(record: Record, entity_type: str, draft: Draft) -> Written:
    made_before = tuple(captured.event for captured in record.events)
    fields = complete(Resolver(record.transaction), draft.document, {})
    return replace(record.create(entity_type, draft.fqn, fields), cascaded=made_before)


def _replace(record: Record, resolver: Resolver, old: Stored, fields: Document) -> Written:
    live = {"deleted": False} if "deleted" in old.document else {}
    event_type = EventType.ENTITY_RESTORED if old.deleted else EventType.ENTITY_UPDATED
    return record.change(old, complete(resolver, fields, old.document) | live, event_type)


def _kind(entity_type: str) -> EntityType:
    if entity_type not in ENTITY_TYPES:
        raise InvalidInput(f"there is no type {entity_type}")
    return ENTITY_TYPES[entity_type]


def _check_followable(entity_type: str) -> None:
    if not _kind(entity_type).is_asset:
        raise InvalidInput(f"a {entity_type} cannot be followed")


def _found(record: Record, entity_type: str, key: Key, hold: Hold = Hold.CHANGE) -> Stored:
    found = record.transaction.find(_kind(entity_type).name, key, hold)
    if found is None:
        raise NotFound(f"{entity_type} {key} not found")
    return found


def _live(record: Record, entity_type: str, key: Key, hold: Hold = Hold.CHANGE) -> Stored:
    found = _found(record, entity_type, key, hold)
    if found.deleted:
        raise NotFound(f"{entity_type} {key} is deleted")
    return found


def _user(record: Record, user_id: str, *, even_deleted: bool = False) -> Document:
    found = record.transaction.reference("user", Key.by_id(user_id))
    if found is None:
        raise NotFound(f"user {user_id} not found")
    if found.get("deleted") and not even_deleted:
        raise InvalidInput(f"user {user_id} is deleted")
    return found
