"""Tests of events that messages carry."""

from __future__ import annotations

import pytest
from tests.unit.delivery.events import addition_of, change_event

from tocsin.model.change import EventType
from tocsin.model.message import CarriedEvent


@pytest.mark.parametrize("event_type", [EventType.INCIDENT_REMINDER, EventType.CHANGE_REQUEST_REMINDER])
def test_a_carried_event_knows_of_what_it_reminds(event_type: EventType) -> None:
    event = change_event(event_type=event_type)
    assert CarriedEvent(event.id, event.to_json()).reminds_of is event_type
    assert CarriedEvent.of(event).reminds_of is event_type


def test_an_event_that_quotes_the_name_of_a_type_is_not_of_it() -> None:
    event = change_event(addition_of("description", EventType.INCIDENT_REMINDER.value))
    assert CarriedEvent(event.id, event.to_json()).reminds_of is None
    assert CarriedEvent.of(event).reminds_of is None


def test_keys_of_an_entity_are_not_taken_for_those_of_its_event() -> None:
    entity = {"name": "orders", "extension": {"breakingReasons": ["x"], "belowCount": 3, "reason": "y", "runbook": "z"}}
    event = change_event().model_copy(update={"entity": entity})
    carried = CarriedEvent(event.id, event.to_json())
    marks = (carried.is_breaking, carried.is_recursive, carried.stated_reason, carried.own_runbook, carried.reminds_of)
    assert marks == (False, False, None, None, None)
