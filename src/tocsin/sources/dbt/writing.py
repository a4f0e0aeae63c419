"""Writes of one dbt project: an entity, an edge or a report at a time, in one transaction, as the bot of dbt.

What people wrote stays, and so does what they deleted; an entity that was here before is described, never deleted.
Next: ``sources/dbt/run.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from uuid import NAMESPACE_URL, uuid5

from tocsin.catalogue.lineage import edges
from tocsin.catalogue.lineage.edge_details import is_written_only_by
from tocsin.catalogue.observations import runs
from tocsin.catalogue.quality import results
from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock
from tocsin.errors import TocsinError
from tocsin.flow.capture import removal
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.upsert import draft_for, ensure, put
from tocsin.flow.capture.write import ChangeOrigin, Record
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_types import types_below
from tocsin.model.people import Actor
from tocsin.model.source_link import OF_PEOPLE, LinkKind, SourceLink
from tocsin.model.stored import CapturedEvent, Key, Stored, Written
from tocsin.sources.dbt.requests import PlannedEntity
from tocsin.sources.records import SourceEntity, SourceRecords

_NOTHING = Written({}, None)
_TESTS = ("testCase",)
Events = Sequence[CapturedEvent]


@dataclass(frozen=True)
class BroughtEntity:
    """What stands here for an entity of the project: None for its id in a dry run that would create it."""

    entity_type: str
    entity_id: str | None
    document: Document
    result: str


@dataclass
class ProjectWriter:
    """Writes what a project has; ``rehearsed`` takes the events of a dry run, ``remark`` what was left out.

    ``is_history`` says that what is written notifies nobody, since the project was there before its first run here.
    """

    writes: Writes
    records: SourceRecords
    bot: Actor
    clock: Clock
    is_dry: bool = False
    is_history: bool = False
    entities: dict[str, SourceEntity] = field(default_factory=dict)
    links: dict[tuple[str, str], SourceLink] = field(default_factory=dict)
    remark: Callable[[str], None] = lambda text: None
    rehearsed: Callable[[Events], None] = lambda events: None

    def load(self) -> None:
        """Read what earlier runs recorded."""
        self.entities = {row.source_id: row for row in self.records.entities()}
        self.links = {(link.from_id, link.to_id): link for link in self.records.links()}

    @cached_property
    def brought_ids(self) -> frozenset[str]:
        """The ids of what dbt created, once all is brought."""
        return frozenset(entity.entity_id for entity in self.entities.values() if entity.is_brought)

    def bring(self, planned: PlannedEntity) -> BroughtEntity:
        """Bring an entity to what the project says of it.

        Raises
        ------
        TocsinError : it cannot be written
        """
        source_id = source_id_of(planned)
        row = self.entities.get(source_id)
        work = _ProjectEntityWrite(self, planned, row)
        try:
            write_result = self.within(work)
        except TocsinError:
            if self.is_dry and row is None:  # such as a parent that is not here yet
                document = planned.request_for(None, is_brought=False)
                return BroughtEntity(planned.entity_type, None, document, "created")
            raise
        entity_id = str(write_result.document["id"]) if write_result.document else None
        if entity_id is not None and work.result != "keptAsHere":
            self._keep(SourceEntity(source_id, planned.entity_type, entity_id, is_brought=work.is_brought))
        return BroughtEntity(planned.entity_type, entity_id, write_result.document, work.result)

    def put_edge(self, from_: BroughtEntity, to: BroughtEntity, digest: str, details: Callable[[], Document]) -> str:
        """Add an edge or change its details, unless a person made, changed or removed it; return what it did.

        The details are asked for if their ``digest`` is not that of the last run.
        """
        if from_.entity_id is None or to.entity_id is None:
            return "edgesAdded"
        old_link = self.links.get((from_.entity_id, to.entity_id))
        if old_link is not None and old_link.digest == OF_PEOPLE:
            return "same"
        edge: Document = {"fromEntity": _reference(from_), "toEntity": _reference(to)}
        if old_link is None or old_link.digest != digest:
            edge["lineageDetails"] = details()
        work = _ProjectEdgeWrite(self, edge, old_link, digest)
        self.within(work)
        return work.result

    def remove_edge(self, link: SourceLink) -> str:
        """Remove an edge that the project has no more, if dbt alone wrote it."""
        result = "same"

        def work(record: Record) -> Written:
            nonlocal result
            edge = record.transaction.edge(link.from_id, link.to_id)
            record.transaction.source_links.forget(self.records.source, link)
            if edge is None or not is_written_only_by(edge, record.actor.name):
                return _NOTHING
            result = "edgesRemoved"
            return edges.delete_edge(record, edge.from_, edge.to)

        self.within(work)
        return result

    def report(self, entity: BroughtEntity, report: Document) -> bool:
        """Keep a result of a test or a run of a pipeline; return whether it is new."""
        keep = results.add_result if entity.entity_type == "testCase" else runs.add_run
        return self._write_live(entity, lambda record, stored: keep(record, stored, report))

    def delete(self, row: SourceEntity) -> str | None:
        """Soft-delete what dbt created and the project has no more, unless it holds what dbt did not create.

        Return the FQN of what was deleted.
        """
        deleted_fqn: str | None = None

        def work(record: Record) -> Written:
            nonlocal deleted_fqn
            entity = record.transaction.find(row.entity_type, Key.by_id(row.entity_id), Hold.CHANGE)
            if entity is None or entity.is_deleted:
                return _NOTHING
            below = record.transaction.descendants((*types_below(entity.entity_type), *_TESTS), entity.fqn)
            if any(member.id not in self.brought_ids and not member.is_deleted for member in below):
                self.remark(f"{entity.entity_type} {entity.fqn} holds what dbt did not create: it stays")
                return _NOTHING
            deleted_fqn = entity.fqn
            return removal.delete(record, entity, recursive=True, hard=False)

        self.within(work)
        return deleted_fqn

    def owners_of(self, record: Record, planned: PlannedEntity) -> list[Document]:
        """Return the owners of an entity who are people or teams here; the others are remarked."""
        references = []
        for names in filter(None, planned.owners):
            known_owners = (self._owner_called(record, name) for name in names)
            reference = next((owner for owner in known_owners if owner is not None), None)
            if reference is None:
                self.remark(f"{planned.entity_type} {planned.path}: its owner {names[0]} is nobody here")
            elif reference not in references:
                references.append(reference)
        users = [reference for reference in references if reference["type"] == "user"]
        return users or references[:1]  # several people, or one team

    def within(self, work: Callable[[Record], Written]) -> Written:
        """Do a write as the bot of dbt; a dry run hands its events on and keeps nothing."""
        writes = self.writes.rehearsal() if self.is_dry else self.writes
        events: Events = ()

        def work_noting_events(record: Record) -> Written:
            nonlocal events
            events = record.events
            return work(record)

        written = writes.within(work_noting_events, actor=self.bot, origin=ChangeOrigin(is_history=self.is_history))
        if self.is_dry and not self.is_history:
            self.rehearsed(events)
        return written

    def _owner_called(self, record: Record, name: str) -> Document | None:
        user_id = self.records.person_at(name.strip().lower()) if "@" in name else None
        if user_id is not None:
            return {"type": "user", "id": user_id}
        for entity_type in ("user", "team"):
            owner = record.transaction.find(entity_type, Key.by_name(fqn.quote(name)), Hold.SHARED)
            if owner is not None and not owner.is_deleted:
                return {"type": entity_type, "id": owner.id}
        return None

    def _write_live(self, entity: BroughtEntity, work: Callable[[Record, Stored], Written]) -> bool:
        """Do a write on an entity that is there; return whether it made an event."""
        if entity.entity_id is None:
            return True
        key = Key.by_id(entity.entity_id)

        def on_live(record: Record) -> Written:
            stored = record.transaction.find(entity.entity_type, key, Hold.CHANGE)
            return _NOTHING if stored is None or stored.is_deleted else work(record, stored)

        return self.within(on_live).event is not None

    def _keep(self, row: SourceEntity) -> None:
        """Keep which entity stands for one of the project, unless that is kept already."""
        kept_row = self.entities.get(row.source_id)
        if kept_row is not None and replace(kept_row, updated_at_ms=0) == row:
            return
        self.entities[row.source_id] = replace(row, updated_at_ms=self.clock.now_ms())
        if not self.is_dry:
            self.records.put(self.entities[row.source_id])


@dataclass
class _ProjectEntityWrite:
    """The work on one entity, inside its transaction; it may be done twice, and says afterwards what it did."""

    writer: ProjectWriter
    planned: PlannedEntity
    row: SourceEntity | None
    result: str = "same"
    is_brought: bool = False

    def __call__(self, record: Record) -> Written:
        entity_type, request = self.planned.entity_type, self.planned.request
        draft_request = request if self.planned.table is None else request | {"columns": []}
        name = draft_for(record, entity_type, draft_request).fqn
        old = record.transaction.find(entity_type, Key.by_name(name), Hold.CHANGE)
        if old is None and self.row is not None:
            self.result = "keptAsHere"  # a person deleted it for good, or renamed it
            return _NOTHING
        self.is_brought = old is None or self._is_brought(record, old)
        is_own = self.is_brought and (old is None or old.updated_by_id == record.actor.id)
        if old is not None and old.is_deleted and (self.planned.is_only_ensured or not is_own):
            self.result = "keptAsHere"
            return Written(old.document, None)
        if self.planned.is_only_ensured:
            write_result = ensure(record, entity_type, request)
        else:
            write_result = put(record, entity_type, self._request(record, old))
        self.result = _result_of(write_result, old)
        return write_result

    def _request(self, record: Record, old: Stored | None) -> Document:
        request = self.planned.request_for(old.document if old else None, is_brought=self.is_brought)
        if owners := self.writer.owners_of(record, self.planned):
            request = request | {"owners": owners}
        return request

    def _is_brought(self, record: Record, old: Stored) -> bool:
        """Return whether dbt created an entity, also in a run that was killed before it could say so."""
        if self.row is not None:
            return self.row.is_brought
        return old.updated_by_id == record.actor.id and not self.writer.records.is_recorded(old.id)


@dataclass
class _ProjectEdgeWrite:
    """The work on one edge; the row that remembers it commits in the same transaction."""

    writer: ProjectWriter
    edge: Document
    link: SourceLink | None
    digest: str
    result: str = "same"

    def __call__(self, record: Record) -> Written:
        from_id, to_id = self.edge["fromEntity"]["id"], self.edge["toEntity"]["id"]
        old = record.transaction.edge(from_id, to_id)
        is_removed_here = old is None and self.link is not None
        is_of_others = old is not None and not is_written_only_by(old, record.actor.name)
        link = SourceLink(LinkKind.EDGE, from_id, to_id, self.digest)
        if is_removed_here or is_of_others:
            record.transaction.source_links.put(self.writer.records.source, replace(link, digest=OF_PEOPLE))
            return _NOTHING
        if "lineageDetails" not in self.edge:
            return _NOTHING
        write_result = edges.put_edge(record, self.edge)
        record.transaction.source_links.put(self.writer.records.source, link)
        self.result = "edgesAdded" if old is None else "edgesChanged"
        return write_result


def source_id_of(planned: PlannedEntity) -> str:
    """Return the id under which an entity of a project is recorded: a test that is about something else is another."""
    place = planned.request.get("entityLink", "")
    return str(uuid5(NAMESPACE_URL, f"dbt:{planned.key} {place}"))


def _result_of(written: Written, old: Stored | None) -> str:
    if old is None:
        return "created"
    if old.is_deleted:
        return "restored"
    return "same" if written.event is None else "changed"


def _reference(entity: BroughtEntity) -> Document:
    return {"type": entity.entity_type, "id": entity.entity_id}
