"""Change events of an OpenMetadata: which of them are news, in their order, what each says, and the ids they give.

Source: OpenMetadata's ``type/changeEvent.json``; its ``entity`` is a JSON string, its ``timestamp`` epoch milliseconds.
Next: ``sources/openmetadata/mirror.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from tocsin.flow.capture.write import Ids
from tocsin.model.entity import Document
from tocsin.sources.openmetadata.documents import is_id, is_time
from tocsin.sources.openmetadata.json_texts import parse_json

DELETIONS = frozenset({"entityDeleted", "entitySoftDeleted"})
CHANGES = frozenset({"entityCreated", "entityUpdated", "entityFieldsChanged", "entityRestored", "logicalTestCaseAdded"})
_REPORTS = {"testCase": "testCaseResult", "pipeline": "pipelineStatus"}


@dataclass(frozen=True)
class SourceEvent:
    """One change event of the source; ``entity`` is the document that it carries, if it does."""

    id: str
    event_type: str
    entity_type: str
    entity_id: str
    timestamp_ms: int
    author: str | None
    changes: Document
    entity: Document | None

    @property
    def is_for_good(self) -> bool:
        """Whether it says that the entity is there no more."""
        return self.event_type == "entityDeleted"

    def managed_keys(self) -> frozenset[str]:
        """Return the keys of the document that the event decides about: those it carries, and those it took away."""
        removed = (change.get("name") for change in _list(self.changes.get("fieldsDeleted")))
        return frozenset((*(self.entity or {}), *(str(name).split(".")[0] for name in removed)))

    def changes_field(self, name: str) -> bool:
        """Return whether it says that a field changed."""
        keys = ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")
        return any(change.get("name") == name for key in keys for change in _list(self.changes.get(key)))

    def reports(self) -> Iterator[Document]:
        """Yield the results of a test, or the runs of a pipeline, that the event reports."""
        name = _REPORTS.get(self.entity_type)
        for key in ("fieldsAdded", "fieldsUpdated"):
            for change in _list(self.changes.get(key)):
                report = _object(change.get("newValue")) if name and change.get("name") == name else None
                if report is not None:
                    yield report


def events_in_order(events: Iterable[Document]) -> list[SourceEvent]:
    """Return the events by their times, each id once; what is no change event is left out."""
    by_id = {event.id: event for event in map(_event_of, events) if event is not None}
    return sorted(by_id.values(), key=lambda event: event.timestamp_ms)


def ids_with(ids: Ids, *, entity_id: str | None = None, event_id: str | None = None, skipped: int = 0) -> Ids:
    """Return the same sources of ids, which begin with the given ones; ``event_id`` follows after some others."""

    def begin(first: str | None, later: Callable[[], str], skipped: int = 0) -> Callable[[], str]:
        waiting = [first, *[None] * skipped]
        return lambda: (waiting.pop() if waiting else None) or later()

    return Ids(begin(entity_id, ids.entity), begin(event_id, ids.event, skipped))


def _event_of(event: Document) -> SourceEvent | None:
    at_ms = event.get("timestamp")
    texts = [event.get(key) for key in ("id", "eventType", "entityType", "entityId")]
    if not is_time(at_ms) or not all(isinstance(text, str) for text in texts) or not is_id(event["id"]):
        return None
    changes = event.get("incrementalChangeDescription") or event.get("changeDescription")
    author = event.get("userName")
    return SourceEvent(
        id=str(event["id"]).lower(),
        event_type=event["eventType"],
        entity_type=event["entityType"],
        entity_id=event["entityId"].lower(),
        timestamp_ms=at_ms,
        author=author if isinstance(author, str) and author else None,
        changes=changes if isinstance(changes, dict) else {},
        entity=_object(event.get("entity")),
    )


def _object(value: Any) -> Document | None:  # Any: JSON, or a string that holds JSON
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except orjson.JSONDecodeError:
            return None
    return value if isinstance(value, dict) else None


def _list(value: Any) -> list[Document]:  # Any: a JSON value
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []
