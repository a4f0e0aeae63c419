"""Tests of hourly write quotas: counted per person, not for administrators and bots."""

from __future__ import annotations

import pytest

from tocsin.clock import FixedClock
from tocsin.errors import TooManyRequests
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.people import Actor
from tocsin.model.stored import CapturedEvent
from tocsin.server.http.write_quotas import PersonalWriteCounts

HOUR_MS = 3_600_000
MALLORY = Actor("1", "mallory")
MADE = CapturedEvent(
    ChangeEvent(
        id="11111111-1111-1111-1111-111111111111",
        event_type=EventType.ENTITY_UPDATED,
        entity_type="table",
        entity_id="22222222-2222-2222-2222-222222222222",
        entity_fully_qualified_name="a.b",
        user_name="mallory",
        timestamp=1,
    ),
    {},
)


def retry_after_s(write_counts: PersonalWriteCounts, actor: Actor = MALLORY) -> int | None:
    try:
        write_counts.check(actor)
    except TooManyRequests as error:
        return error.retry_after_s
    return None


@pytest.mark.parametrize(("most_events", "most_bytes"), [(3, 10**9), (10**9, 3 * len(MADE.event.to_json()))])
def test_who_has_written_as_much_as_an_hour_allows_waits_for_the_next(most_events: int, most_bytes: int) -> None:
    clock = FixedClock(HOUR_MS - 60_000)
    write_counts = PersonalWriteCounts(clock, most_events=most_events, most_bytes=most_bytes)
    write_counts.add(MALLORY, [MADE, MADE])
    assert retry_after_s(write_counts) is None
    write_counts.add(MALLORY, [MADE])
    assert (retry_after_s(write_counts), retry_after_s(write_counts, Actor("2", "alice"))) == (60, None)
    clock.advance(60_000)
    assert retry_after_s(write_counts) is None


@pytest.mark.parametrize("actor", [Actor("1", "a", is_admin=True), Actor("1", "b", is_bot=True)])
def test_administrators_and_bots_write_as_much_as_they_like(actor: Actor) -> None:
    write_counts = PersonalWriteCounts(FixedClock(0), most_events=1, most_bytes=1)
    write_counts.add(actor, [MADE] * 3)
    assert retry_after_s(write_counts, actor) is None
