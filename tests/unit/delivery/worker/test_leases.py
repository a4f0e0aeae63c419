"""Tests of a worker's leases."""

from dataclasses import replace

import pytest
from tests.unit.delivery.events import dispatch

from tocsin.delivery.worker.leases import Capacity, Leases, Watch
from tocsin.store.outbox.sessions import Session

ONE = dispatch().message
TWO = replace(ONE, id="two", destination_id="e")


def test_a_worker_is_sure_for_one_lease_from_when_it_asked() -> None:
    leases = Leases(90.0)
    assert not leases.are_sure(0.0)
    leases.begin("s#1", asked_at_s=10.0)
    assert leases.are_sure(99.9)
    assert not leases.are_sure(100.0)
    leases.renew(asked_at_s=20.0)
    assert leases.are_sure(100.0)


def test_what_is_dropped_is_no_longer_counted() -> None:
    leases = Leases(90.0)
    leases.begin("s#1", asked_at_s=0.0)
    leases.take("s#1", [ONE, TWO])
    assert (len(leases), leases.per_destination) == (2, {"d": 1, "e": 1})
    leases.drop("s#1", [ONE.id, ONE.id])
    assert (len(leases), leases.per_destination, leases.ids()) == (1, {"e": 1}, ["two"])


def test_what_was_held_under_a_session_is_lost_with_it() -> None:
    leases = Leases(90.0)
    leases.begin("s#1", asked_at_s=0.0)
    leases.take("s#1", [ONE])
    leases.begin("s#2", asked_at_s=100.0)
    assert (len(leases), leases.per_destination) == (0, {})
    leases.take("s#1", [TWO])  # the answer to a claim that came too late
    leases.take("s#2", [ONE])
    assert leases.holds("s#2", ONE.id)
    assert not leases.holds("s#1", ONE.id)
    leases.drop("s#1", [ONE.id])  # an attempt of before ends
    assert leases.ids() == [ONE.id]


def test_the_bytes_of_events_are_counted_with_their_messages() -> None:
    leases = Leases(90.0)
    leases.begin("s#1", asked_at_s=0.0)
    leases.take("s#1", [ONE, TWO], {ONE.id: 5, TWO.id: 7})
    assert leases.event_bytes == {"d": 5, "e": 7}
    leases.drop("s#1", [ONE.id, ONE.id])
    assert leases.event_bytes == {"e": 7}
    leases.begin("s#2", asked_at_s=1.0)
    assert not leases.event_bytes


def test_one_destination_has_a_share_of_the_room_that_is_left() -> None:
    room = Capacity(80, {})
    assert [room.take(ONE, 5) for _ in range(3)] == [True, False, False], "5 + 5 is more than an eighth of 75"
    assert room.take(TWO, 60), "a destination without any may have one"
    assert room.take(replace(TWO, id="three", destination_id="f"), 16), "of 15 bytes: nobody keeps it out"
    assert not room.take(replace(TWO, id="four", destination_id="g"), 1), "it is full"
    assert room.refused == {ONE.id, "four"}


def test_a_message_fits_whatever_its_size_where_nothing_else_is() -> None:
    assert Capacity(80, {}).take(ONE, 1_000)
    assert not Capacity(80, {"e": 1_000}).take(ONE, 1)
    assert Capacity(80, {"e": 79}).take(ONE, 1)


def test_small_messages_do_not_pass_a_large_one_of_their_destination_without_end() -> None:
    room = Capacity(80, {"d": 2})
    assert not room.take(ONE, 20), "more than an eighth of 78"
    assert not room.take(replace(ONE, id="later"), 2), "so it is alone soon, and the large one fits"
    assert room.take(TWO, 2)
    assert Capacity(80, {TWO.destination_id: 2}).take(ONE, 20)


def test_a_session_is_silent_when_it_was_seen_at_one_beat_for_a_whole_lease() -> None:
    watch, first = Watch(), Session("a", 90_000, 7)
    assert watch.silent([first], 1_000.0) == []
    assert watch.next_look_s(1_010.0) == 80.0
    assert watch.silent([first], 1_089.9) == []
    renewed = replace(first, beat=8)
    assert watch.silent([renewed], 1_090.0) == []
    assert watch.silent([renewed], 1_180.0) == [renewed]


def test_a_session_that_went_and_came_is_watched_from_then() -> None:
    watch, session = Watch(), Session("a", 1_000, 0)
    watch.silent([session], 0.0)
    watch.silent([], 5.0)
    assert watch.next_look_s(5.0) == float("inf")
    assert watch.silent([session], 10.0) == []


@pytest.mark.parametrize(("channel", "target"), [("Slack", "own:user:ann:root"), ("Push", "ann")])
def test_an_own_address_and_the_browsers_of_a_person_have_few_messages_in_hand(channel: str, target: str) -> None:
    messages = [replace(ONE, id=str(number), channel=channel, target=target) for number in range(4)]
    lane = messages[0].lane
    room = Capacity(80, {}, counts={lane: 1}, most_own=3)
    assert [room.take(one, 0) for one in messages] == [True, True, False, False]
    assert room.take(replace(ONE, target="own:user:ben:root"), 0)
    assert (room.refused, room.full_lanes) == ({"2", "3"}, frozenset({lane}))
    assert Capacity(80, {}, counts={ONE.destination_id: 9}, most_own=3).full_lanes == frozenset()
