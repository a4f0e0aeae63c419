"""Tests of the records of change events: key, headers, formats, and events that are too large."""

from __future__ import annotations

import orjson
import pytest
from tests.unit.delivery.events import change_event

from tocsin.delivery.wording.event_formats import EVENT_FORMATS
from tocsin.model.change import ChangeEvent, LoggedDocument
from tocsin.relay.records import BrokerRecord, RecordForm, records_of

SOURCE = "https://tocsin.example.com"


def record_of(event: ChangeEvent, payload_format: str = "seed", *, limit_bytes: int = 1_000_000) -> BrokerRecord:
    form = RecordForm("events", payload_format, SOURCE, limit_bytes)
    (record,) = records_of([LoggedDocument(7, event.as_wire())], form)
    return record


@pytest.mark.parametrize("payload_format", EVENT_FORMATS)
def test_the_value_is_the_event_in_its_format(payload_format: str) -> None:
    event = change_event()
    record = record_of(event, payload_format)
    assert orjson.loads(record.value) == orjson.loads(
        orjson.dumps(EVENT_FORMATS[payload_format](event.as_wire(), SOURCE))
    )
    assert (record.log_offset, record.topic, record.key) == (7, "events", event.entity_id)
    headers = dict(record.headers)
    assert headers["idempotencyKey"] == event.id.encode()
    assert headers["tocsin-offset"] == b"7"
    is_structured = payload_format == "cloudEvents"
    assert headers["content-type"] == (b"application/cloudevents+json" if is_structured else b"application/json")
    assert ("ce_id" in headers) is not is_structured


@pytest.mark.parametrize("payload_format", EVENT_FORMATS)
def test_a_large_event_goes_without_its_entity_and_names_the_whole(payload_format: str) -> None:
    event = change_event(entity={"id": "e", "name": "orders", "description": "x" * 20_000})
    record = record_of(event, payload_format, limit_bytes=10_000)
    assert len(record.value) <= 10_000
    address = f"{SOURCE}/api/v1/events/{event.id}"
    document = orjson.loads(record.value)
    stated = {document.get("dataref"), document.get("fullEvent"), dict(record.headers).get("ce_dataref", b"").decode()}
    assert address in stated
    if payload_format in ("seed", "openmetadata"):
        assert not {"dataref", "fullEvent"} & document.keys(), "their schemas forbid other keys"


def test_each_entity_type_may_have_a_topic() -> None:
    form = RecordForm("events", "seed", SOURCE, 1_000_000, per_entity_type=True)
    (record,) = records_of([LoggedDocument(1, change_event(entity_type="topic").as_wire())], form)
    assert record.topic == "events.topic"
