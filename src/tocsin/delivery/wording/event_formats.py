"""Formats of one event for its recipients, made of the event as JSON (``ChangeEvent.as_wire``).

``seed`` is the change event of seeds/002, as its schema has it; the default adds ids to it, and ``tocsin`` what each
change means; ``openmetadata`` is upstream 1.13's ``type/changeEvent.json``; ``cloudEvents`` is CloudEvents 1.0 in
structured mode.
Next: ``delivery/channels/webhook/render.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from uuid import UUID

import orjson

from tocsin.clock import to_datetime
from tocsin.conditions.breaking import reasons_of_event
from tocsin.delivery.lines import UTC
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.meanings import semantic_changes
from tocsin.errors import InvalidInput
from tocsin.model.change import (
    ANNOUNCEMENTS,
    BELOW_COUNT,
    BREAKING_REASONS,
    IMPORTED,
    OF_ALERTS,
    OF_CHANGE_REQUESTS,
    PART_OF,
    REASON,
    ChangeEvent,
    EventType,
)
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.member_fqn import with_member_names
from tocsin.model.runbook import RUNBOOK
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
_EVENT_KEYS = frozenset({*DEFAULT_KEYS, BREAKING_REASONS, ANNOUNCEMENTS, REASON, BELOW_COUNT, IMPORTED, PART_OF})
"""Those of an event in the form ``tocsin`` that no others follow from."""

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
        *OF_ALERTS,
        EventType.ALERT_INCIDENT_UPDATED,
        *OF_CHANGE_REQUESTS,
        EventType.TEST_SUITE_RUN_COMPLETED,
        EventType.RETENTION_APPLIED,
        EventType.SCHEDULED_CHECK,
        EventType.INCIDENT_REMINDER,
    }
)
"""The event types that OpenMetadata does not know."""


def as_seed(event: Document, _source: str = "") -> Document:
    """Return the event as the schema of seeds/002 has it; what is unknown is left out, and so is a user without id.

    Event types that the schema lacks become ``entityUpdated``.
    """
    document = _with_entity(event, SEED_KEYS)
    if event["eventType"] not in SEED_TYPES:
        document["eventType"] = EventType.ENTITY_UPDATED.value
    if not _is_uuid(event.get("userId", "")):
        document.pop("userId", None)
    return document


def as_default(event: Document, _source: str = "") -> Document:
    """Return the event with the fields of seeds/002, its ``id`` and its own type; what is unknown is left out.

    ``idempotencyKey`` is ours. The seed's key, ``entityId:currentVersion``, is the same for all events that make no
    version.
    """
    return _with_entity(event, DEFAULT_KEYS) | {"idempotencyKey": event["id"]}


def as_tocsin(event: Document, _source: str = "", zone: str = UTC) -> Document:
    """Return the event in the default form, what messages say of it, the meaning of each change, and the facts of ours.

    The messages have times in an IANA ``zone``: that of a reader, if one is known.

    ``recursive``, as in OpenMetadata 2, says of a deletion, restore or rename that it includes all below the entity.
    """
    change_event = ChangeEvent.model_validate(event)
    places = {key: event[key] for key in (BELOW_COUNT, IMPORTED, PART_OF) if key in event}
    meaning = {"semanticChanges": semantic_changes(change_event), **own_facts(change_event)}
    text = event_text(change_event, zone=zone)
    words = {"title": text.headline, "changes": [line.sentence for line in text.lines]}
    return {**as_default(event), **words, **meaning, RECURSIVE: BELOW_COUNT in event, **places}


def event_in(document: Document) -> ChangeEvent:
    """Return the event that ``as_tocsin`` has written.

    Raises
    ------
    ValidationError : it is none, or one of another version
    """
    known_keys = {key: value for key, value in document.items() if key in _EVENT_KEYS}
    for key in known_keys.keys() & {BREAKING_REASONS, ANNOUNCEMENTS}:
        known_keys[key] = [{name: one[name] for name in one if name != "text"} for one in known_keys[key]]
    return ChangeEvent.model_validate(known_keys)


def own_facts(event: ChangeEvent) -> Document:
    """Return whether an event breaks who reads its asset, why, what was announced of it, and why it was made."""
    reasons = reasons_of_event(event)
    facts: Document = {"breaking": bool(reasons), BREAKING_REASONS: [reason.as_json() for reason in reasons]}
    if event.announcements is not None:
        facts[ANNOUNCEMENTS] = [one.as_json() for one in event.announcements]
    return facts if event.reason is None else facts | {REASON: event.reason}


def as_upstream(event: Document, _source: str = "") -> Document:
    """Return the event as upstream 1.13 has it: ``entity`` as JSON text, ``domains`` as ids, no ``userId``.

    Lists and objects among the values of a change are JSON text, too. Event types that upstream does not know become
    ``entityUpdated``.
    """
    document = _with_entity(event, UPSTREAM_KEYS)
    if "changeDescription" in document:
        document["changeDescription"] = with_texts(document["changeDescription"])
    if event["eventType"] in OWN_TYPES:
        document["eventType"] = EventType.ENTITY_UPDATED.value
    if "entity" in document:
        document["entity"] = orjson.dumps(document["entity"]).decode()
    if domains := [domain for domain in event.get("domains", ()) if _is_uuid(domain)]:
        document["domains"] = domains
    return document


def as_cloud_event(event: Document, source: str) -> Document:
    """Return the event in a CloudEvents 1.0 envelope; ``data`` is the default form."""
    return {**cloud_attributes(event, source), "datacontenttype": "application/json", "data": as_default(event)}


def cloud_attributes(event: Document, source: str) -> dict[str, str]:
    """Return the attributes of the event as a CloudEvent 1.0, and as extensions what is known beside its schema."""
    return {
        "specversion": "1.0",
        "id": event["id"],
        "source": source,
        "type": f"org.open-metadata.{event['eventType']}",
        "subject": event.get("entityFullyQualifiedName") or event["entityId"],
        "time": to_datetime(event["timestamp"]).isoformat().replace("+00:00", "Z"),
        **({BREAKING: "true"} if event.get(BREAKING_REASONS) else {}),
        **({REASON: event[REASON]} if REASON in event else {}),
        **({RECURSIVE: "true"} if BELOW_COUNT in event else {}),
    }


EVENT_FORMATS: dict[str, Callable[[Document, str], Document]] = {
    "default": as_default,
    "seed": as_seed,
    "tocsin": as_tocsin,
    "openmetadata": as_upstream,
    "cloudEvents": as_cloud_event,
}
"""What ``payloadFormat`` of a destination and the setting ``event_format`` may say; each takes an event as JSON."""


def check_format(config: DestinationConfig, place: str) -> None:
    """Check the ``payloadFormat`` of a configuration; raise ``InvalidInput`` if it is none of these."""
    if config.payload_format is not None and config.payload_format not in EVENT_FORMATS:
        message = f"must be one of {', '.join(sorted(EVENT_FORMATS))}, or omitted"
        raise InvalidInput(message, field=f"{place}.payloadFormat")


BREAKING = "breaking"
"""The extension of CloudEvents that says that an event breaks who reads its asset; ``reason`` says why it was made."""

RECURSIVE = "recursive"
"""The extension of CloudEvents that says that an event includes all below its entity."""

FULL_EVENT, DATA_REFERENCE = "fullEvent", "dataref"
"""The keys of a thin event, and of a CloudEvent, that hold the address of the whole one."""


def render_event(
    event: Document, payload_format: str, source: str, *, limit_bytes: int, in_brief: bool = False
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
    address = f"{source}/api/v1/events/{event['id']}"
    for large_keys in (("entity",), ("entity", "changeDescription")):
        document = render({key: value for key, value in event.items() if key not in large_keys}, source)
        if render is as_cloud_event:
            document[DATA_REFERENCE] = address
        elif render not in (as_upstream, as_seed):  # whose schemas have no place for it
            document[FULL_EVENT] = address
        payload = orjson.dumps(document)
        if len(payload) <= limit_bytes:
            break
    return payload, address


def _with_entity(event: Document, keys: Sequence[str]) -> Document:
    """Return an event for its recipient, with these keys alone: nothing in it reveals that something is hidden."""
    document = {key: event[key] for key in keys if key in event}
    if "changeDescription" in document:
        document["changeDescription"] = change_without_secrets(document["changeDescription"])
    if "entity" in document:
        document["entity"] = _with_names(event["entityType"], document["entity"])
    return document


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


def _with_names(entity_type: str, entity: Document) -> Document:
    row, visible_entity = ENTITY_TYPES.get(entity_type), without_secrets(entity)
    if RUNBOOK in visible_entity:  # of ours: messages show it beside the event
        visible_entity = {key: value for key, value in visible_entity.items() if key != RUNBOOK}
    return with_member_names(row, visible_entity) if row else visible_entity


@lru_cache(1_024)
def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
