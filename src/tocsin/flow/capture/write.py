"""Write of one change: the entity, its version and its change event, or nothing if nothing changed.

Every operation uses the methods of ``Record``; none writes rows by itself.
Source: seeds/002 "Event Generation Process". Next: ``flow/capture/operations.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from tocsin.clock import FUTURE_MS
from tocsin.conditions.breaking import DELETED_WHILE_READ, MAJOR_DELETIONS, breaking_reasons
from tocsin.conditions.fields import derive
from tocsin.errors import InvalidInput
from tocsin.flow.capture.announced import NOTHING_ANNOUNCED, Judgement, WrittenChange, judgement_of, may_be_announced
from tocsin.flow.capture.authorization import EVERYTHING, Permit, check_view
from tocsin.flow.capture.bounds import BOUNDS, Bounds, check_keys
from tocsin.flow.capture.curation import curated_paths_after
from tocsin.flow.capture.diff import ORDER, StateDifference, compare, with_place
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.references import Resolver
from tocsin.flow.capture.secrets import hide_secrets
from tocsin.flow.capture.version import is_major_upstream, next_version
from tocsin.model.breaking import BreakingReason
from tocsin.model.change import (
    LATE,
    OF_CHANGE_REQUESTS,
    RECORDED,
    REPORTED_AT,
    ChangeDescription,
    ChangeEvent,
    EventType,
    FieldChange,
)
from tocsin.model.change_request import RequestStep, RequestStepKind, StandingRequest
from tocsin.model.entity import FIRST_VERSION, Document, version_to_wire
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import lacks, place_of, with_inherited
from tocsin.model.list_identity import SERVER_KEPT
from tocsin.model.people import Actor
from tocsin.model.stored import CapturedEvent, Draft, Stored, Written

IMPORTED_TYPES = frozenset({EventType.ENTITY_CREATED, EventType.ENTITY_UPDATED, EventType.ENTITY_RESTORED})
"""Types of events that may be parts of an import."""

_INCREMENT = "incrementalChangeDescription"
LONGEST_FQN_BYTES = 2_500
"""Bytes of a fully qualified name, in UTF-8: an index entry of PostgreSQL holds no more than 2,704."""


@dataclass(frozen=True)
class Ids:
    """Where new ids come from."""

    entity: Callable[[], str]
    event: Callable[[], str]


@dataclass(frozen=True)
class ChangeOrigin:
    """Where a change was made before it came here, and by whom, as the source tells it.

    Attributes
    ----------
    author : name of who made it, as text: the rights and the id are those of the actor who brings it
    is_by_bot : whether the source says that a bot made it
    is_history : it notifies nobody
    """

    author: str | None = None
    is_by_bot: bool = False
    is_history: bool = False


class Rules:
    """What types of entities demand of a write beyond parent, references and version, asked at fixed points of it.

    These demand nothing; those of the product are in ``catalogue/rules.py``.
    """

    def draft(self, record: Record, resolver: Resolver, kind: EntityType, request: Document) -> Draft | None:
        """Return the checked document and FQN that a request to create or put asks for; None: those of its parent."""
        return None

    def view_of(self, record: Record, document: Document, old: Stored, paths: Collection[str]) -> Document:
        """Return an entity as its readers see it, as far as a patch names ``paths`` of it."""
        return document

    def complete(
        self, record: Record, resolver: Resolver, kind: EntityType, fields: Document, old: Document
    ) -> Document:
        """Return the document as it is stored: values checked, those that follow from others filled in."""
        return fields

    def of_the_past(self, record: Record, entity_type: str, past: Document) -> Document:
        """Return a past version of an entity as it may come back."""
        return past

    def before_change(self, record: Record, old: Stored, fields: Document) -> None:
        """Write what must change before an entity does."""

    def after_write(self, record: Record, entity_type: str, document: Document, before: Document) -> None:
        """Write what follows from an entity's new document; ``before`` is empty when it was created."""

    def members(self, record: Record, entity_type: str, request: Document, written: Written) -> Written:
        """Write what a request gives beside an entity's document; return its result with the events of that."""
        return written

    def check_removal(self, record: Record, target: Stored) -> None:
        """Refuse to delete an entity, softly or for good."""

    def goes_with(self, entity: Stored, gone_ids: Collection[str]) -> bool:
        """Return whether an entity is nobody else's than that of people who go for good, and is deleted with them."""
        return False

    def before_removal(self, record: Record, entity: Stored, also_gone: Collection[str]) -> None:
        """Write what the hard deletion of an entity means for others, those ``also_gone`` with it left out."""

    def before_removals(self, record: Record, entities: Sequence[Stored], root: Stored) -> None:
        """Write what the hard deletion of ``root`` and others below it, all among ``entities``, means for others."""

    def after_renaming(self, record: Record, moved: Sequence[tuple[Stored, str]]) -> None:
        """Write what new FQNs mean for others: of an entity, which is first, and of all below it."""


