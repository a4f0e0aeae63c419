"""Silence events: an entity has reported no success for as long as an alert allows.

The entity keeps its version, because nobody changed it. The event's id is derived from its causes, so it is written
only once. Next: ``jobs/silences.py``, which detects silences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import uuid5

from tocsin.errors import NotFound
from tocsin.flow.capture.operations import EntityWrites
from tocsin.flow.capture.write import Ids, Record
from tocsin.model.change import SILENCE, EventType, describe
from tocsin.model.notification import NAMESPACE
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Written


@dataclass(frozen=True)
class Silence:
    """No success of an entity for a time that an alert asks for.

    Attributes
    ----------
    entity_id : the silent entity
    since_ms : its last success, or its first report if it has had none
    asked_ms : the longest time asked for that has passed by now
    at_ms : when that was detected
    """

    entity_id: str
    since_ms: int
    asked_ms: int
    at_ms: int

    @property
    def event_id(self) -> str:
        """Return the id of its event: the same whenever it is detected."""
        return str(uuid5(NAMESPACE, f"silence|{self.entity_id}|{self.since_ms}|{self.asked_ms}"))


def add_silence(writes: EntityWrites, entity_type: str, silence: Silence) -> Written:
    """Put an event of a silence on the entity, in a transaction of its own; the log must not have it yet.

    Raises
    ------
    NotFound : there is no such entity any more.
    """

    def work(record: Record) -> Written:
        entity = record.transaction.find(entity_type, Key.by_id(silence.entity_id))
        if entity is None or entity.is_deleted:
            raise NotFound(f"{entity_type} {silence.entity_id} no longer exists")
        facts = {"timestamp": silence.at_ms, "since": silence.since_ms, "withoutSuccess": silence.asked_ms}
        record_with_event_id = replace(record, ids=Ids(record.ids.entity, lambda: silence.event_id))
        return record_with_event_id.note(entity, describe(SILENCE, new=facts), event_type=EventType.SLA_VIOLATION)

    return writes.within(work, actor=SYSTEM)
