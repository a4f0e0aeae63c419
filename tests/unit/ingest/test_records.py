"""Tests of records of a topic: as events in all modes, and as dead letters."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.errors import Conflict, InvalidInput
from tocsin.ingest.records import RefusedRecord, TopicRecord, read_event

EVENT = {"eventType": "entityUpdated", "entityType": "table"}
RECORD = TopicRecord("feed", 3, 17, 1_700_000_000_000, b"key", orjson.dumps(EVENT))
NOW_MS = 1_800_000_000_000


def test_a_bare_event_comes_from_its_place_in_the_topic() -> None:
    document, arrival = read_event(RECORD, NOW_MS)
    assert document == EVENT
    assert (arrival.source, arrival.id, arrival.now_ms) == ("kafka:feed", "3/17/1700000000000", NOW_MS)


def test_a_topic_that_is_made_anew_has_other_events_at_the_same_places() -> None:
    _, arrival = read_event(RECORD, NOW_MS)
    _, later = read_event(replace(RECORD, at_ms=RECORD.at_ms + 1), NOW_MS)
    assert arrival.id != later.id


def test_the_header_with_an_idempotency_key_is_the_id() -> None:
    _, arrival = read_event(replace(RECORD, headers=[("idempotencyKey", b"e1")]), NOW_MS)
    assert arrival.id == "e1"


def test_binary_and_structured_mode() -> None:
    attributes = {"specversion": "1.0", "id": "1", "source": "x", "type": "y"}
    headers = [(f"ce_{name}", text.encode()) for name, text in attributes.items()]
    document, _ = read_event(replace(RECORD, headers=[*headers, ("Content-Type", b"application/json")]), NOW_MS)
    assert document == {**attributes, "datacontenttype": "application/json", "data": EVENT}
    structured = replace(RECORD, headers=[*headers, ("content-type", b"application/cloudevents+json")])
    assert read_event(structured, NOW_MS)[0] == EVENT


@pytest.mark.parametrize("name", ["id", "source", "type"])
def test_attributes_without_a_specversion_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_event(replace(RECORD, headers=[(f"ce_{name}", b"x")]), NOW_MS)
    assert refused.value.field == "ce_specversion"
    structured = [(f"ce_{name}", b"x"), ("content-type", b"application/cloudevents+json")]
    assert read_event(replace(RECORD, headers=structured), NOW_MS)[0] == EVENT
    assert read_event(replace(RECORD, headers=[("ce_traceparent", b"x")]), NOW_MS)[0] == EVENT


@pytest.mark.parametrize("headers", [[("ce_id", b"\xff")], [("content-type", b"\xff")]])
def test_a_header_that_is_no_text_is_refused(headers: list[tuple[str, bytes]]) -> None:
    with pytest.raises(InvalidInput):
        read_event(replace(RECORD, headers=headers), NOW_MS)


def test_a_dead_letter_has_its_own_headers_and_why() -> None:
    record = replace(RECORD, headers=[("trace", b"\xff"), ("empty", None)])
    headers = RefusedRecord(record, InvalidInput("is wrong", field="time")).headers("group")
    assert headers[:2] == [("trace", b"\xff"), ("empty", None)]
    assert dict(headers[2:]) == {
        "tocsin-dead-reason": b"INVALID_INPUT",
        "tocsin-dead-message": b"time: is wrong",
        "tocsin-dead-field": b"time",
        "tocsin-dead-topic": b"feed",
        "tocsin-dead-partition": b"3",
        "tocsin-dead-offset": b"17",
        "tocsin-dead-timestamp": b"1700000000000",
        "tocsin-dead-group": b"group",
    }
    assert "tocsin-dead-field" not in dict(RefusedRecord(record, Conflict("no")).headers("group"))


@given(
    value=st.none() | st.binary(max_size=40) | st.text(max_size=20).map(str.encode),
    headers=st.lists(
        st.tuples(
            st.sampled_from(["ce_specversion", "ce_id", "content-type", "idempotencyKey"]) | st.text(max_size=5),
            st.none() | st.binary(max_size=10) | st.just(b"1.0"),
        ),
        max_size=4,
    ),
)
def test_whatever_a_record_holds_is_an_event_or_refused(
    value: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    record = replace(RECORD, value=value, headers=headers)
    try:
        read_event(record, NOW_MS)
    except InvalidInput as refused:
        assert RefusedRecord(record, refused).headers("g")