@dataclass
class Record:
    """What one actor writes at one moment in one transaction; ``events`` gathers what it makes, in order.

    ``is_recorded``: the moment is one of a history, not now. ``origin``: the change was made elsewhere. ``read_ids``:
    what is deleted although something reads it. ``standing_requests``: by asset, the change requests about what is
    deleted. ``import_id``: the event of the import that a row of a bulk request belongs to, whose ``import_type`` of
    entities it writes.
    """

    transaction: Transaction
    actor: Actor
    at_ms: int
    ids: Ids
    permit: Permit = EVERYTHING
    bounds: Bounds = BOUNDS
    rules: Rules = field(default_factory=Rules)
    events: list[CapturedEvent] = field(default_factory=list)
    is_recorded: bool = False
    origin: ChangeOrigin | None = None
    read_ids: Collection[str] = ()
    standing_requests: Mapping[str, Sequence[StandingRequest]] | None = None
    import_id: str | None = None
    import_type: str = ""

    @property
    def author(self) -> str:
        """The name under which versions and events show the change."""
        return (self.origin.author if self.origin else None) or self.actor.name

    def resolver(self, *, strict: bool = True) -> Resolver:
        """Return the resolver of references, with the actor's permissions."""
        return Resolver(self.transaction, strict, self.permit)

    def visible(self, entity: Stored) -> Stored:
        """Return the entity found, unless the actor may not see it."""
        check_view(self.permit, entity)
        return entity

    def create(self, entity_type: str, fqn: str, fields: Document) -> Written:
        """Add an entity; ``fields`` is its document without what the server keeps."""
        _check_length(fqn)
        check_keys(fields, self.bounds.check_size(fields))
        entity_id = self.ids.entity()
        fields = hide_secrets(self.transaction, ENTITY_TYPES[entity_type], entity_id, fields, actor_id=self.actor.id)
        stamped = self._with_stamps(fields, FIRST_VERSION, id=entity_id, fullyQualifiedName=fqn)
        if "deleted" in ENTITY_TYPES[entity_type].keys:
            stamped["deleted"] = False
        curated = self._curated_paths(entity_type, frozenset(), ({}, stamped))
        new = Stored(stamped["id"], entity_type, fqn, FIRST_VERSION, stamped, self.actor.id, curated, self.actor.reason)
        self.transaction.insert(new)
        event = self._event(EventType.ENTITY_CREATED, None, new, compare(entity_type, {}, fields))
        return Written(stamped, event, created=True)

    def change(
        self,
        old: Stored,
        fields: Document,
        event_type: EventType = EventType.ENTITY_UPDATED,
        *,
        fqn: str | None = None,
        since: Stored | None = None,
        beside: ChangeDescription | None = None,
    ) -> Written:
        """Replace an entity's fields, and its full name if one is given; nothing if they are the same.

        ``beside`` holds changes that are not the document's and that the event reports as well, such as the loss of
        followers; alone they make no version.

        ``since`` is the state from which the present version led here: the change then becomes part of that version,
        unless it is a major one.
        """
        size = self.bounds.check_size(fields, before=old.document)
        kind = ENTITY_TYPES[old.entity_type]
        fields = hide_secrets(self.transaction, kind, old.id, fields, before=old.document, actor_id=self.actor.id)
        difference = compare(old.entity_type, old.document, fields)
        if difference.is_stored or not difference.change.is_empty():
            check_keys(fields, size, old.document)
        if fqn is not None and fqn != old.fqn:
            _check_length(fqn)
            difference = replace(
                difference, change=with_place(difference.change, old.document, fields | {"fullyQualifiedName": fqn})
            )
        if difference.change.is_empty():
            if difference.is_stored:
                old = self._rearrange(old, fields)
            return self.note(old, beside) if beside else Written(old.document, None)
        if beside:
            difference = replace(difference, change=_join_changes(difference.change, beside))
        reasons = breaking_reasons(old.entity_type, difference.change, fields)
        is_major = bool(reasons) or is_major_upstream(old.entity_type, difference.change)
        if event_type is EventType.ENTITY_SOFT_DELETED and old.id in self.read_ids:
            reasons, is_major = (*reasons, DELETED_WHILE_READ), is_major or old.entity_type in MAJOR_DELETIONS
        is_deleted = event_type is EventType.ENTITY_SOFT_DELETED
        verdict = self._judge(old, None if is_deleted else fields, difference.change, reasons)
        if since is not None and not is_major:
            return self._extend(old, fields, since, difference, verdict)
        version = next_version(old.version, is_major=is_major)
        description = difference.change.since(old.version)
        values, wire = _with_server_values(old, fields), description.to_wire()
        document = self._with_stamps(values, version, fullyQualifiedName=fqn or old.fqn, changeDescription=wire)
        curated_paths = self._curated_paths(old.entity_type, old.curated, (old.document, document))
        new_fqn = fqn or old.fqn
        new = Stored(
            old.id, old.entity_type, new_fqn, version, document, self.actor.id, curated_paths, self.actor.reason
        )
        self.transaction.update(old, new)
        difference = StateDifference(description, difference.order)
        return Written(document, self._event(event_type, old, new, difference, verdict))

    def _rearrange(self, old: Stored, fields: Document) -> Stored:
        """Store the members of an entity in another order, or its bookkeeping, which is no change."""
        stamps = {key: old.document[key] for key in SERVER_KEPT if key in old.document}
        new = replace(old, document={key: value for key, value in fields.items() if key not in SERVER_KEPT} | stamps)
        self.transaction.update(old, new)
        return new

    def _judge(
        self, old: Stored, after: Document | None, change: ChangeDescription, reasons: tuple[BreakingReason, ...]
    ) -> Judgement:
        """Compare a change with what was announced; a change of a history was made before anything was."""
        if self.is_recorded or not (after is None or reasons or may_be_announced(change)):
            return Judgement(reasons)
        standing = self.standing_requests
        if standing is None:
            standing = self.transaction.change_requests.standing([old.id])
        return judgement_of(
            WrittenChange(old.entity_type, old.document, after, reasons), standing.get(old.id, ()), self.at_ms
        )

    def _end_requests(self, verdict: Judgement) -> None:
        """Store that the author has done what requests announced, or something else in its place."""
        for request in verdict.ended_requests:
            self.transaction.change_requests.put(request)
            step = RequestStep(
                id=self.ids.entity(),
                request_id=request.id,
                kind=RequestStepKind.DONE,
                at_ms=self.at_ms,
                user_id=self.actor.id,
                user_name=self.author,
            )
            self.transaction.change_requests.add_steps([step])

    def _extend(
        self, old: Stored, fields: Document, since: Stored, difference: StateDifference, verdict: Judgement
    ) -> Written:
        """Make a change part of the present version; one that takes everything back takes the version back."""
        increment = difference.change.since(old.version)
        total = compare(old.entity_type, since.document, fields).change
        self.transaction.forget_version(old.id, old.version)
        if total.is_empty():
            since = replace(since, reason=self.transaction.reason_of(old.id, since.version))
            self.transaction.forget_version(old.id, since.version)
            self.transaction.update(old, since)
            event = self._event(EventType.ENTITY_UPDATED, old, since, replace(difference, change=increment), verdict)
            return Written(since.document, event)
        total = total.since(since.version)
        descriptions = {"changeDescription": total.to_wire(), _INCREMENT: increment.to_wire()}
        document = self._with_stamps(_with_server_values(old, fields), old.version, **descriptions)
        curated_paths = self._curated_paths(old.entity_type, old.curated, (old.document, document))
        new = replace(old, document=document, updated_by_id=self.actor.id, curated=curated_paths)
        before = replace(old, version=since.version)
        self.transaction.update(before, new)
        event = self._event(EventType.ENTITY_UPDATED, before, new, replace(difference, change=increment), verdict)
        return Written(document, event)

    def revise(self, old: Stored, description: ChangeDescription) -> Written:
        """Make a version of what the document does not show, such as another secret."""
        version = next_version(old.version, is_major=False)
        description = description.since(old.version)
        fields = {key: value for key, value in old.document.items() if key != _INCREMENT}
        stamped = self._with_stamps(fields, version, changeDescription=description.to_wire())
        new = replace(old, version=version, document=stamped, updated_by_id=self.actor.id, reason=self.actor.reason)
        self.transaction.update(old, new)
        return Written(stamped, self._event(EventType.ENTITY_UPDATED, old, new, StateDifference(description)))

    def remove(self, old: Stored) -> Written:
        """Erase an entity for good."""
        written = self.note_removal(old)
        self.transaction.erase([old])
        return written

    def note_removal(self, old: Stored) -> Written:
        """Record that an entity goes for good; it is erased with what goes together with it."""
        field_change = FieldChange(name="entity", old_value=_as_in_events(old.document))
        description = ChangeDescription(fields_deleted=(field_change,), previous_version=old.version)
        reasons = (DELETED_WHILE_READ,) if old.id in self.read_ids else ()
        verdict = self._judge(old, None, description, reasons)
        return Written(
            old.document, self._event(EventType.ENTITY_DELETED, old, None, StateDifference(description), verdict)
        )

    def note(
        self,
        old: Stored,
        description: ChangeDescription,
        *,
        event_type: EventType = EventType.ENTITY_UPDATED,
        document: Document | None = None,
    ) -> Written:
        """Record what raises no version: a follower, a test result, a run, an edge."""
        new = replace(old, document=document or old.document)
        if document is not None:
            self.transaction.update(old, new)
        description = description.since(old.version)
        return Written(new.document, self._event(event_type, old, new, StateDifference(description)))

    def join(self, whole_change: Written, parts: Collection[str], *, since: int) -> Written:
        """Note which of the events from number ``since`` on are parts of one change; return it with all others.

        The parts are those of entities that lie below that of ``whole_change``, which alerts tell of in their place.
        """
        event = whole_change.event
        assert event is not None, "what is below an entity does not change without it"  # noqa: S101
        if parts:
            event = event.model_copy(update={"below_count": len(parts), "part_of": None})
            as_part = {"part_of": event.id}
            for number, captured in enumerate(self.events[since:], start=since):
                if captured.event.id == event.id:
                    self.events[number] = replace(captured, event=event)
                elif captured.event.entity_id in parts and captured.event.event_type not in OF_CHANGE_REQUESTS:
                    self.events[number] = replace(captured, event=captured.event.model_copy(update=as_part))
        other_events = tuple(captured.event for captured in self.events[since:] if captured.event.id != event.id)
        return replace(whole_change, event=event, cascaded=other_events)

    def _curated_paths(
        self, entity_type: str, curated: frozenset[str] | None, states: tuple[Document, Document]
    ) -> frozenset[str] | None:
        return curated_paths_after(entity_type, curated, states, is_bot=self.actor.is_bot)

    def _with_stamps(self, fields: Document, version: Decimal, **further: Any) -> Document:  # Any: JSON values
        return {
            **fields,
            "version": version_to_wire(version),
            "updatedAt": self.at_ms,
            "updatedBy": self.author,
            **further,
        }

    def _event(
        self,
        event_type: EventType,
        old: Stored | None,
        new: Stored | None,
        difference: StateDifference,
        verdict: Judgement = NOTHING_ANNOUNCED,
    ) -> ChangeEvent:
        subject = new or old
        assert subject is not None, "an event needs an entity"  # noqa: S101
        document = self.as_read(subject)
        event = ChangeEvent(
            id=self.ids.event(),
            event_type=event_type,
            entity_type=subject.entity_type,
            entity_id=subject.id,
            entity_fully_qualified_name=subject.fqn,
            domains=_domains(document),
            previous_version=old.version if old else None,
            current_version=new.version if new else None,
            user_name=self.author,
            user_id=self.actor.id,
            timestamp=self.at_ms,
            change_description=difference.change,
            entity=_as_in_events(document),
            breaking_reasons=verdict.reasons or None,
            announcements=verdict.announcements,
            reason=self.actor.reason,
            part_of=self._import_of(subject.entity_type, event_type, verdict),
        )
        self._end_requests(verdict)
        order = {ORDER: difference.order} if difference.order else {}
        last_ms = last_changed_ms(old.document) if old else None
        is_by_bot = self.origin.is_by_bot if self.origin else self.actor.is_bot
        derived_facts = derive(event, actor_is_bot=is_by_bot, last_changed_ms=last_ms)
        recorded_mark = {RECORDED: True} if self.is_recorded else {}
        late = {LATE: True} if self._is_late(derived_facts[REPORTED_AT]) else {}
        self.events.append(CapturedEvent(event, derived_facts | order | recorded_mark | late))
        return event

    def _import_of(self, entity_type: str, event_type: EventType, verdict: Judgement) -> str | None:
        """Return the event of the import that a change is part of; one that breaks readers is told by itself."""
        is_part = entity_type == self.import_type and event_type in IMPORTED_TYPES and not verdict.reasons
        return self.import_id if is_part else None

    def _is_late(self, reported_at_ms: int | None) -> bool:
        """Return whether a change is history elsewhere, or reports what is too old or to come: it notifies nobody."""
        if self.origin is not None and self.origin.is_history:
            return True
        if reported_at_ms is None:
            return False
        limit_ms = self.bounds.late_after_ms
        return self.is_ahead(reported_at_ms) or (limit_ms is not None and self.at_ms - reported_at_ms > limit_ms)

    def is_ahead(self, reported_at_ms: int) -> bool:
        """Return whether a report is dated too far ahead, by a clock that is wrong: it opens and closes nothing."""
        return reported_at_ms > self.at_ms + FUTURE_MS

    def as_read(self, subject: Stored) -> Document:
        """Return an entity with what it inherits, as its readers see it."""
        kind = ENTITY_TYPES[subject.entity_type]
        if not lacks(kind, subject.document):
            return subject.document
        return with_inherited(kind, subject.document, self.transaction.heritage(*place_of(kind.name, subject.document)))


