"""What does one write leave behind? The entity, its version and its change event, or nothing if nothing changed.

Every operation goes through the four methods of ``Record``; none writes by itself.
Source: seeds/002 "Event Generation Process". Next: ``flow/capture/operations.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from tocsin.conditions.fields import derive
from tocsin.errors import InvalidInput
from tocsin.flow.capture.diff import diff
from tocsin.flow.capture.members import SERVER_KEPT
from tocsin.flow.capture.ports import CapturedEvent, Stored, Transaction, Written
from tocsin.flow.capture.version import is_breaking, next_version
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.entity import FIRST_VERSION, Document, version_to_wire
from tocsin.model.entity_types import ENTITY_TYPES, keys_of
from tocsin.model.people import Actor

LONGEST_FQN_BYTES = 2_500
"""Bytes of a fully qualified name, in UTF-8: an index entry of PostgreSQL holds no more than 2,704."""


@dataclass(frozen=True)
class Ids:
    """Where new ids come from."""

    entity: Callable[[], str]
    event: Callable[[], str]


@dataclass
class Record:
    """What one actor writes at one moment in one transaction; ``events`` gathers what it makes, in order."""

    transaction: Transaction
    actor: Actor
    at_ms: int
    ids: Ids
    events: list[CapturedEvent] = field(default_factory=list)

    def create(self, entity_type: str, fqn: str, fields: Document) -> Written:
        """Add an entity; ``fields`` is its document without what the server keeps."""
        if len(fqn.encode()) > LONGEST_FQN_BYTES:
            raise InvalidInput(f"its full name is longer than {LONGEST_FQN_BYTES} bytes: shorten a name", field="name")
        stamped = self._stamped(fields, FIRST_VERSION) | {"id": self.ids.entity(), "fullyQualifiedName": fqn}
        if "deleted" in keys_of(ENTITY_TYPES[entity_type]):
            stamped["deleted"] = False
        new = Stored(stamped["id"], entity_type, fqn, FIRST_VERSION, stamped)
        self.transaction.insert(new)
        event = self._event(EventType.ENTITY_CREATED, None, new, diff(entity_type, {}, fields))
        return Written(stamped, event, created=True)

    def change(self, old: Stored, fields: Document, event_type: EventType = EventType.ENTITY_UPDATED) -> Written:
        """Replace an entity's fields, raising its version; nothing if they are the same."""
        description = diff(old.entity_type, old.document, fields)
        if description.is_empty():
            return Written(old.document, None)
        breaking = is_breaking(old.entity_type, description)
        version = next_version(old.version, breaking=breaking)
        description = description.model_copy(update={"previous_version": old.version})
        kept = {key: old.document[key] for key in SERVER_KEPT if key in old.document}
        given = {key: value for key, value in fields.items() if key not in SERVER_KEPT}
        stamped = self._stamped({**kept, **given}, version) | {"changeDescription": description.to_wire()}
        new = Stored(old.id, old.entity_type, old.fqn, version, stamped)
        self.transaction.update(old, new)
        return Written(stamped, self._event(event_type, old, new, description))

    def remove(self, old: Stored) -> Written:
        """Erase an entity for good."""
        self.transaction.erase(old)
        gone = FieldChange(name="entity", old_value=_shown(old.document))
        description = ChangeDescription(fields_deleted=(gone,), previous_version=old.version)
        return Written(old.document, self._event(EventType.ENTITY_DELETED, old, None, description))

    def note(
        self,
        old: Stored,
        description: ChangeDescription,
        *,
        event_type: EventType = EventType.ENTITY_UPDATED,
        document: Document | None = None,
    ) -> Written:
        """Record what raises no version: a follower, a test result, a run, an edge."""
        new = Stored(old.id, old.entity_type, old.fqn, old.version, document or old.document)
        if document is not None:
            self.transaction.update(old, new)
        description = description.model_copy(update={"previous_version": old.version})
        return Written(new.document, self._event(event_type, old, new, description))

    def _stamped(self, fields: Document, version: Decimal) -> Document:
        return fields | {
            "version": version_to_wire(version),
            "updatedAt": self.at_ms,
            "updatedBy": self.actor.name,
        }

    def _event(
        self, event_type: EventType, old: Stored | None, new: Stored | None, description: ChangeDescription
    ) -> ChangeEvent:
        subject = new or old
        assert subject is not None, "an event is about something that is or was there"  # noqa: S101
        event = ChangeEvent(
            id=self.ids.event(),
            event_type=event_type,
            entity_type=subject.entity_type,
            entity_id=subject.id,
            entity_fully_qualified_name=subject.fqn,
            domains=_domains(subject.document),
            previous_version=old.version if old else None,
            current_version=new.version if new else None,
            user_name=self.actor.name,
            user_id=self.actor.id,
            timestamp=self.at_ms,
            change_description=description,
            entity=_shown(subject.document),
        )
        self.events.append(CapturedEvent(event, derive(event, actor_is_bot=self.actor.is_bot)))
        return event


def _domains(document: Document) -> tuple[str, ...] | None:
    ids = tuple(domain["id"] for domain in document.get("domains") or () if "id" in domain)
    return ids or None


def _shown(document: Document) -> Document:
    """Return the entity as events carry it; the change description stands beside it already."""
    return {key: value for key, value in document.items() if key != "changeDescription"}
