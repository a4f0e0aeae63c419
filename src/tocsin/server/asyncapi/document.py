"""AsyncAPI 3.1 document: topics of the relay, webhooks, live streams, queues and events in.

Brokers' and receivers' addresses are not in it: anybody may read it. Next: ``server/asyncapi/messages.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

import orjson

from tocsin.delivery.wording.event_formats import EVENT_FORMATS
from tocsin.flow.eventlog.topic_names import TOPIC_TYPES, dead_letter_topic_of
from tocsin.model.entity import Document
from tocsin.server.asyncapi.event_schemas import EVENT_SCHEMAS
from tocsin.server.asyncapi.messages import (
    JSON,
    broker_message,
    challenge_answer,
    challenge_message,
    dead_letter_message,
    event_schema_name,
    ingested_message,
    json_message,
    notification_message,
    own_body_message,
    reset_message,
    states_message,
    webhook_message,
)
from tocsin.server.openapi.answer_schemas import ANSWERS
from tocsin.server.openapi.entity_schemas import EntitySchemas
from tocsin.server.openapi.requests import REQUESTS
from tocsin.settings import Settings

_OF_INBOX = ("notification", "states", "reset")
_REFERENCE = re.compile(r"#/components/schemas/([\w.]+)")
_ALERT_QUEUE = "/api/v1/events/subscriptions/{subscriptionId}/queue/"
_TYPES = sorted(TOPIC_TYPES)
_WEBHOOKS = {
    **{f"webhook.{name}": webhook_message(name, is_array=False) for name in EVENT_FORMATS},
    **{f"webhook.{name}.array": webhook_message(name, is_array=True) for name in EVENT_FORMATS},
    "webhook.own": own_body_message(),
    "challenge": challenge_message(),
}
_QUEUES = {
    "claim": ("QueueClaim", "QueueItems", "Claim the oldest free events of a queue."),
    "acknowledge": ("QueueHeld", "QueueOutcomes", "Acknowledge claimed events."),
    "release": ("QueueHeld", "QueueOutcomes", "Give claimed events back."),
    "extend": ("QueueExtension", "QueueOutcomes", "Keep claimed events longer."),
}


def asyncapi_document(settings: Settings) -> Document:
    """Return the document of a server with these settings, and of a relay that has the same ones."""
    messages = {
        "event": broker_message(settings.relay_format),
        **_WEBHOOKS,
        "challengeAnswer": challenge_answer(),
        "notification": notification_message(),
        "reset": reset_message(),
        "states": states_message(),
        "ingest": json_message("Events of other systems", "IngestRequest"),
        "ingestAnswer": json_message("What became of each event", "IngestResults"),
    }
    for step, (body, reply, title) in _QUEUES.items():
        messages |= {f"queue.{step}": json_message(title, body), f"queue.{step}Answer": json_message("Answer", reply)}
    if settings.ingest_topic:
        messages |= {"ingestRecord": ingested_message(), "deadLetter": dead_letter_message()}
    operations = {**_send_operation(settings), **_receive_operation(settings)}
    document: Document = {
        "asyncapi": "3.1.0",
        "info": {
            "title": "Tocsin",
            "version": settings.api_version,
            "description": "Change events of data assets: topics, webhooks, live streams, queues, and events in.",
        },
        "defaultContentType": JSON,
        "servers": _servers(settings),
        "channels": _channels(settings),
        "operations": operations,
        "components": {
            "messages": messages,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    }
    document["components"]["schemas"] = _schemas_in(document)
    return document


def _servers(settings: Settings) -> Document:
    own_address = urlsplit(settings.base_url())
    return {
        "tocsin": {
            "host": own_address.netloc,
            "protocol": own_address.scheme,
            "security": [{"$ref": "#/components/securitySchemes/token"}],
        },
        "kafka": _server("kafka", "The setting `kafka_servers`; TLS and SASL as `kafka_security` says."),
        "pulsar": _server("pulsar", "The setting `pulsar_url`; TLS and a token as the settings say."),
        "receiver": _server("https", "Whatever `endpoint` a destination names; its path is a part of it."),
    }


def _server(protocol: str, description: str) -> Document:
    variables = {"host": {"description": "Not shown here."}}
    return {"host": "{host}", "protocol": protocol, "description": description, "variables": variables}


def _channels(settings: Settings) -> Document:
    queues = {
        f"queue{step.title()}": _channel(
            f"{_ALERT_QUEUE}{step}", "tocsin", (f"queue.{step}", f"queue.{step}Answer"), "subscriptionId"
        )
        for step in _QUEUES
    }
    inbox = "/api/v1/users/{userId}/notifications/stream"
    return {
        "kafkaEvents": _topic("kafka", settings.kafka_topic, per_type=settings.kafka_topic_per_entity_type)
        | {"bindings": {"kafka": _without_none({"partitions": settings.kafka_partitions})}},
        "pulsarEvents": _topic(
            "pulsar",
            f"persistent://{settings.pulsar_namespace}/{settings.pulsar_topic}",
            per_type=settings.pulsar_topic_per_entity_type,
        )
        | {"bindings": {"pulsar": {"namespace": settings.pulsar_namespace, "persistence": "persistent"}}},
        "webhooks": _channel(None, "receiver", (*_WEBHOOKS, "challengeAnswer")),
        "notifications": _channel(inbox, "tocsin", _OF_INBOX, "userId"),
        "ingest": _channel("/api/v1/events/ingest", "tocsin", ("ingest", "ingestAnswer")),
        **queues,
        **(_ingest_topics(settings.ingest_topic, dead_letter_topic_of(settings)) if settings.ingest_topic else {}),
    }


def _ingest_topics(topic: str, dead_letter_topic: str) -> Document:
    return {
        "ingestTopic": _channel(topic, "kafka", ("ingestRecord",)),
        "deadLetters": _channel(dead_letter_topic, "kafka", ("deadLetter",)),
    }


def _topic(server: str, topic: str, *, per_type: bool) -> Document:
    if not per_type:
        return _channel(topic, server, ("event",))
    parameter = {"enum": _TYPES, "description": "Type of the entities."}
    return _channel(f"{topic}.{{entityType}}", server, ("event",)) | {"parameters": {"entityType": parameter}}


def _channel(address: str | None, server: str, messages: Iterable[str], parameter: str = "") -> Document:
    parameters = {"parameters": {parameter: {"description": "Its id."}}} if parameter else {}
    return {
        "address": address,
        "servers": [{"$ref": f"#/servers/{server}"}],
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
        **parameters,
    }


def _send_operation(settings: Settings) -> Document:
    order_note = "Once and in order per entity; what the bot of the topic may view."
    events = {
        f"{broker}Events": _operation("send", f"{broker}Events", ("event",), f"Write change events. {order_note}")
        for broker in ("kafka", "pulsar")
    }
    http_binding = {"bindings": {"http": {"method": "POST"}}}
    default = f"The format is `payloadFormat` of the destination, or else `{settings.event_format}`."
    return {
        **events,
        "sendEvents": _operation("send", "webhooks", (one for one in _WEBHOOKS if one != "challenge"), default)
        | http_binding,
        "sendChallenge": _operation("send", "webhooks", ("challenge",), "Ask whether an endpoint wants events.")
        | http_binding
        | _reply("webhooks", "challengeAnswer"),
        "streamNotifications": _operation(
            "send", "notifications", _OF_INBOX, "Server-sent events: what arrives in an inbox."
        )
        | {"bindings": {"http": {"method": "GET"}}},
    }


def _receive_operation(settings: Settings) -> Document:
    http_binding = {"bindings": {"http": {"method": "POST"}}}
    queues = {
        f"queue{step.title()}": _operation("receive", f"queue{step.title()}", (f"queue.{step}",), title)
        | http_binding
        | _reply(f"queue{step.title()}", f"queue.{step}Answer")
        for step, (_, _, title) in _QUEUES.items()
    }
    ingest = _operation("receive", "ingest", ("ingest",), "Apply events of other systems, each once, as a bot.")
    operations = {**queues, "ingest": ingest | http_binding | _reply("ingest", "ingestAnswer")}
    if settings.ingest_topic:
        operations["ingestTopic"] = _operation(
            "receive", "ingestTopic", ("ingestRecord",), "As `ingest`, from a topic."
        )
        operations["deadLetters"] = _operation(
            "send", "deadLetters", ("deadLetter",), "Keep what was refused, and why."
        )
    return operations


def _operation(action: str, channel: str, messages: Iterable[str], summary: str) -> Document:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel}"},
        "summary": summary,
        "messages": _messages(channel, messages),
    }


def _reply(channel: str, *messages: str) -> Document:
    return {"reply": {"channel": {"$ref": f"#/channels/{channel}"}, "messages": _messages(channel, messages)}}


def _messages(channel: str, names: Iterable[str]) -> list[Document]:
    return [{"$ref": f"#/channels/{channel}/messages/{name}"} for name in names]


def _schemas_in(document: Document) -> Document:
    """Return the schemas that a document refers to, and those that these refer to."""
    tables = {event_schema_name(name): schema for name, schema in EVENT_SCHEMAS.items()} | ANSWERS | REQUESTS
    published_schemas, schemas = EntitySchemas(), dict[str, Document]()
    waiting_names = _names_in(document)
    while waiting_names:
        name = waiting_names.pop()
        if name not in tables and name not in published_schemas.named:
            published_schemas.message(name)
        schemas[name] = tables.get(name) or published_schemas.named[name]
        waiting_names |= _names_in(schemas[name]) - schemas.keys()
    return dict(sorted(schemas.items()))


def _names_in(schema: Document) -> set[str]:
    return set(_REFERENCE.findall(orjson.dumps(schema).decode()))


def _without_none(options: Document) -> Document:
    return {name: value for name, value in options.items() if value is not None}
