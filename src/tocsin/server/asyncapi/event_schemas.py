"""JSON Schemas of change events in each format, from the keys and event types that the formats write.

Next: ``server/asyncapi/messages.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tocsin.delivery.wording.event_formats import (
    BREAKING,
    DATA_REFERENCE,
    DEFAULT_KEYS,
    FULL_EVENT,
    OWN_TYPES,
    RECURSIVE,
    SEED_KEYS,
    SEED_TYPES,
    UPSTREAM_KEYS,
)
from tocsin.flow.eventlog.topic_names import TOPIC_TYPES
from tocsin.model.change import BELOW_COUNT, IMPORTED, PART_OF, REASON, EventType
from tocsin.model.entity import Document
from tocsin.server.http.json_schema import COUNT, FLAG, ID, NUMBER, TEXT, TIME, URL, array, either, exact_object, ref

_ADDRESS: Document = {**URL, "description": "Address of the whole event, if it was too large; with a token."}
_SCHEMAS: dict[str, Document] = {
    "id": {**ID, "description": "Id of the event."},
    "eventType": either(*EventType),
    "entityType": either(*sorted(TOPIC_TYPES)),
    "entityId": ID,
    "entityFullyQualifiedName": TEXT,
    "previousVersion": NUMBER,
    "currentVersion": NUMBER,
    "userName": TEXT,
    "userId": {**TEXT, "description": "A UUID, or `system`."},
    "timestamp": TIME,
    "changeDescription": ref("ChangeDescription"),
    "entity": {
        "type": "object",
        "description": "The entity after the change, before it if it was deleted. The OpenAPI document has its schema.",
    },
    "idempotencyKey": {**ID, "description": "Id of the event: drop what you have seen."},
    "domains": array(ID),
    "title": {**TEXT, "description": "What happened, as the headlines of messages say it, with times in UTC."},
    "changes": {**array(TEXT), "description": "What messages say below it, a text for each line."},
    "semanticChanges": array(ref("SemanticChange")),
    "breaking": {**FLAG, "description": "Whether the change breaks who reads the asset."},
    "breakingReasons": array(ref("BreakingReason")),
    "announcements": array(ref("Announcement")),
    REASON: {**TEXT, "description": "Why the change was made, as its author says; left out where nobody does."},
    RECURSIVE: {**FLAG, "description": "Whether a deletion, restore or rename includes all below the entity."},
    BELOW_COUNT: {**COUNT, "description": "How many entities below it includes; left out where some may be hidden."},
    IMPORTED: {
        **array(exact_object({"entityType": TEXT, "created": COUNT, "updated": COUNT})),
        "description": "What an import wrote below the entity; left out where some may be hidden.",
    },
    PART_OF: {
        **ID,
        "description": "Id of the event of the deletion, restore, rename or import that includes this one. "
        "Of an import of few entities there is no such event.",
    },
    FULL_EVENT: _ADDRESS,
}
_WORDS = ("title", "changes", "semanticChanges")
_OWN_FACTS = ("breaking", "breakingReasons", "announcements", REASON, RECURSIVE, BELOW_COUNT, IMPORTED, PART_OF)
_REQUIRED = ("id", "eventType", "entityType", "entityId", "timestamp")


def _event(keys: Iterable[str], differences: Mapping[str, Document] | None = None) -> Document:
    """Return the schema of an event with these keys, and others for some of them."""
    schemas = {key: (differences or {}).get(key, _SCHEMAS[key]) for key in keys}
    required = {key: schema for key, schema in schemas.items() if key in _REQUIRED or key == "idempotencyKey"}
    return exact_object(required, {key: schema for key, schema in schemas.items() if key not in required})


_UPSTREAM_TYPES = [kind for kind in EventType if kind not in OWN_TYPES]
_CLOUD_EVENT: Document = {
    "specversion": {"const": "1.0"},
    "id": {**ID, "description": "Id of the event."},
    "source": {**URL, "description": "Address of this server."},
    "type": either(*(f"org.open-metadata.{kind}" for kind in EventType)),
    "subject": {**TEXT, "description": "Fully qualified name of the entity, or its id."},
    "time": {"type": "string", "format": "date-time"},
}

EXTENSIONS: dict[str, Document] = {
    BREAKING: {"const": "true", "description": "The change breaks who reads the asset; else left out."},
    RECURSIVE: {"const": "true", "description": "It includes all below the entity; else left out."},
    REASON: _SCHEMAS[REASON],
}
"""The attributes that only some events have as CloudEvents."""

CLOUD_ATTRIBUTES = tuple(_CLOUD_EVENT)
"""The attributes that every event has as a CloudEvent."""

EVENT_SCHEMAS: dict[str, Document] = {
    "default": _event([*DEFAULT_KEYS, "idempotencyKey", FULL_EVENT]),
    "seed": _event(SEED_KEYS, {"eventType": either(*sorted(SEED_TYPES)), "userId": ID}),
    "tocsin": _event([*DEFAULT_KEYS, "idempotencyKey", *_WORDS, *_OWN_FACTS, FULL_EVENT]),
    "openmetadata": _event(
        [*UPSTREAM_KEYS, "domains"],
        {"eventType": either(*_UPSTREAM_TYPES), "entity": {**TEXT, "description": "The entity as JSON."}},
    ),
    "cloudEvents": exact_object(
        {**_CLOUD_EVENT, "datacontenttype": {"const": "application/json"}, "data": ref("ChangeEvent.default")},
        {DATA_REFERENCE: _ADDRESS, **EXTENSIONS},
    ),
}
"""Payloads by format, each in the same way as ``EVENT_FORMATS`` writes it."""
