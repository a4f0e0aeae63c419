"""Tests of work that is done together: each gets its own answer, one batch after the other, and all of an error."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence

import pytest
from sqlalchemy.exc import OperationalError

from tocsin.server.inbox.together import MOST_TOGETHER, Together, results_apart


class Doubling:
    """Doubles numbers; notes each batch, and waits in a thread until it is let go on."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.go = threading.Event()

    def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.batches.append(list(numbers))
        self.go.wait()
        if -1 in numbers:
            raise ValueError(numbers)
        return [2 * number for number in numbers]


@pytest.fixture
def double() -> Doubling:
    return Doubling()


@pytest.fixture
def batches() -> Together:
    return Together()


async def test_what_comes_while_a_batch_is_under_way_is_the_next_one(batches: Together, double: Doubling) -> None:
    first = asyncio.create_task(batches.run(double, 1))
    while not double.batches:
        await asyncio.sleep(0)
    later_ones = [asyncio.create_task(batches.run(double, number)) for number in (2, 3)]
    await asyncio.sleep(0)
    double.go.set()
    assert await asyncio.gather(first, *later_ones) == [2, 4, 6]
    assert double.batches == [[1], [2, 3]]


async def test_many_are_done_in_batches_of_a_bounded_size(batches: Together, double: Doubling) -> None:
    double.go.set()
    numbers = list(range(2 * MOST_TOGETHER + 1))
    assert await asyncio.gather(*(batches.run(double, one) for one in numbers)) == [2 * one for one in numbers]
    assert [len(one) for one in double.batches] == [MOST_TOGETHER, MOST_TOGETHER, 1]


async def test_an_error_is_of_its_batch_and_who_left_stops_nobody(batches: Together, double: Doubling) -> None:
    leaver, failing = (asyncio.create_task(batches.run(double, number)) for number in (1, -1))
    while not double.batches:
        await asyncio.sleep(0)
    leaver.cancel()
    after = asyncio.create_task(batches.run(double, 4))
    await asyncio.sleep(0)
    double.go.set()
    with pytest.raises(ValueError, match="-1"):
        await failing
    assert await after == 8
    assert leaver.cancelled()


async def test_a_request_that_fails_fails_alone(batches: Together) -> None:
    def work(numbers: Sequence[int]) -> list[int | Exception]:
        return results_apart(lambda number: 12 // number, numbers)

    answers = await asyncio.gather(*(batches.run(work, one) for one in (3, 0, 4)), return_exceptions=True)
    assert [type(one) for one in answers] == [int, ZeroDivisionError, int]
    assert (answers[0], answers[2]) == (4, 3)


def test_a_fault_of_the_store_is_everybodys() -> None:
    def ask(number: int) -> int:
        raise OperationalError("SELECT 1", {}, sqlite3.OperationalError("database or disk is full"))

    with pytest.raises(OperationalError):
        results_apart(ask, [1, 2])
