"""Tests of the sample's ids: reproducible, and in the form of all others."""

from __future__ import annotations

from random import Random
from uuid import UUID

from tocsin.clock import FixedClock
from tocsin.sample.load import SeededIds


def test_the_same_seed_gives_the_same_ids() -> None:
    assert [_ids().entity() for _ in range(2)] == [_ids().entity() for _ in range(2)]
    assert _ids().event() == _ids().event()


def test_an_entity_has_a_random_looking_id() -> None:
    assert UUID(_ids().entity()).version == 4


def test_an_event_has_an_id_that_holds_its_time() -> None:
    clock = FixedClock(1_700_000_000_123)
    event = UUID(SeededIds(Random(1), clock).event())
    assert event.version == 7
    assert event.variant == UUID(int=1 << 63, version=4).variant
    assert event.int >> 80 == clock.now_ms()


def test_events_of_later_moments_sort_behind() -> None:
    clock = FixedClock(1_700_000_000_000)
    ids = SeededIds(Random(1), clock)
    drawn = []
    for _ in range(50):
        clock.advance(1)
        drawn.append(ids.event())
    assert drawn == sorted(drawn)


def _ids() -> SeededIds:
    return SeededIds(Random(1987), FixedClock(1_700_000_000_000))
