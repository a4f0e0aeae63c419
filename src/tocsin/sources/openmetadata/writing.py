"""Writes of the mirror: one entity or report of the source at a time, in one transaction, as the mirror's bot.

An entity keeps its id, its times and who wrote it, as text. Values that a person wrote here last stay, and so does what
a person deleted here. An entity that was here before stands for the one of its name: it is never deleted, and changed
only once it is mapped. Next: ``flow/capture/upsert.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from tocsin.catalogue.observations import runs
from tocsin.catalogue.quality import results
from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock
from tocsin.errors import InvalidInput, TocsinError
from tocsin.flow.capture import removal, renames
from tocsin.flow.capture.bot_puts import merge_bot_put
from tocsin.flow.capture.normalize import clean, without_server_keys
from tocsin.flow.capture.prepare import draft_of
from tocsin.flow.capture.upsert import change, create
from tocsin.flow.capture.write import ChangeOrigin, Record
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES, types_below
from tocsin.model.list_identity import REFERENCE_FIELDS, REFERENCE_LISTS, SERVER_KEPT
from tocsin.model.people import Actor
from tocsin.model.stored import CapturedEvent, Key, Stored, Written
from tocsin.sources.openmetadata.documents import (
    SourceDocument,
    check_id,
    digest_of,
    is_parent_known,
    left_parents,
    request_of,
)
from tocsin.sources.openmetadata.events import ids_with
from tocsin.sources.openmetadata.hiding import hide, hide_below
from tocsin.sources.openmetadata.kinds import DELETED_UNMAPPED, MARKED, PEOPLE
from tocsin.sources.openmetadata.mapping import MARK, Mapping, is_marked
from tocsin.sources.openmetadata.results import NameTaken, Occasion, Result
from tocsin.sources.records import GONE, SourceEntity, SourceRecords

_MOST_LEFT_OUT = 6
"""Most values of one document that are left out because they are not valid here."""

_FUTURE_MS = 24 * 60 * 60_000
"""How far ahead a state may be: one from further ahead is replaced by what the source has a day later."""

_TESTS = ("testSuite", "testCase")
"""Types that lie below a table, though the table is not their parent."""


@dataclass
class Writer:
    """Writes what the source has.

    ``entities`` are the entities of the source by their ids there, ``bots`` the names of its bots. ``rehearsed`` takes
    the events of a dry run that are no history, ``would_be`` holds type and name of what such a run would create.
    """

    writes: Writes
    records: SourceRecords
    bot: Actor
    mapping: Mapping
    clock: Clock
    is_dry: bool = False
    entities: dict[str, SourceEntity] = field(default_factory=dict)
    bots: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    ids: dict[str, str] = field(default_factory=dict)
    would_be: dict[str, tuple[str, str]] = field(default_factory=dict)
    remark: Callable[[str], None] = lambda text: None
    rehearsed: Callable[[Sequence[CapturedEvent]], None] = lambda events: None

    def load(self) -> None:
        """Read what earlier runs recorded."""
        self.entities = {row.source_id: row for row in self.records.entities()}
        present = (row for row in self.entities.values() if _is_written(row) or not row.is_brought)
        self.ids = {row.source_id: row.entity_id for row in present}
        unmapped_tags = {fqn for _, _, fqn in self.records.list_shown(["tag"]) if not self.mapping.covers("tag", fqn)}
        self.labels = self.records.labels() - unmapped_tags

    def bring(self, source: SourceDocument, occasion: Occasion, *, takes_over: bool = False) -> Result:
        """Bring an entity to the state that the source has of it.

        With ``takes_over`` it stands for an entity that is gone in the source and had its name.

        Raises
        ------
        NameTaken : another entity of the source has its name here
        TocsinError : it cannot be written
        """
        check_id(source)
        row = self.entities.get(source.id)
        if source.kind.name in PEOPLE and not self._is_person_wanted(source):
            return Result.UNMAPPED
        is_mapped = source.kind.name in PEOPLE or self.mapping.covers(source.kind.name, source.fqn)
        if not is_mapped and source.kind.name not in MARKED:
            return Result.UNMAPPED
        if row is not None and source.updated_at_ms < row.updated_at_ms and not occasion.is_return:
            return Result.SAME
        if row is None and source.is_deleted:
            return Result.SAME
        if not is_parent_known(source, self.ids):
            return Result.WAITS
        request = request_of(source, self.ids, self.labels)
        if not is_mapped:
            request["tags"] = [*request.get("tags", ()), MARK]
        digest = digest_of(request | {"deleted": source.is_deleted}) if occasion.managed is None else None
        if row is not None and digest is not None and digest == row.digest:
            return Result.SAME
        return self._write(source, request, occasion, _Intent(row, is_mapped, digest, takes_over))

    def hide_unmapped(self) -> None:
        """Hide what earlier runs brought and is not mapped any more, whatever the source answers."""
        by_entity = {row.entity_id: row for row in self.entities.values()}
        for entity_type, entity_id, fqn in self.records.list_shown(MARKED):
            if not self.mapping.covers(entity_type, fqn):
                self._forget_digest(by_entity[entity_id])
                place, source = (entity_type, entity_id), self.records.source
                work = partial(hide, place=place, mapping=self.mapping, source=source)
                self.within(work, Occasion(is_history=True), self.clock.now_ms(), None)
        for entity_type, entity_id, fqn in self.records.list_shown(DELETED_UNMAPPED):
            if not self.mapping.covers(entity_type, fqn):
                with suppress(InvalidInput):  # it holds what people made
                    self.delete(by_entity[entity_id], Occasion(is_history=True))

    def _forget_digest(self, row: SourceEntity) -> None:
        """Let the next comparison write an entity, whose mark its digest does not know."""
        if row.digest != GONE:
            self.keep(replace(row, digest=None))

    def _is_person_wanted(self, source: SourceDocument) -> bool:
        """Return whether a person or team is mirrored; let one that is here stand for it in any case."""
        document = source.document
        if document.get("isBot") is True:
            self.bots.add(str(document.get("name")))
            return False
        if source.id in self.entities and not self.entities[source.id].is_brought:
            return False
        email = document.get("email") if source.kind.name == "user" else None
        person_id = self.records.person_at(email.strip().lower()) if isinstance(email, str) and email else None
        if person_id is not None and source.id not in self.entities:
            self.keep(SourceEntity(source.id, source.kind.name, person_id, is_brought=False))
            return False
        return self.mapping.has_people

    def _write(self, source: SourceDocument, request: Document, occasion: Occasion, intent: _Intent) -> Result:
        row = intent.row
        is_id_free = row is None and not self.is_dry and not self.records.holds_entity(source.id)
        if is_id_free:  # kept before, so that a run that is killed knows what it brought
            row = SourceEntity(source.id, source.kind.name, source.id, is_brought=True)
            self.records.put(row)
        work = _EntityWrite(self, source, request, occasion, replace(intent, row=row))
        write_result = self._within_limits(work, source, occasion, intent)
        if write_result is None:
            self.ids[source.id], self.would_be[source.id] = source.id, (source.kind.name, source.fqn)
            return Result.CREATED
        self.keep(
            replace(
                work.row_after or row or SourceEntity(source.id, source.kind.name, source.id, is_brought=True),
                updated_at_ms=min(source.updated_at_ms, self.clock.now_ms() + _FUTURE_MS),
                digest=None if work.has_left_out else intent.digest,
            )
        )
        if work.hidden_ids:
            for row in [row for row in self.entities.values() if row.entity_id in work.hidden_ids]:
                self._forget_digest(row)
        if source.kind.name in ("tag", "glossaryTerm") and write_result.document and intent.is_mapped:
            self.labels.add(str(write_result.document["fullyQualifiedName"]))
        return work.result

    def _within_limits(
        self, work: _EntityWrite, source: SourceDocument, occasion: Occasion, intent: _Intent
    ) -> Written | None:
        """Write, without values that are not valid here; None for a rehearsal of what is not here yet."""
        if self.is_dry and intent.row is None:
            if not occasion.is_history:
                with suppress(TocsinError):  # such as a parent that is not here yet
                    self.within(work, occasion, source.updated_at_ms, source.author)
            return None
        for _ in range(_MOST_LEFT_OUT):
            try:
                return self.within(work, occasion, source.updated_at_ms, source.author)
            except InvalidInput as refused:
                key = (refused.field or "").replace("[", ".").split(".")[0]
                if key not in work.request or key in source.kind.required:
                    raise
                self.remark(f"{source.kind.name} {source.fqn}: {key} was left out: {refused.message}")
                work.request = {name: value for name, value in work.request.items() if name != key}
                if key == "tags" and not intent.is_mapped:
                    work.request["tags"] = [MARK]
        raise InvalidInput(f"{source.kind.name} {source.fqn}: too many values are not valid here")

    def within(self, work: Callable[[Record], Written], occasion: Occasion, at_ms: int, author: str | None) -> Written:
        """Do a write as the mirror's bot, at its time in the source."""
        moment_ms = min(occasion.at_ms or at_ms or self.clock.now_ms(), self.clock.now_ms())
        author = occasion.author or author
        origin = ChangeOrigin(author, is_by_bot=author in self.bots, is_history=occasion.is_history)
        writes = self.writes.rehearsal() if self.is_dry else self.writes
        events: list[CapturedEvent] = []

        def with_ids(record: Record) -> Written:
            nonlocal events
            record.ids, events = ids_with(record.ids, event_id=occasion.event_id), record.events
            return work(record)

        write_result = writes.within(with_ids, actor=self.bot, at_ms=moment_ms, origin=origin)
        if self.is_dry and not occasion.is_history:
            self.rehearsed(events)
        return write_result

    def delete(self, row: SourceEntity, occasion: Occasion) -> Result:
        """Soft-delete an entity that the source brought, with what it brought below it.

        Raises
        ------
        InvalidInput : there is something below it that the source did not bring
        """
        outcome, below_ids = Result.SAME, set[str]()

        def work(record: Record) -> Written:
            nonlocal outcome, below_ids
            entity = record.transaction.find(row.entity_type, Key.by_id(row.entity_id))
            if entity is None or entity.is_deleted:
                return Written({}, None)
            outcome = Result.DELETED
            below_ids = {member.id for member in removal.list_softly_deleted_below(record, entity)}
            return self.delete_within(record, entity)

        if row.is_brought:
            self.within(work, occasion, self.clock.now_ms(), None)
        at_ms = min(occasion.at_ms, self.clock.now_ms())
        for deleted_row in [row, *(row for row in self.entities.values() if row.entity_id in below_ids)]:
            newest_ms = max(deleted_row.updated_at_ms, at_ms)  # an older state does not bring it back
            self.keep(replace(deleted_row, updated_at_ms=newest_ms, digest=None))
        return outcome

    def delete_within(self, record: Record, entity: Stored) -> Written:
        """Soft-delete an entity and all below it, if the source brought all of that.

        Raises
        ------
        InvalidInput : there is something below it that the source did not bring
        """
        brought_ids = self.brought_ids()
        descendants = record.transaction.descendants((*types_below(entity.entity_type), *_TESTS), entity.fqn)
        if any(member.id not in brought_ids and not member.is_deleted for member in descendants):
            raise InvalidInput(f"{entity.entity_type} {entity.fqn} holds what the source did not bring: it stays")
        event_id, skipped_count = record.ids.event(), 1 + len(removal.list_softly_deleted_below(record, entity))
        record.ids = ids_with(record.ids, event_id=event_id, skipped=skipped_count)
        return removal.delete(record, entity, recursive=True, hard=False)

    def set_aside(self, source_id: str) -> None:
        """Give an entity that the source brought another name, since one of the source has its name now."""

        def work(record: Record) -> Written:
            entity = record.transaction.find(row.entity_type, Key.by_id(row.entity_id))
            if entity is None:
                return Written({}, None)
            name = f"{entity.document['name']} {row.entity_id}"
            written = renames.put(record, entity, entity.document | {"name": name})
            restored = record.transaction.find(row.entity_type, Key.by_id(row.entity_id)) if entity.is_deleted else None
            return written if restored is None else removal.delete(record, restored, recursive=True, hard=False)

        row = self.entities[source_id]
        if row.is_brought:
            self.within(work, Occasion(is_history=True), self.clock.now_ms(), None)
            self._forget_digest(row)

    def is_here(self, row: SourceEntity) -> bool:
        """Return whether an entity was brought, also by a run that was killed before it could say so."""
        return _is_written(row) or self.records.holds_entity(row.entity_id, written_by=self.bot.id)

    def brought_ids(self) -> set[str]:
        """Return the ids of what the source brought."""
        return {row.entity_id for row in self.entities.values() if row.is_brought}

    def report(self, row: SourceEntity, report: Document, occasion: Occasion) -> Result:
        """Keep a result of a test or a run of a pipeline."""

        def work(record: Record) -> Written:
            entity = record.transaction.find(row.entity_type, Key.by_id(row.entity_id))
            if entity is None or entity.is_deleted:
                return Written({}, None)
            if not row.is_brought and not self.mapping.covers(entity.entity_type, entity.fqn):
                return Written(entity.document, None)
            keep = results.add_result if row.entity_type == "testCase" else runs.add_run
            return keep(record, entity, report)

        write_result = self.within(work, occasion, self.clock.now_ms(), None)
        return Result.CHANGED if write_result.event is not None else Result.SAME

    def keep(self, row: SourceEntity) -> None:
        """Keep which entity stands for one of the source."""
        self.entities[row.source_id] = row
        self.ids[row.source_id] = row.entity_id
        if not self.is_dry:
            self.records.put(row)

    def row_of(self, entity_id: str) -> SourceEntity | None:
        """Return what of the source an entity here stands for."""
        return next((row for row in self.entities.values() if row.entity_id == entity_id), None)