def last_changed_ms(document: Document) -> int | None:
    """Return when the entity in ``document`` changed last."""
    updated_at = document.get("updatedAt")
    return updated_at if isinstance(updated_at, int) else None


def _with_server_values(old: Stored, fields: Document) -> Document:
    """Return the fields with the stored values of keys that only the server sets, except the last increment."""
    server_values = {key: value for key, value in old.document.items() if key in SERVER_KEPT and key != _INCREMENT}
    return server_values | {key: value for key, value in fields.items() if key not in SERVER_KEPT}


def _check_length(fqn: str) -> None:
    if len(fqn.encode()) > LONGEST_FQN_BYTES:
        raise InvalidInput(
            f"the fully qualified name is longer than {LONGEST_FQN_BYTES} bytes: shorten a name", field="name"
        )


def _domains(document: Document) -> tuple[str, ...] | None:
    ids = tuple(domain["id"] for domain in document.get("domains") or () if "id" in domain)
    return ids or None


def _as_in_events(document: Document) -> Document:
    """Return the entity as events carry it; the change description is separate already."""
    stated = dict(document)
    stated.pop("changeDescription", None)
    stated.pop(_INCREMENT, None)
    return stated


def _join_changes(first: ChangeDescription, second: ChangeDescription) -> ChangeDescription:
    keys = ("fields_added", "fields_updated", "fields_deleted")
    return first.model_copy(update={key: (*getattr(first, key), *getattr(second, key)) for key in keys})
