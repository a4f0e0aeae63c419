"""Tests of the bodies of webhook requests: arrays, the limit, and compression."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.delivery.events import MESSAGE_ID, change_event, dispatch, update_of

from tocsin.delivery.channels.webhook.render import LIMIT_BYTES, Body, bodies_of, compress_payload
from tocsin.delivery.dispatch import Dispatch
from tocsin.model.message import CarriedEvent, Entry

SOURCE = "https://tocsin.acme.example"
FORMATS = ("default", "seed", "tocsin", "openmetadata", "cloudEvents")


def message_of(count: int, *, batch_size: int = 50, sends_arrays: bool = True, size: int = 0) -> Dispatch:
    """Return a message of so many events, each with an entity of about ``size`` bytes."""
    entries = tuple(
        Entry(
            f"n{number}",
            number,
            CarriedEvent.of(change_event(id=f"e{number}", entity={"name": "orders", "description": "x" * size})),
        )
        for number in range(count)
    )
    return replace(dispatch(), entries=entries, batch_size=batch_size, sends_arrays=sends_arrays)


def bodies(dispatch: Dispatch, payload_format: str = "default") -> list[Body]:
    return bodies_of(dispatch, payload_format, source=SOURCE)


def events(body: Body) -> Any:
    return json.loads(body.payload)


@pytest.mark.parametrize(
    ("payload_format", "content_type"),
    [*((one, "application/json") for one in FORMATS[:4]), ("cloudEvents", "application/cloudevents-batch+json")],
)
def test_an_alert_that_sends_arrays_sends_one_of_one_event_too(payload_format: str, content_type: str) -> None:
    (body,) = bodies(message_of(1), payload_format)
    assert (body.id, body.content_type, len(events(body))) == (MESSAGE_ID, content_type, 1)
    (alone,) = bodies(message_of(1, sends_arrays=False), payload_format)
    assert events(body) == [events(alone)]


def test_an_event_that_many_messages_carry_is_rendered_once_per_format() -> None:
    first = message_of(1, sends_arrays=False)
    second = replace(dispatch(), entries=first.entries)
    for payload_format in FORMATS:
        (body_of_first,), (body_of_second,) = bodies(first, payload_format), bodies(second, payload_format)
        assert body_of_first.payload is body_of_second.payload
    assert len({bodies(first, payload_format)[0].payload for payload_format in FORMATS}) == len(FORMATS)
    narrowed = replace(first, entries=(first.first.with_event(change_event(id="e0", entity={})),))
    assert events(bodies(narrowed)[0])["entity"] == {}


def test_an_array_holds_as_many_events_as_the_alert_says() -> None:
    requests = bodies(message_of(25, batch_size=10))
    assert [[one["id"] for one in events(body)] for body in requests] == [
        [f"e{number}" for number in range(start, min(start + 10, 25))] for start in (0, 10, 20)
    ]
    assert len({body.id for body in requests} | {MESSAGE_ID}) == 4


def of_types(*types: str, **fields: Any) -> Dispatch:
    """Return a message about entities of these types, whose arrays hold one type each."""
    full_message = message_of(len(types), **fields)
    entries = [
        entry.with_event(entry.event.model_copy(update={"entity_type": kind}))
        for entry, kind in zip(full_message.entries, types, strict=True)
    ]
    return replace(full_message, entries=tuple(entries), sends_types_apart=True)


@pytest.mark.parametrize("payload_format", FORMATS)
def test_an_array_holds_one_entity_type_if_the_destination_says_so(payload_format: str) -> None:
    message = of_types("table", "topic", "table", "topic", "table", "chart", batch_size=2)
    requests = bodies(message, payload_format)
    assert [[entry.notification_id for entry in body.entries] for body in requests] == [
        ["n0", "n2"],
        ["n4"],
        ["n1", "n3"],
        ["n5"],
    ]
    assert [one.id for one in requests] == [one.id for one in bodies(message, payload_format)]
    assert len({body.id for body in requests}) == 4
    if payload_format not in {"openmetadata", "seed"}:
        sent_events = [one.get("data", one) for body in requests for one in events(body)]
        assert {one["idempotencyKey"] for one in sent_events} == {f"e{number}" for number in range(6)}


@given(st.lists(st.sampled_from(["table", "topic", "chart"]), min_size=1, max_size=30), st.integers(2, 5))
def test_arrays_by_type_hold_every_event_once_in_log_order(types: list[str], batch_size: int) -> None:
    requests = bodies(of_types(*types, batch_size=batch_size))
    for body in requests:
        assert len({entry.event.entity_type for entry in body.entries}) == 1
    for kind in set(types):
        offsets = [entry.log_offset for body in requests for entry in body.entries if entry.event.entity_type == kind]
        assert offsets == [number for number, one in enumerate(types) if one == kind]


def test_the_id_of_an_array_follows_from_what_is_in_it() -> None:
    full_message = message_of(25, batch_size=10)
    less = replace(full_message, entries=full_message.entries[:3] + full_message.entries[4:])
    assert [one.id for one in bodies(full_message)] == [one.id for one in bodies(full_message)]
    assert not {one.id for one in bodies(full_message)} & {one.id for one in bodies(less)}


def test_events_that_gathered_before_arrays_were_switched_off_go_out_one_by_one() -> None:
    requests = bodies(message_of(3, sends_arrays=False))
    assert [events(body)["id"] for body in requests] == ["e0", "e1", "e2"]
    assert len({body.id for body in requests}) == 3


@given(st.lists(st.integers(0, 2 * LIMIT_BYTES), min_size=1, max_size=8), st.integers(2, 5))
def test_every_event_is_in_one_array_within_the_limits(sizes: list[int], batch_size: int) -> None:
    full_message = message_of(len(sizes), batch_size=batch_size)
    entries = [
        entry.with_event(entry.event.model_copy(update={"entity": {"name": "x" * size}}))
        for entry, size in zip(full_message.entries, sizes, strict=True)
    ]
    requests = bodies(replace(full_message, entries=tuple(entries)))
    assert [one["id"] for body in requests for one in events(body)] == [entry.event.id for entry in entries]
    assert all(len(events(body)) <= batch_size and len(body.payload) <= LIMIT_BYTES for body in requests)


@pytest.mark.parametrize("payload_format", FORMATS)
def test_an_event_that_is_too_large_is_sent_without_its_entity_and_says_where_it_is(payload_format: str) -> None:
    (body,) = bodies(message_of(1, sends_arrays=False, size=LIMIT_BYTES), payload_format)
    address = f"{SOURCE}/api/v1/events/e0"
    assert body.full_events == (address,)
    assert len(body.payload) < 10_000
    document = events(body)
    event = document["data"] if payload_format == "cloudEvents" else document
    assert "entity" not in event
    assert event["changeDescription"]["fieldsDeleted"]
    place = {"cloudEvents": document.get("dataref"), "openmetadata": address, "seed": address}.get(
        payload_format, document.get("fullEvent")
    )
    assert place == address
    assert payload_format not in {"openmetadata", "seed"} or "fullEvent" not in document


def test_where_its_changes_are_too_large_they_are_left_out_too() -> None:
    event = change_event(update_of("description", "", "x" * LIMIT_BYTES))
    (body,) = bodies(dispatch(event))
    assert body.full_events
    assert events(body).keys() & {"entity", "changeDescription"} == set()
    assert events(body)["entityFullyQualifiedName"] == "acme.shop.public.orders"


def test_what_fits_is_whole() -> None:
    (body,) = bodies(message_of(1, sends_arrays=False, size=LIMIT_BYTES - 2_000))
    assert body.full_events == ()
    assert len(events(body)["entity"]["description"]) == LIMIT_BYTES - 2_000


def test_the_same_payload_is_compressed_to_the_same_bytes() -> None:
    payload = b'{"name": "orders"}' * 1_000
    assert compress_payload(payload) == compress_payload(payload)
    assert gzip.decompress(compress_payload(payload)) == payload
    assert len(compress_payload(payload)) < len(payload) / 10


def test_an_event_that_was_read_in_brief_says_where_the_whole_one_is() -> None:
    message = message_of(2)
    first, second = message.entries
    (body,) = bodies(replace(message, entries=(first, replace(second, in_brief=True))))
    assert [("entity" in one, "fullEvent" in one) for one in events(body)] == [(True, False), (False, True)]
    assert body.full_events == (f"{SOURCE}/api/v1/events/e1",)