@dataclass(frozen=True)
class _Intent:
    row: SourceEntity | None
    is_mapped: bool
    digest: str | None
    takes_over: bool


@dataclass
class _EntityWrite:
    """The work on one entity, inside its transaction; it may be done twice, and says afterwards what it did."""

    writer: Writer
    source: SourceDocument
    request: Document
    occasion: Occasion
    intent: _Intent
    result: Result = Result.SAME
    row_after: SourceEntity | None = None
    has_left_out: bool = False
    hidden_ids: frozenset[str] = frozenset()

    def __call__(self, record: Record) -> Written:
        written = self._bring(record)
        fqn, kind = written.document.get("fullyQualifiedName"), self.source.kind
        is_shown = self.intent.is_mapped and kind.name not in PEOPLE
        if is_shown and fqn is not None and not self.writer.mapping.covers(kind.name, str(fqn)):
            raise InvalidInput(f"{kind.name} {self.source.fqn} is {fqn} here, which is not mapped")
        return written

    def _bring(self, record: Record) -> Written:
        self.result, self.row_after = Result.SAME, self.intent.row
        self._leave_out_deleted(record)
        old = self._counterpart(record)
        if old is None:
            return self._create(record)
        row = self.row_after
        if self.source.is_deleted:
            return self._delete(record, old)
        is_person = self.source.kind.name in PEOPLE
        if row is not None and not row.is_brought and (is_person or not self.intent.is_mapped):
            self.result = Result.KEPT
            return Written(old.document, None)
        if old.is_deleted:
            if old.updated_by_id != self.writer.bot.id:
                self.result = Result.KEPT
                return Written(old.document, None)
            removal.restore(record, old)
            self.result = Result.RESTORED
            old = record.transaction.find(old.entity_type, Key.by_id(old.id)) or old
        return self._change(record, old)

    def _leave_out_deleted(self, record: Record) -> None:
        """Leave out what a person deleted here of what the entity names; the next comparison asks for it again."""
        for key in REFERENCE_LISTS & self.request.keys():
            references = self.request[key]
            present = [reference for reference in references if _is_usable(record, reference)]
            if len(present) < len(references):
                self.request, self.has_left_out = self.request | {key: present}, True

    def _counterpart(self, record: Record) -> Stored | None:
        """Return what stands here for the entity: by its id, else by its name."""
        kind, row = self.source.kind, self.intent.row
        if row is not None:
            entity = record.transaction.find(kind.name, Key.by_id(row.entity_id))
            if entity is not None and (_is_written(row) or self._is_brought(entity)):
                return entity
        holder = record.transaction.find(kind.name, Key.by_name(self._fqn(record)))
        if holder is None:
            return None
        before = self.writer.row_of(holder.id)
        if before is not None and before.source_id != self.source.id and not self.intent.takes_over:
            raise NameTaken(before.source_id, kind.name, holder.fqn)
        is_brought = before.is_brought if before is not None else False
        self.row_after = SourceEntity(self.source.id, kind.name, holder.id, is_brought=is_brought)
        return holder

    def _is_brought(self, entity: Stored) -> bool:
        """Return whether a run that was killed brought an entity; one of our own may have the same id."""
        source_ids = {row.source_id for row in self.writer.entities.values() if row.entity_id == entity.id}
        return entity.updated_by_id == self.writer.bot.id and source_ids <= {self.source.id}

    def _fqn(self, record: Record) -> str:
        resolver, kind = record.resolver(), self.source.kind
        draft = record.rules.draft(record, resolver, kind, self.request) or draft_of(resolver, kind, self.request)
        return draft.fqn

    def _create(self, record: Record) -> Written:
        row = self.intent.row
        if row is not None and row.updated_at_ms:  # it was here, and a person deleted it for good
            self.result = Result.KEPT
            return Written({}, None)
        if self.source.is_deleted:
            return Written({}, None)
        if record.transaction.find(self.source.kind.name, Key.by_id(self.source.id)) is None:
            record.ids = ids_with(record.ids, entity_id=self.source.id)
        write_result = create(record, self.source.kind.name, self.request)
        self.result = Result.CREATED
        entity_id = str(write_result.document["id"])
        self.row_after = SourceEntity(self.source.id, self.source.kind.name, entity_id, is_brought=True)
        return write_result

    def _delete(self, record: Record, old: Stored) -> Written:
        row = self.row_after
        if row is None or not row.is_brought or old.is_deleted:
            return Written(old.document, None)
        self.result = Result.DELETED
        return self.writer.delete_within(record, old)

    def _change(self, record: Record, old: Stored) -> Written:
        fields = self._fields(old, self.source.kind)
        old, fields = merge_bot_put(record, old, fields, overrides=False)
        if renames.is_moved(old, fields):
            written = self._move(record, old, fields)
        else:
            written = change(record, record.resolver(), old, fields, is_report=True)
        if written.event is not None and self.result is Result.SAME:
            self.result = Result.CHANGED
        return written

    def _move(self, record: Record, old: Stored, fields: Document) -> Written:
        """Rename or move an entity with all below it, hide what is not mapped there, and change the rest of it."""
        fqn = draft_of(record.resolver(), self.source.kind, fields).fqn
        holder = record.transaction.find(old.entity_type, Key.by_name(fqn))
        before = self.writer.row_of(holder.id) if holder is not None and holder.id != old.id else None
        if before is not None:
            raise NameTaken(before.source_id, old.entity_type, fqn, is_rename=True)
        rename_result = renames.put(record, old, fields)
        current_entity = record.transaction.find(old.entity_type, Key.by_id(old.id))
        if current_entity is None or current_entity == old:
            return rename_result
        if current_entity.fqn != old.fqn:
            self.hidden_ids = hide_below(record, current_entity, self.writer.brought_ids(), self.writer.mapping)
        write_result = change(record, record.resolver(), current_entity, fields, is_report=True)
        return write_result if write_result.event is not None else rename_result

    def _fields(self, old: Stored, kind: EntityType) -> Document:
        """Return the entity's fields as the source has them; what the mirror does not manage stays."""
        before = {key: value for key, value in old.document.items() if key not in SERVER_KEPT}
        decided_keys = self.occasion.managed
        if decided_keys is None:
            decided_keys = _MANAGED[kind.name]
        managed_keys = (decided_keys - _place_keys(kind)) | left_parents(self.source)
        stays = {key: value for key, value in before.items() if key not in managed_keys}
        fields = stays | without_server_keys(clean(kind, self.request))
        if kind.name in PEOPLE and "email" in before:  # people log in by it
            fields["email"] = before["email"]
        for key in REFERENCE_FIELDS & fields.keys() & before.keys():
            if _is_same_target(fields[key], before[key]):
                fields[key] = before[key]
        if decided_keys is not _MANAGED[kind.name] and "tags" not in decided_keys and "tags" in before:
            fields["tags"] = before["tags"]
        if not self.intent.is_mapped and not is_marked(fields):
            fields["tags"] = [*fields["tags"], MARK]
        return fields


def _is_usable(record: Record, reference: Document) -> bool:
    """Return whether an entity may be named: people may also after they are soft-deleted."""
    target = record.transaction.reference(reference["type"], Key.by_id(reference["id"]))
    return target is not None and (target["type"] == "user" or not target.get("deleted"))


def _is_same_target(value: object, before: object) -> bool:
    return isinstance(value, dict) and isinstance(before, dict) and value.get("id") == before.get("id")


def _is_written(row: SourceEntity) -> bool:
    """Return whether an entity was brought to its end, and not only begun."""
    return row.updated_at_ms > 0 or row.digest is not None


def _place_keys(kind: EntityType) -> frozenset[str]:
    return frozenset((*kind.upward, "serviceType", "name", "deleted", "provider", *kind.required))


_MANAGED = {
    name: frozenset(
        {"description", "displayName", "owners", "tags", "domains", "dataProducts", "reviewers", "experts", "style"}
    )
    | frozenset(kind.members)
    for name, kind in ENTITY_TYPES.items()
}
"""Keys that are gone here when a whole document of the source lacks them."""
