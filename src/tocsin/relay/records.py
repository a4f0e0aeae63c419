"""Records of change events for a broker: topic, key, value and headers of each event.

The value is the event in the format that the setting ``relay_format`` names. The headers are those of CloudEvents'
binary mode, and two of ours: ``idempotencyKey``, the id by which consumers drop repetitions, and ``tocsin-offset``,
the event's offset in the log. A structured CloudEvent carries its own envelope, so it gets the two of ours alone.

Source: CloudEvents 1.0.2, Kafka protocol binding 3.2 (binary) and 3.3 (structured). Next: ``relay/kafka/target.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import orjson

from tocsin.delivery.wording.event_formats import EVENT_FORMATS, as_cloud_event, as_seed, as_upstream, cloud_attributes
from tocsin.model.change import ChangeEvent, LoggedEvent

OFFSET_HEADER = "tocsin-offset"
IDEMPOTENCY_HEADER = "idempotencyKey"
DATA_REFERENCE = "dataref"
FULL_EVENT = "fullEvent"


@dataclass(frozen=True)
class BrokerRecord:
    """One event as a broker takes it; ``key`` is the id of the entity, so that its events stay in order."""

    log_offset: int
    topic: str
    key: str
    value: bytes
    headers: tuple[tuple[str, bytes], ...]


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

    def topic_of(self, event: ChangeEvent) -> str:
        """Return the topic of an event."""
        return f"{self.topic}.{event.entity_type}" if self.per_entity_type else self.topic


def records_of(events: Iterable[LoggedEvent], form: RecordForm) -> list[BrokerRecord]:
    """Return one record per event, in their order."""
    return [_record_of(logged, form) for logged in events]


def _record_of(logged: LoggedEvent, form: RecordForm) -> BrokerRecord:
    event = logged.event
    value, reference = _value_of(event, form)
    our_headers = ((IDEMPOTENCY_HEADER, event.id.encode()), (OFFSET_HEADER, str(logged.offset).encode()))
    return BrokerRecord(
        log_offset=logged.offset,
        topic=form.topic_of(event),
        key=event.entity_id,
        value=value,
        headers=(*_envelope(event, form, reference), *our_headers),
    )


def _value_of(event: ChangeEvent, form: RecordForm) -> tuple[bytes, str | None]:
    """Return the value of an event, and the address of the whole event where only a part of it fits."""
    render = EVENT_FORMATS[form.payload_format]
    value = orjson.dumps(render(event, form.source))
    if len(value) <= form.limit_bytes:
        return value, None
    address = f"{form.source}/api/v1/events/{event.id}"
    for thin in _thinner(event):
        document = render(thin, form.source)
        if render is as_cloud_event:
            document[DATA_REFERENCE] = address
        elif render not in (as_upstream, as_seed):  # whose schemas have no place for it; a header has
            document[FULL_EVENT] = address
        value = orjson.dumps(document)
        if len(value) <= form.limit_bytes:
            break
    return value, address


def _thinner(event: ChangeEvent) -> Iterator[ChangeEvent]:
    yield event.model_copy(update={"entity": None})
    yield event.model_copy(update={"entity": None, "change_description": None})


def _envelope(event: ChangeEvent, form: RecordForm, reference: str | None) -> Iterator[tuple[str, bytes]]:
    if EVENT_FORMATS[form.payload_format] is as_cloud_event:
        yield "content-type", b"application/cloudevents+json"
        return
    yield "content-type", b"application/json"
    for name, value in cloud_attributes(event, form.source).items():
        yield f"ce_{name}", value.encode()
    if reference is not None:
        yield f"ce_{DATA_REFERENCE}", reference.encode()
