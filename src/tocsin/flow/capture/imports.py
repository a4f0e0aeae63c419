"""Imports that are told as one: what a sheet, or one transaction of a bulk request, writes below a container.

Each entity has its own event. These are parts of one more event, of the container, which says how many were created and
updated. A change that breaks readers is no part: it is told by itself. Nor is what is a whole with parts of its own.
Source: OpenMetadata's ``EntityCsvChangeLog``. Next: ``flow/capture/write.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.write import IMPORTED_TYPES, Record
from tocsin.model.change import BULK_IMPORT, ChangeDescription, ChangeEvent, EventType, FieldChange, ImportedCount
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.stored import CapturedEvent, Key, Stored

FEWEST_IMPORTED = 10
"""Entities that an import writes below a container to be told as one: of fewer, a message about each says more."""


class BulkImports:
    """The imports of one transaction of a bulk request: one for each container that many of its rows name.

    Events are in the log before it is known how many rows change something, so they name the event of the import at
    once. ``tell`` writes that event if they are enough; else there is none, and each is told by itself.
    """

    def __init__(self, kind: EntityType, requests: Sequence[Document], new_event_id: Callable[[], str]) -> None:
        self._kind = kind
        parents = [_named_parent(kind, request) for request in requests]
        counts = Counter(parents)
        event_ids = {parent: new_event_id() for parent, count in counts.items() if parent and count >= FEWEST_IMPORTED}
        self.event_ids = [None if parent is None else event_ids.get(parent) for parent in parents]
        """Of each request, the id of the event of its import; None if it belongs to none."""
        self._parts: dict[str, list[ChangeEvent]] = {}

    def note_parts(self, record: Record) -> None:
        """Take note of a row's events that are parts of an import (``Record.import_id``)."""
        if record.import_id is not None:
            parts = [captured.event for captured in record.events if captured.event.part_of == record.import_id]
            self._parts.setdefault(record.import_id, []).extend(parts)

    def tell(self, record: Record) -> None:
        """Record the imports that wrote enough."""
        for event_id, parts in self._parts.items():
            if _is_enough(parts):
                entity = parts[0].entity or {}
                parent = entity[self._kind.parent_field(entity) or ""]
                container = record.transaction.find(
                    parent["type"], Key.by_name(parent["fullyQualifiedName"]), Hold.SHARED
                )
                if container is not None:
                    _note(record, container, parts, event_id)


def tell_sheet(record: Record, top: Stored) -> None:
    """Record the import of a sheet, if the events of ``record`` are about enough entities below what it is a sheet of.

    Teams are not below each other by their names.
    """
    above = f"{top.fqn}."
    numbers = [
        number
        for number, entry in enumerate(record.events)
        if _may_be_part(entry.event)
        and entry.event.entity_id != top.id
        and (
            entry.event.entity_type == top.entity_type
            or (entry.event.entity_fully_qualified_name or "").startswith(above)
        )
    ]
    parts = [record.events[number].event for number in numbers]
    if not _is_enough(parts):
        return
    event_id = record.ids.event()
    for number in numbers:
        entry = record.events[number]
        record.events[number] = CapturedEvent(entry.event.model_copy(update={"part_of": event_id}), entry.derived)
    _note(record, top, parts, event_id)


def _named_parent(kind: EntityType, request: object) -> str | None:
    """Return the FQN under which a request names its parent."""
    parent = request.get(kind.parent_field(request) or "") if isinstance(request, dict) else None
    return parent if isinstance(parent, str) else None


def _may_be_part(event: ChangeEvent) -> bool:
    is_of_a_whole = event.is_whole or event.part_of is not None
    return event.event_type in IMPORTED_TYPES and not event.breaking_reasons and not is_of_a_whole


def _is_enough(parts: Sequence[ChangeEvent]) -> bool:
    return len({event.entity_id for event in parts}) >= FEWEST_IMPORTED


def _note(record: Record, container: Stored, parts: Sequence[ChangeEvent], event_id: str) -> None:
    """Record the event of an import below a container."""
    record.note(container, ChangeDescription(fields_updated=(FieldChange(name=BULK_IMPORT),)))
    noted = record.events[-1]
    facts = {"id": event_id, "imported": _counts_of(parts)}
    record.events[-1] = CapturedEvent(noted.event.model_copy(update=facts), noted.derived)


def _counts_of(parts: Sequence[ChangeEvent]) -> tuple[ImportedCount, ...]:
    """Return how many entities of each type were created and updated; an entity counts once."""
    types_by_id = {event.entity_id: event.entity_type for event in parts}
    created_ids = {event.entity_id for event in parts if event.event_type is EventType.ENTITY_CREATED}
    created_counts = Counter(types_by_id[entity_id] for entity_id in created_ids)
    return tuple(
        ImportedCount(
            entity_type=entity_type, created=created_counts[entity_type], updated=count - created_counts[entity_type]
        )
        for entity_type, count in sorted(Counter(types_by_id.values()).items())
    )
