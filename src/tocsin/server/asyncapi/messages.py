"""Messages of the AsyncAPI document: payload, headers, media type and an example of each.

Next: ``server/asyncapi/document.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from tocsin.delivery.wording.broker_headers import CLOUD_PREFIX, IDEMPOTENCY_HEADER, OFFSET_HEADER, RELAY_HEADER
from tocsin.delivery.wording.event_formats import DATA_REFERENCE, EVENT_FORMATS, as_cloud_event
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.entity import Document
from tocsin.model.severity import Severity
from tocsin.model.stated_reason import WHY_HEADER
from tocsin.server.alerts.event_shape import TAB_COUNTS
from tocsin.server.asyncapi.event_schemas import CLOUD_ATTRIBUTES, EXTENSIONS
from tocsin.server.http.answer_shapes import schema_of
from tocsin.server.http.json_schema import OPEN, TEXT, TIME, array, either, exact_object, ref

JSON = "application/json"
CLOUD_JSON, CLOUD_ARRAY_JSON = "application/cloudevents+json", "application/cloudevents-batch+json"

DEAD_LETTER_PREFIX = "tocsin-dead-"
"""What the names of headers begin with that say why an event of another system was refused."""

_EXAMPLE = ChangeEvent(
    id="0199c6f2-7c00-7000-8000-000000000001",
    event_type=EventType.ENTITY_UPDATED,
    entity_type="table",
    entity_id="123e4567-e89b-12d3-a456-426614174000",
    entity_fully_qualified_name="warehouse.shop.public.orders",
    previous_version="0.1",
    current_version="0.2",
    user_name="jane.smith",
    user_id="789e0123-e89b-12d3-a456-426614174222",
    timestamp=1_760_000_000_000,
    change_description=ChangeDescription(
        fields_added=(FieldChange(name="description", new_value="Orders of the web shop."),), previous_version="0.1"
    ),
    entity={"id": "123e4567-e89b-12d3-a456-426614174000", "name": "orders", "description": "Orders of the web shop."},
)

_NUMBER_TEXT: Document = {"type": "string", "pattern": "^[0-9]+$"}
_HEX_DIGEST: Document = {"type": "string", "pattern": "^sha256=[0-9a-f]{64}$"}

WEBHOOK_HEADERS: dict[str, Document] = {
    "webhook-id": {**TEXT, "description": "Id of the message, the same in all attempts: drop what you have seen."},
    "webhook-timestamp": {**_NUMBER_TEXT, "description": "Time of signing, in seconds."},
    "Idempotency-Key": {**TEXT, "description": "Id of the event; of an array, its `webhook-id`."},
    "X-Tocsin-Offset": {**_NUMBER_TEXT, "description": "Offset of the event, or of the first one, in the log."},
    "X-Tocsin-Reason": {**TEXT, "description": "Why this destination gets it."},
}
"""Headers of every request with events."""

SIGNATURES: dict[str, Document] = {
    "webhook-signature": {
        "type": "string",
        "pattern": r"^v1,\S+( v1,\S+)*$",
        "description": "Standard Webhooks 1.0, over id, time and body: verify this one.",
    },
    "X-OpenMetadata-Signature": {**_HEX_DIGEST, "description": "Hex HMAC-SHA256 of the body."},
    "X-OM-Signature": {"type": "string", "pattern": r"^sha256=\S+$", "description": "The same, as base64."},
}
"""Headers of a request to a destination with a secret."""

_OTHER_HEADERS: dict[str, Document] = {
    "X-Tocsin-Breaking": {"const": "true", "description": "An event in the body breaks who reads its asset."},
    "X-Tocsin-Severity": {"enum": [*Severity], "description": "How bad it is, by its alerts: the worst of them."},
    "X-Tocsin-Runbook": {**TEXT, "description": "What is to be done, by the first of its alerts that says so."},
    "X-Tocsin-Recursive": {"const": "true", "description": "An event in the body includes all below its entity."},
    WHY_HEADER: {
        **TEXT,
        "description": "Why the change was made, as its author says, or all changes of an array; as RFC 8187 has it.",
    },
    "Content-Type": TEXT,
    "Content-Encoding": {"const": "gzip"},
    "Link": {**TEXT, "description": "Addresses of the whole events, where only parts of them are in the body."},
    "Authorization": TEXT,
}


def broker_message(payload_format: str) -> Document:
    """Return an event in a topic; key and headers are the same in Kafka and in Pulsar, where they are properties."""
    is_cloud = EVENT_FORMATS[payload_format] is as_cloud_event
    media = CLOUD_JSON if is_cloud else JSON
    attributes = () if is_cloud else CLOUD_ATTRIBUTES
    required_headers = {
        "content-type": {"const": media},
        **{f"{CLOUD_PREFIX}{name}": TEXT for name in attributes},
        IDEMPOTENCY_HEADER: {**TEXT, "description": "Id of the event: drop what you have seen."},
        OFFSET_HEADER: {**_NUMBER_TEXT, "description": "Offset of the event in Tocsin's log; gaps are normal."},
        RELAY_HEADER: {**TEXT, "description": "Name of the relay."},
    }
    optional = {DATA_REFERENCE: {**TEXT, "description": "The whole event."}, **EXTENSIONS}
    further = {} if is_cloud else {f"{CLOUD_PREFIX}{name}": schema for name, schema in optional.items()}
    return {
        "title": f"Change event, format {payload_format}",
        "contentType": media,
        "headers": exact_object(required_headers, further),
        "payload": ref(event_schema_name(payload_format)),
        "bindings": {"kafka": {"key": {"type": "string", "description": "Id of the entity.", "format": "uuid"}}},
        "examples": [{"payload": _example(payload_format)}],
    }


def webhook_message(payload_format: str, *, is_array: bool) -> Document:
    """Return a request with one event, or with an array of events."""
    is_cloud = EVENT_FORMATS[payload_format] is as_cloud_event
    media = (CLOUD_ARRAY_JSON if is_array else CLOUD_JSON) if is_cloud else JSON
    event, example = ref(event_schema_name(payload_format)), _example(payload_format)
    return {
        "title": f"{'Array of change events' if is_array else 'Change event'}, payloadFormat {payload_format}",
        "contentType": media,
        "headers": _open_headers({**WEBHOOK_HEADERS, "Content-Type": {"const": media}}),
        "payload": {**array(event), "minItems": 1} if is_array else event,
        "examples": [{"payload": [example] if is_array else example}],
    }


def own_body_message() -> Document:
    """Return a request whose body is made by a template of the destination."""
    return {
        "title": "Body of the destination's own template",
        "contentType": JSON,
        "headers": _open_headers(WEBHOOK_HEADERS),
        "payload": {"description": "Any JSON."},
    }


def challenge_message() -> Document:
    """Return the request that asks whether an endpoint wants to get events."""
    challenge = {"type": {"const": "endpointVerification"}, "challenge": TEXT, "timestamp": TIME}
    return {
        "title": "Challenge, before the first event, with `verification: challenge`",
        "contentType": JSON,
        "headers": _open_headers({name: WEBHOOK_HEADERS[name] for name in ("webhook-id", "webhook-timestamp")}),
        "payload": exact_object(challenge),
    }


def challenge_answer() -> Document:
    """Return what an endpoint answers to a challenge."""
    response = {**TEXT, "description": "The challenge, or its hex HMAC-SHA256 if the destination has a secret."}
    return {"title": "Answer to a challenge", "contentType": JSON, "payload": exact_object({"response": response})}


def notification_message() -> Document:
    """Return a server-sent event with one entry of an inbox."""
    return _server_sent("notification", ref("Notification"), "Notification, as in the pages of the inbox")


def states_message() -> Document:
    """Return the server-sent event that says that entries of an inbox were marked, or came back."""
    title = "Entries were marked or came back: the counts since then"
    payload = exact_object({"counts": schema_of(TAB_COUNTS)})
    return _server_sent("states", payload, title) | {"headers": exact_object({"event": either("states")})}


def reset_message() -> Document:
    """Return the server-sent event after which an inbox is to be read again."""
    return _server_sent("reset", exact_object({"streamFrom": TEXT}), "The store was restored: read the inbox again")


def ingested_message() -> Document:
    """Return an event of another system in a topic that is read."""
    return {
        "title": "Event of another system: a CloudEvent, binary or structured, or a change event",
        "payload": {**OPEN, "description": "As bodies of `POST /api/v1/events/ingest`, one in each record."},
    }


def dead_letter_message() -> Document:
    """Return an event of another system that was refused: the record as it was, with the reason in its headers."""
    texts = {f"{DEAD_LETTER_PREFIX}{name}": TEXT for name in ("reason", "message", "topic", "group")}
    numbers = {f"{DEAD_LETTER_PREFIX}{name}": _NUMBER_TEXT for name in ("partition", "offset", "timestamp")}
    optional = {f"{DEAD_LETTER_PREFIX}{name}": TEXT for name in ("field", "value")}
    return {
        "title": "Event of another system that was refused",
        "headers": {"type": "object", "required": [*texts, *numbers], "properties": {**texts, **numbers, **optional}},
        "payload": {"description": "The value as it was, even if it is no JSON; none if it was too large."},
    }


def json_message(title: str, schema: str) -> Document:
    """Return a body of a request or an answer, by the name of its schema in the OpenAPI document."""
    return {"title": title, "contentType": JSON, "payload": ref(schema)}


def event_schema_name(payload_format: str) -> str:
    """Return the name of the schema of events in a format."""
    return f"ChangeEvent.{payload_format}"


def _server_sent(name: str, schema: Document, title: str) -> Document:
    fields = {"event": either(name), "id": {**TEXT, "description": "Send it as `Last-Event-ID` to go on behind it."}}
    return {"name": name, "title": title, "contentType": JSON, "headers": exact_object(fields), "payload": schema}


def _open_headers(required: Mapping[str, Document]) -> Document:
    """Return the schema of a request's headers: a destination may have others of its own."""
    optional = {name: schema for name, schema in (SIGNATURES | _OTHER_HEADERS).items() if name not in required}
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def _example(payload_format: str) -> Document:
    rendered = EVENT_FORMATS[payload_format](_EXAMPLE.as_wire(), "https://tocsin.example.org")
    example: Document = orjson.loads(orjson.dumps(rendered))
    return example
