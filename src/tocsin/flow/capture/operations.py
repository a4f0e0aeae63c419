"""Write operations on the catalogue, each in one transaction: entity, version and change event.

All writes to the catalogue go through here. If consolidation is enabled, PATCHes of one entity by one person, each
within some minutes of the previous one, share a version, and an edit that reverts all others removes it; every request
still makes its own event. Edits with a reason are never merged. Source: OpenMetadata's ``SessionConsolidationPolicy``.
Next: ``flow/eventlog``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from decimal import Decimal
from typing import Self, TypeVar

import uuid_utils

from tocsin.clock import Clock
from tocsin.errors import NotFound, PreconditionFailed, Unavailable
from tocsin.flow.capture import etag, json_patch, removal, renames
from tocsin.flow.capture.authorization import Permits, check_delete, check_restore, in_place, permit_everything
from tocsin.flow.capture.bounds import BOUNDS, Bounds
from tocsin.flow.capture.ports import Catalogue, Collision, Hold
from tocsin.flow.capture.prepare import complete, patched_fields, whole_state
from tocsin.flow.capture.redaction import Redaction, hidden_references
from tocsin.flow.capture.rollback import RolledBack, roll_back
from tocsin.flow.capture.upsert import change, create, ensure, kind_of, put
from tocsin.flow.capture.write import ChangeOrigin, Ids, Record, Rules
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import MEMBERSHIPS, SERVER_KEPT
from tocsin.model.people import Actor
from tocsin.model.stored import Key, Stored, Written, not_found

Result = TypeVar("Result")
_MOST_TRIES = 4
_NEVER = frozenset({"testCase", "testSuite", *MEMBERSHIPS})
"""Types whose every edit is a version: tests, as upstream, and those of which a version does not hold all."""

_STAMPS = frozenset(
    {
        "id",
        "fullyQualifiedName",
        "version",
        "updatedAt",
        "updatedBy",
        "changeDescription",
        "incrementalChangeDescription",
    }
)


def new_entity_id() -> str:
    """Return a fresh id for an entity: a UUIDv7, so that new rows are adjacent in every index."""
    return str(uuid_utils.uuid7())


def new_event_id() -> str:
    """Return a fresh id for a change event: a UUIDv7, which sorts by time."""
    return str(uuid_utils.uuid7())


class EntityWrites:
    """Writes of entities; ``catalogue/writes.py`` adds those of other data, and the rules of all types.

    Each method is one transaction and returns its result; a write that changes nothing has no effect.
    ``key`` is ``Key.by_id(…)`` or ``Key.by_name(fqn)``. With ``is_history`` the clock gives times of the past, and
    alerts compare them with the time at which they were created.
    """

    rules = Rules()

    def __init__(
        self,
        catalogue: Catalogue,
        clock: Clock,
        new_id: Callable[[], str] = new_entity_id,
        *,
        event_id: Callable[[], str] = new_event_id,
        permits: Permits = permit_everything,
        consolidate_ms: int = 0,
        bounds: Bounds = BOUNDS,
        is_history: bool = False,
    ) -> None:
        self.bounds = bounds
        self._is_history = is_history
        self._is_rehearsal = False
        self._consolidate_ms = consolidate_ms
        self._catalogue = catalogue
        self._permits = permits
        self._clock = clock
        self._ids = Ids(new_id, event_id)

    def rehearsal(self) -> Self:
        """Return the same writes, of which nothing is kept: each only returns what it would have written."""
        rehearsing = copy(self)
        rehearsing._is_rehearsal = True
        return rehearsing

    def create(self, entity_type: str, request: Document, *, actor: Actor) -> Written:
        """Create an entity.

        Raises
        ------
        Conflict : there is one by that name, soft-deleted or not.
        NotFound : its parent, an owner or a domain does not exist.
        InvalidInput : the request is malformed; ``field`` says where.
        """
        return self.within(lambda record: create(record, entity_type, request), actor=actor)

    def ensure(self, entity_type: str, request: Document, *, actor: Actor, at_ms: int | None = None) -> Written:
        """Create an entity unless there is one by that name, which stays unchanged. Raises as ``upsert``."""
        return self.within(lambda record: ensure(record, entity_type, request), actor=actor, at_ms=at_ms)

    def upsert(self, entity_type: str, request: Document, *, actor: Actor, overrides: bool = False) -> Written:
        """Create an entity, or update it with the request's values; a soft-deleted one is restored.

        Keys that the request omits stay as they are, and so do tags and texts of members that still exist;
        only ``patch`` removes them. A bot's request leaves what a person wrote last, unless it ``overrides``.
        Raises as ``create``, but never ``Conflict``.
        """
        return self.within(lambda record: put(record, entity_type, request, overrides=overrides), actor=actor)

    def patch(
        self,
        entity_type: str,
        key: Key,
        operations: Sequence[json_patch.PatchOperation],
        *,
        actor: Actor,
        if_match: str | None = None,
    ) -> Written:
        """Apply a JSON Patch (RFC 6902); another name or parent moves all descendants of the entity, too.

        Raises
        ------
        Conflict : it gives the entity a name that another one has.
        NotFound : there is no such entity, or it is soft-deleted.
        PreconditionFailed : ``if_match``, an ``If-Match`` header, names another state than the present one.
        InvalidInput : the patch does not fit, or leaves something malformed.
        """
        patching, redaction = _Patching(entity_type, operations, self.bounds), Redaction(self._ids.event())
        paths = json_patch.paths_of(operations)

        def work(record: Record) -> Written:
            old = _live(record, entity_type, key)
            if if_match is not None and not etag.holds(if_match, old.document):
                raise PreconditionFailed()
            readable = self.rules.view_of(record, record.as_read(old), old, paths)
            hidden = hidden_references(readable, record.permit, record.transaction)
            document = redaction.restore(patching.of(redaction.hide(readable, hidden)))
            fields = patched_fields(ENTITY_TYPES[entity_type], old, document)
            within_ms = self._consolidate_ms if if_match is None else 0
            since = start_of_shared_version(record, old, fields, within_ms=within_ms) if within_ms else None
            written = renames.put(record, old, fields, since=since)
            return self.rules.members(record, entity_type, document, written) if "children" in readable else written

        for _ in range(_MOST_TRIES):
            try:
                return self.within(work, actor=actor)
            except _NotComputed as pending:
                patching.compute(pending.shown)
        raise Unavailable("Concurrent changes prevented the patch. Send it again.")

    def delete(
        self, entity_type: str, key: Key, *, actor: Actor, recursive: bool = False, hard: bool = False
    ) -> Written:
        """Delete an entity: softly (it can be restored) or ``hard`` (only its log and versions stay).

        A hard deletion of a user whom many entities name is several transactions, the last of which removes the user;
        when it ends between them, the same request finishes it.

        Raises
        ------
        NotFound : there is no such entity.
        InvalidInput : it has descendants and ``recursive`` is not set.
        """

        def work(record: Record) -> Written:
            target = removal.find_to_delete(record, entity_type, key, hard=hard)
            check_delete(record.permit, record.visible(target), hard=hard)
            return removal.delete(record, target, recursive=recursive, hard=hard)

        if hard and entity_type == "user":
            for only_check in (True, False):
                after: str | None = ""
                while after is not None:
                    after = self._forget_portion(key, after, actor, only_check=only_check)
        return self.within(work, actor=actor)

    def _forget_portion(self, key: Key, after: str, actor: Actor, *, only_check: bool) -> str | None:
        """Take a user who is to be deleted out of a portion of what names them; return where the next one begins."""

        def work(record: Record) -> str | None:
            target = removal.find_to_delete(record, "user", key, hard=True)
            check_delete(record.permit, record.visible(target), hard=True)
            return removal.forget_portion(record, target, after, only_check=only_check)

        return self.within(work, actor=actor)

    def restore(self, entity_type: str, entity_id: str, *, actor: Actor) -> Written:
        """Restore a soft-deleted entity and what its deletion included.

        Raises
        ------
        NotFound : there is no such entity, or it is not deleted.
        """

        def work(record: Record) -> Written:
            target = _find_visible(record, entity_type, Key.by_id(entity_id))
            check_restore(record.permit, target, record.transaction)
            return removal.restore(record, target)

        return self.within(work, actor=actor)

    def rollback(
        self,
        entity_type: str,
        key: Key,
        version: Decimal,
        *,
        actor: Actor,
        if_match: str | None = None,
        dry_run: bool = False,
    ) -> RolledBack:
        """Bring an entity back to an earlier version, as a new version; ``dry_run`` only returns the result.

        Raises
        ------
        NotFound : there is no such entity, or it has no such version.
        PreconditionFailed : ``if_match`` names another state than the present one.
        """

        def work(record: Record) -> RolledBack:
            old = _find_visible(record, entity_type, key)
            if if_match is not None and not etag.holds(if_match, old.document):
                raise PreconditionFailed()
            past = record.transaction.version(old.id, version)
            if past is None:
                raise NotFound(f"{entity_type} {old.fqn} has no version {version}")
            return roll_back(record, old, past)

        return (self.rehearsal() if dry_run else self).within(work, actor=actor)

    def on_entity(
        self,
        entity_type: str,
        key: Key,
        work: Callable[[Record, Stored], Written],
        *,
        actor: Actor,
        hold: Hold = Hold.CHANGE,
        include_deleted: bool = False,
    ) -> Written:
        """Do a piece of work on an entity: a report, an attachment.

        With ``include_deleted`` the entity may be soft-deleted, as for what people take back of their own.

        Raises
        ------
        NotFound : there is no such entity, or it is soft-deleted.
        """
        find = _find_visible if include_deleted else _live
        return self.within(lambda record: work(record, find(record, entity_type, key, hold)), actor=actor)

    def replace(self, entity_type: str, fqn: str, state: Document, at_ms: int, *, actor: Actor) -> Written:
        """Replace the entity by a complete recorded state: omitted keys are removed. Its parent need not exist."""

        def work(record: Record) -> Written:
            resolver = record.resolver(strict=False)
            old = record.transaction.find(entity_type, Key.by_name(fqn))
            fields = whole_state(old, state)
            if old is None:
                fields = complete(record, ENTITY_TYPES[entity_type], resolver, fields, {})
                return record.create(entity_type, fqn, fields)
            return change(record, resolver, old, fields)

        return self.within(work, actor=actor, at_ms=at_ms)

    def remove(self, entity_type: str, fqn: str, at_ms: int, *, actor: Actor) -> Written:
        """Erase an entity as a history does: for good, and only itself."""

        def work(record: Record) -> Written:
            entity = removal.find_to_delete(record, entity_type, Key.by_name(fqn), hard=True)
            self.rules.before_removals(record, [entity], entity)
            self.rules.before_removal(record, entity, ())
            return record.remove(entity)

        return self.within(work, actor=actor, at_ms=at_ms)

    def within(
        self,
        work: Callable[[Record], Result],
        *,
        actor: Actor,
        at_ms: int | None = None,
        origin: ChangeOrigin | None = None,
    ) -> Result:
        """Do a write in one transaction; ``at_ms`` is its time in a history, ``origin`` where it was made before."""
        try:
            return self._attempt(work, actor, at_ms, origin)
        except Collision:  # the earlier writer has committed by now, so a second look sees their write
            return self._attempt(work, actor, at_ms, origin)

    def _attempt(
        self, work: Callable[[Record], Result], actor: Actor, at_ms: int | None, origin: ChangeOrigin | None
    ) -> Result:
        self.bounds.write_counts.check(actor)
        with suppress(_RehearsalOver), self._catalogue.transaction() as transaction:
            now_ms = self._clock.now_ms() if at_ms is None else at_ms
            permit = in_place(self._permits(actor), transaction)
            record = Record(transaction, actor, now_ms, self._ids, permit, self.bounds, self.rules)
            record.is_recorded = self._is_history or at_ms is not None
            record.origin = origin
            result = work(record)
            if self._is_rehearsal:
                raise _RehearsalOver
            deletedness = transaction.append(record.events)
            if deletedness and isinstance(result, Written):
                result = replace(result, deletedness=deletedness)
        if not self._is_rehearsal:
            self.bounds.write_counts.add(actor, record.events)
        return result


class _RehearsalOver(Exception):  # a signal, never an error
    """A write was tried and must not be kept."""


class _NotComputed(Exception):
    """A patch takes longer to apply than others should wait for; to be done outside of the transaction."""

    def __init__(self, readable: Document) -> None:
        super().__init__()
        self.shown = readable


class _Patching:
    """One patch, applied directly if small, else computed outside the transaction and verified inside it."""

    def __init__(self, entity_type: str, operations: Sequence[json_patch.PatchOperation], bounds: Bounds) -> None:
        self._entity_type, self._operations, self._bounds = entity_type, operations, bounds
        self._computed: tuple[Document, Document] | None = None

    def of(self, readable: Document) -> Document:
        """Return what the patch makes of ``readable``; ``_NotComputed`` if that is not known and too much work here."""
        if self._computed is not None and self._computed[0] == readable:
            return self._computed[1]
        if not json_patch.is_light(readable, self._operations):
            raise _NotComputed(readable)
        return json_patch.apply(self._entity_type, readable, self._operations, self._bounds)

    def compute(self, readable: Document) -> None:
        """Work out what the patch makes of ``readable``, while others write."""
        result = json_patch.apply(self._entity_type, readable, self._operations, self._bounds)
        self._computed = (readable, result)


def _find_visible(record: Record, entity_type: str, key: Key, hold: Hold = Hold.CHANGE) -> Stored:
    entity = record.transaction.find(kind_of(entity_type).name, key, hold)
    if entity is None:
        raise not_found(entity_type, key)
    return record.visible(entity)


def _live(record: Record, entity_type: str, key: Key, hold: Hold = Hold.CHANGE) -> Stored:
    entity = _find_visible(record, entity_type, key, hold)
    if entity.is_deleted:
        raise NotFound(f"{entity_type} {key} is deleted")
    return entity


def start_of_shared_version(record: Record, old: Stored, fields: Document, *, within_ms: int) -> Stored | None:
    """Return the state that the shared version of this edit starts from; None if the edit makes a separate version.

    A reason is that of one version alone: neither an edit that has one nor the edit after it shares a version.
    """
    before = (old.document.get("changeDescription") or {}).get("previousVersion")
    is_continued = (
        before is not None
        and old.entity_type not in _NEVER
        and old.updated_by_id == record.actor.id
        and 0 <= record.at_ms - old.document["updatedAt"] <= within_ms
        and record.actor.reason is None
        and record.transaction.reason_of(old.id, old.version) is None
    )
    if not is_continued:
        return None
    version = Decimal(str(before))
    document = record.transaction.version(old.id, version)
    if document is None or document["fullyQualifiedName"] != old.fqn or _is_elsewhere(old, document, fields):
        return None
    server_values = {key: old.document[key] for key in SERVER_KEPT - _STAMPS if key in old.document}
    return Stored(old.id, old.entity_type, old.fqn, version, document | server_values)


def _is_elsewhere(old: Stored, before: Document, fields: Document) -> bool:
    """Return whether the entity is being restored, renamed or moved meanwhile."""
    keys = ("deleted", "name", *ENTITY_TYPES[old.entity_type].upward)
    return any(before.get(key) != old.document.get(key) for key in keys) or fields.get("name") != old.document["name"]
