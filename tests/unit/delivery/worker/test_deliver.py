"""Tests of fair shares between destinations, and of waits."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.delivery.worker.deliver import _first_of
from tocsin.delivery.worker.leases import fair_shares
from tocsin.store.outbox.pauses import Pauses


def test_a_single_destination_gets_the_whole_claim() -> None:
    assert fair_shares(["a"], {}, limit=64, most_each=64) == {"a": 64}


def test_a_claim_is_split_evenly() -> None:
    """Fault scenario 16."""
    assert fair_shares(["a", "b", "c"], {}, limit=9, most_each=64) == {"a": 3, "b": 3, "c": 3}


def test_what_one_cannot_take_goes_to_the_others() -> None:
    assert fair_shares(["slow", "swift"], {"slow": 62}, limit=64, most_each=64) == {"slow": 2, "swift": 62}


def test_a_destination_with_its_hands_full_gets_nothing() -> None:
    assert fair_shares(["a", "b"], {"a": 8}, limit=64, most_each=8) == {"b": 8}
    assert fair_shares(["a"], {"a": 8}, limit=64, most_each=8) == {}


def test_turns_go_on_after_the_last_one_served() -> None:
    names = ["a", "b", "c", "d", "e"]
    first = fair_shares(names, {}, limit=2, most_each=8)
    second = fair_shares(names, {}, limit=2, most_each=8, after=list(first)[-1])
    third = fair_shares(names, {}, limit=2, most_each=8, after=list(second)[-1])
    assert [list(one) for one in (first, second, third)] == [["a", "b"], ["c", "d"], ["e", "a"]]


@given(
    st.lists(st.text("abcdef", min_size=1, max_size=3), unique=True, max_size=30).map(sorted),
    st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 20), max_size=30),
    st.integers(0, 100),
    st.integers(1, 20),
    st.text("abcdef", max_size=3),
)
def test_shares_use_all_room_there_is_and_no_more(
    due: list[str], in_hand: dict[str, int], limit: int, most_each: int, after: str
) -> None:
    shares = fair_shares(due, in_hand, limit=limit, most_each=most_each, after=after)
    room = {name: max(0, most_each - in_hand.get(name, 0)) for name in due}
    assert all(0 < share <= room[name] for name, share in shares.items())
    assert sum(shares.values()) == min(limit, sum(room.values()))


def test_what_is_paused_gets_nothing_but_its_probe() -> None:
    pauses = Pauses(waiting=frozenset("a"), probed=frozenset("b"))
    assert fair_shares(["a", "b", "c"], {"b": 8}, limit=20, most_each=8, pauses=pauses) == {"b": 1, "c": 8}


async def test_a_wait_for_events_that_ends_or_is_cancelled_leaves_no_tasks() -> None:
    before, event = asyncio.all_tasks(), asyncio.Event()
    await _first_of(event, asyncio.Event(), timeout_s=0)
    assert asyncio.all_tasks() == before
    waiting = asyncio.create_task(_first_of(event, asyncio.Event()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert asyncio.all_tasks() == before
