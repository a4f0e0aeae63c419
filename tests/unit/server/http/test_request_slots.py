"""Tests of the limit on one person's concurrent requests."""

from __future__ import annotations

import asyncio

import pytest

from tocsin.errors import TooManyRequests
from tocsin.model.people import Actor
from tocsin.server.http.request_slots import WIDER, Shares, Taken

MALLORY, ALICE = Actor("1", "mallory"), Actor("2", "alice")


async def hold(shares: Shares, actor: Actor, finish: asyncio.Event, places: list[Taken]) -> None:
    with await shares.place_for(actor) as place:
        places.append(place)
        await finish.wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_person_waits_and_another_does_not() -> None:
    shares, finish = Shares(2, 3), asyncio.Event()
    hers: list[Taken] = []
    many = [asyncio.create_task(hold(shares, MALLORY, finish, hers)) for _ in range(5)]
    await settle()
    assert len(hers) == 2
    with pytest.raises(TooManyRequests), await shares.place_for(MALLORY):
        raise AssertionError("one too many")
    async with asyncio.timeout(1):
        with await shares.place_for(ALICE):
            finish.set()
    await asyncio.gather(*many)
    assert (len(hers), shares._lines) == (5, {})


async def test_who_went_while_waiting_takes_no_place() -> None:
    shares, finish = Shares(1, 9), asyncio.Event()
    places: list[Taken] = []
    first = asyncio.create_task(hold(shares, MALLORY, finish, places))
    await settle()
    cancelled_task, last = (asyncio.create_task(hold(shares, MALLORY, finish, places)) for _ in range(2))
    await settle()
    cancelled_task.cancel()
    await settle()
    places[0].give_back()
    places[0].give_back()
    await settle()
    assert len(places) == 2
    finish.set()
    await asyncio.gather(first, last)
    assert shares._lines == {}


async def test_a_turn_that_comes_as_its_request_goes_is_handed_on() -> None:
    shares, finish = Shares(1, 9), asyncio.Event()
    places: list[Taken] = []
    first = asyncio.create_task(hold(shares, MALLORY, finish, places))
    await settle()
    cancelled, last = (asyncio.create_task(hold(shares, MALLORY, finish, places)) for _ in range(2))
    await settle()
    places[0].give_back()
    cancelled.cancel()
    await settle()
    assert len(places) == 2
    finish.set()
    await asyncio.gather(first, last)


async def test_administrators_and_bots_have_a_wider_share() -> None:
    shares, finish = Shares(1, 0), asyncio.Event()
    places: list[Taken] = []
    tasks = [asyncio.create_task(hold(shares, Actor("3", "a", is_admin=True), finish, places)) for _ in range(WIDER)]
    await settle()
    assert len(places) == WIDER
    finish.set()
    await asyncio.gather(*tasks)
