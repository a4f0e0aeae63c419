"""Records of change events for a broker: topic, key, value and headers of each event.

The value is the event in the format that the setting ``relay_format`` names. The headers are those of CloudEvents'
binary mode, and two of ours: ``idempotencyKey``, the id by which consumers drop repetitions, and ``tocsin-offset``,
the event's offset in the log. A structured CloudEvent carries its own envelope, so it gets the two of ours alone.

Source: CloudEvents 1.0.2, Kafka protocol binding 3.2 (binary) and 3.3 (structured). Next: ``relay/kafka/target.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tocsin.delivery.wording.broker_headers import CLOUD_PREFIX, IDEMPOTENCY_HEADER, OFFSET_HEADER
from tocsin.delivery.wording.event_formats import (
    DATA_REFERENCE,
    EVENT_FORMATS,
    as_cloud_event,
    cloud_attributes,
    render_event,
)
from tocsin.model.change import LoggedDocument
from tocsin.model.entity import Document


class BrokerRecord(NamedTuple):
    """One event as a broker takes it; ``key`` is the id of the entity, so that its events stay in order."""

    log_offset: int
    topic: str
    key: str
    value: bytes
    headers: Sequence[tuple[str, bytes]]


@dataclass(frozen=True)
class RecordForm:
    """How events become records.

    Attributes
    ----------
    topic : the topic, or with ``per_entity_type`` the first part of the names of topics, before the entity type
    payload_format : a key of ``EVENT_FORMATS``
    source : address of this server, without a slash at its end
    limit_bytes : most bytes of a record's value; a larger event goes without its entity
    """

    topic: str
    payload_format: str
    source: str
    limit_bytes: int
    per_entity_type: bool = False

    def topic_of(self, entity_type: str) -> str:
        """Return the topic of events of a type of entity."""
        return f"{self.topic}.{entity_type}" if self.per_entity_type else self.topic


def records_of(events: Iterable[LoggedDocument], form: RecordForm) -> list[BrokerRecord]:
    """Return one record per event, in their order."""
    return [_record_of(logged, form) for logged in events]


def _record_of(logged: LoggedDocument, form: RecordForm) -> BrokerRecord:
    offset, event = logged
    value, reference = render_event(event, form.payload_format, form.source, limit_bytes=form.limit_bytes)
    headers = _envelope(event, form, reference)
    headers += ((IDEMPOTENCY_HEADER, event["id"].encode()), (OFFSET_HEADER, str(offset).encode()))
    return BrokerRecord(offset, form.topic_of(event["entityType"]), event["entityId"], value, headers)


def _envelope(event: Document, form: RecordForm, reference: str | None) -> list[tuple[str, bytes]]:
    if EVENT_FORMATS[form.payload_format] is as_cloud_event:
        return [("content-type", b"application/cloudevents+json")]
    attributes = cloud_attributes(event, form.source)
    if reference is not None:
        attributes[DATA_REFERENCE] = reference
    return [
        ("content-type", b"application/json"),
        *[(CLOUD_PREFIX + name, value.encode()) for name, value in attributes.items()],
    ]
