"""Webhook payloads: one event in the format that its destination asks for.

``seed`` is the change event of seeds/002, as its schema has it; the default adds ids to it, and ``tocsin`` what each
change means; ``openmetadata`` is upstream 1.13's ``type/changeEvent.json``; ``cloudEvents`` is CloudEvents 1.0 in
structured mode.
Next: ``delivery/channels/webhook/render.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

import orjson

from tocsin.clock import to_datetime
from tocsin.delivery.wording.changes import semantic_changes
from tocsin.errors import InvalidInput
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.member_fqn import with_member_names
from tocsin.model.secret import change_without_secrets, without_secrets
from tocsin.model.subscription import DestinationConfig

SEED_KEYS = [
    "eventType",
    "entityType",
    "entityId",
    "entityFullyQualifiedName",
    "previousVersion",
    "currentVersion",
    "userName",
    "userId",
    "timestamp",
    "changeDescription",
    "entity",
]
DEFAULT_KEYS = ["id", *SEED_KEYS]
UPSTREAM_KEYS = [key for key in DEFAULT_KEYS if key != "userId"]
"""The keys that an event may have in each form."""

SEED_TYPES = frozenset(
    {EventType.ENTITY_CREATED, EventType.ENTITY_UPDATED, EventType.ENTITY_SOFT_DELETED, EventType.ENTITY_DELETED}
)
"""The event types that the schema of seeds/002 has."""

OWN_TYPES = frozenset(
    {
        EventType.POLICY_VIOLATION,
        EventType.TEST_CASE_FAILURE,
        EventType.FRESHNESS_VIOLATION,
        EventType.PROFILE_ANOMALY,
        EventType.SLA_VIOLATION,
        EventType.USAGE_DROP,
        EventType.QUERY_PATTERN_CHANGE,
        EventType.AUDIT_FINDING,
        EventType.DESTINATION_FAILING,
        EventType.DESTINATION_STOPPED,
        EventType.ALERT_NARROWED,
        EventType.ALERT_INCIDENT_UPDATED,
        EventType.TEST_SUITE_RUN_COMPLETED,
        EventType.RETENTION_APPLIED,
        EventType.LAG_EXCEEDED,
        EventType.LAG_RECOVERED,
    }
)
"""The event types that OpenMetadata does not know."""


def as_seed(event: ChangeEvent, _source: str = "") -> Document:
    """Return the event as the schema of seeds/002 has it; what is unknown is left out, and so is a user without id.

    Event types that the schema lacks become ``entityUpdated``.
    """
    document = _with_entity(event, SEED_KEYS)
    if event.event_type not in SEED_TYPES:
        document["eventType"] = EventType.ENTITY_UPDATED.value
    if not _is_uuid(event.user_id or ""):
        document.pop("userId", None)
    return document


def as_default(event: ChangeEvent, _source: str = "") -> Document:
    """Return the event with the fields of seeds/002, its ``id`` and its own type; what is unknown is left out.

    ``idempotencyKey`` is ours. The seed's key, ``entityId:currentVersion``, is the same for all events that make no
    version.
    """
    return _with_entity(event, DEFAULT_KEYS) | {"idempotencyKey": event.id}


def as_tocsin(event: ChangeEvent, _source: str = "") -> Document:
    """Return the event in the default form and, as ``semanticChanges``, the meaning of each change."""
    return {**as_default(event), "semanticChanges": semantic_changes(event)}


def as_upstream(event: ChangeEvent, _source: str = "") -> Document:
    """Return the event as upstream 1.13 has it: ``entity`` as JSON text, ``domains`` as ids, no ``userId``.

    Lists and objects among the values of a change are JSON text, too. Event types that upstream does not know become
    ``entityUpdated``.
    """
    wire = _wire(event)
    if "changeDescription" in wire:
        wire["changeDescription"] = with_texts(wire["changeDescription"])
    document = {key: wire[key] for key in UPSTREAM_KEYS if key in wire}
    if event.event_type in OWN_TYPES:
        document["eventType"] = EventType.ENTITY_UPDATED.value
    if event.entity is not None:
        document["entity"] = orjson.dumps(_with_names(event)).decode()
    if domains := [domain for domain in event.domains or () if _is_uuid(domain)]:
        document["domains"] = domains
    return document


def as_cloud_event(event: ChangeEvent, source: str) -> Document:
    """Return the event in a CloudEvents 1.0 envelope; ``data`` is the default form."""
    return {**cloud_attributes(event, source), "datacontenttype": "application/json", "data": as_default(event)}


def cloud_attributes(event: ChangeEvent, source: str) -> dict[str, str]:
    """Return the attributes of the event as a CloudEvent 1.0."""
    return {
        "specversion": "1.0",
        "id": event.id,
        "source": source,
        "type": f"org.open-metadata.{event.event_type}",
        "subject": event.entity_fully_qualified_name or event.entity_id,
        "time": to_datetime(event.timestamp).isoformat().replace("+00:00", "Z"),
    }


EVENT_FORMATS: dict[str, Callable[[ChangeEvent, str], Document]] = {
    "default": as_default,
    "seed": as_seed,
    "tocsin": as_tocsin,
    "openmetadata": as_upstream,
    "cloudEvents": as_cloud_event,
}
"""What ``payloadFormat`` of a destination and the setting ``event_format`` may say."""


def check_format(config: DestinationConfig, place: str) -> None:
    """Check the ``payloadFormat`` of a configuration; raise ``InvalidInput`` if it is none of these."""
    if config.payload_format is not None and config.payload_format not in EVENT_FORMATS:
        message = f"must be one of {', '.join(sorted(EVENT_FORMATS))}, or omitted"
        raise InvalidInput(message, field=f"{place}.payloadFormat")


FULL_EVENT, DATA_REFERENCE = "fullEvent", "dataref"
"""The keys of a thin event, and of a CloudEvent, that hold the address of the whole one."""


def render_event(
    event: ChangeEvent, payload_format: str, source: str, *, limit_bytes: int, in_brief: bool = False
) -> tuple[bytes, str | None]:
    """Return an event as JSON, and the address of the whole one where only a part of it is in the JSON.

    An event of more than ``limit_bytes``, or ``in_brief``, goes without its entity, at worst without its changes. An
    unknown format is the default one.
    """
    render = EVENT_FORMATS.get(payload_format, as_default)
    if not in_brief:
        payload = orjson.dumps(render(event, source))
        if len(payload) <= limit_bytes:
            return payload, None
    address = f"{source}/api/v1/events/{event.id}"
    for thin in ({"entity": None}, {"entity": None, "change_description": None}):
        document = render(event.model_copy(update=thin), source)
        if render is as_cloud_event:
            document[DATA_REFERENCE] = address
        elif render not in (as_upstream, as_seed):  # whose schemas have no place for it
            document[FULL_EVENT] = address
        payload = orjson.dumps(document)
        if len(payload) <= limit_bytes:
            break
    return payload, address


def _with_entity(event: ChangeEvent, keys: Sequence[str]) -> Document:
    wire = _wire(event)
    if event.entity is not None:
        wire["entity"] = _with_names(event)
    return {key: wire[key] for key in keys if key in wire}


def with_texts(change: Document) -> Document:
    """Return a change description whose lists and objects among the values are JSON texts."""
    return {
        key: [{name: _as_text(value) for name, value in field.items()} for field in fields]
        if isinstance(fields, list)
        else fields
        for key, fields in change.items()
    }


def _as_text(value: object) -> object:
    return orjson.dumps(value).decode() if isinstance(value, list | dict) else value


def _wire(event: ChangeEvent) -> Document:
    """Return the event for its recipient: nothing in it reveals that something is hidden."""
    wire = event.as_wire()
    change = wire.get("changeDescription")
    if change:
        wire["changeDescription"] = change_without_secrets(change)
    return wire


def _with_names(event: ChangeEvent) -> Document:
    row, entity = ENTITY_TYPES.get(event.entity_type), without_secrets(event.entity or {})
    return with_member_names(row, entity) if row else entity


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
