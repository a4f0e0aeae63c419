"""Fields of an event that say which change requests announced the change, or are announced, moved or withdrawn by it.

The event holds what they are made of, so that they stay as they were when it was written.
Next: ``conditions/fields.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.conditions import documents
from tocsin.conditions.breaking import reasons_of_event
from tocsin.model.announcement import ChangeOutcome, reasons_unannounced
from tocsin.model.change import CHANGE_REQUEST, OF_CHANGE_REQUESTS, ChangeEvent
from tocsin.model.entity import Document

IS_ANNOUNCED = "isAnnounced"
OPEN_ANSWERS = "openAnswers"


def announced_fields(event: ChangeEvent) -> Document:
    """Return whether the change was announced, the names of the requests, and how many of their answers were open."""
    open_counts = dict(_requests(event))
    return {
        IS_ANNOUNCED: _is_announced(event),
        CHANGE_REQUEST: sorted(open_counts),
        OPEN_ANSWERS: sum(open_counts.values()) if open_counts else None,
    }


def _is_announced(event: ChangeEvent) -> bool:
    announcements = event.announcements or ()
    if not announcements or any(one.outcome is ChangeOutcome.OTHERWISE for one in announcements):
        return False
    return not reasons_unannounced(reasons_of_event(event), announcements)


def _requests(event: ChangeEvent) -> Iterator[tuple[str, int]]:
    yield from ((one.request, one.open_answers) for one in event.announcements or ())
    change = event.change_description
    if event.event_type in OF_CHANGE_REQUESTS and change is not None:
        for field in (*change.fields_added, *change.fields_updated):
            value = documents.decode(field.new_value)
            if field.name == CHANGE_REQUEST and isinstance(value, dict):
                yield str(value["name"]), int(value.get("openAnswers") or 0)
