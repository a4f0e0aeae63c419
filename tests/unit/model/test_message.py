"""Tests of events that messages carry."""

from __future__ import annotations

import pytest
from tests.unit.delivery.events import addition_of, change_event

from tocsin.model.change import EventType
from tocsin.model.message import CarriedEvent


@pytest.mark.parametrize("event_type", [EventType.INCIDENT_REMINDER, EventType.CHANGE_REQUEST_REMINDER])
def test_a_carried_event_knows_its_type(event_type: EventType) -> None:
    event = change_event(event_type=event_type)
    assert CarriedEvent(event.id, event.to_json()).is_of(event_type)
    assert CarriedEvent.of(event).is_of(event_type)
    assert not CarriedEvent.of(event).is_of(EventType.ENTITY_UPDATED)


def test_an_event_that_quotes_the_name_of_a_type_is_not_of_it() -> None:
    event = change_event(addition_of("description", EventType.INCIDENT_REMINDER.value))
    assert not CarriedEvent(event.id, event.to_json()).is_of(EventType.INCIDENT_REMINDER)
