from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tocsin.delivery.transport.single_flight import KEPT_ALWAYS, NOT_KEPT, SingleFlightCache

Ask = Callable[[], Awaitable[tuple[str, float]]]


def answers(*texts: str, until: float) -> Ask:
    """Return a question that is answered with these texts, one after the other."""
    remaining = list(texts)

    async def ask() -> tuple[str, float]:
        await asyncio.sleep(0)
        return remaining.pop(0), until

    return ask


@pytest.fixture
def cache() -> SingleFlightCache[str, str]:
    return SingleFlightCache(2)


async def test_all_who_wait_for_an_answer_ask_once(cache: SingleFlightCache[str, str]) -> None:
    ask = answers("first", "second", until=NOT_KEPT)
    assert await asyncio.gather(*(cache.get("key", 0.0, ask) for _ in range(3))) == ["first"] * 3
    assert await cache.get("key", 0.0, ask) == "second"


async def test_an_answer_is_kept_until_its_end(cache: SingleFlightCache[str, str]) -> None:
    ask = answers("first", "second", until=10.0)
    assert [await cache.get("key", now, ask) for now in (0.0, 9.9, 10.0)] == ["first", "first", "second"]


async def test_the_oldest_answer_goes_where_there_are_too_many(cache: SingleFlightCache[str, str]) -> None:
    for key in ("a", "b", "c"):
        await cache.get(key, 0.0, answers("first", until=KEPT_ALWAYS))
    second = answers("second", until=KEPT_ALWAYS)
    assert [await cache.get(key, 1e300, second) for key in ("c", "b", "a")] == ["first", "first", "second"]


async def test_a_forgotten_answer_is_asked_for_again(cache: SingleFlightCache[str, str]) -> None:
    ask = answers("first", "second", until=KEPT_ALWAYS)
    await cache.get("key", 0.0, ask)
    cache.forget("key", "another")
    assert await cache.get("key", 0.0, ask) == "first"
    cache.forget("key", "first")
    assert await cache.get("key", 0.0, ask) == "second"
    cache.forget("key")
    cache.forget("key")


async def test_an_error_reaches_all_who_wait_and_is_not_kept(cache: SingleFlightCache[str, str]) -> None:
    async def fail() -> tuple[str, float]:
        await asyncio.sleep(0)
        raise OSError

    errors = await asyncio.gather(*(cache.get("key", 0.0, fail) for _ in range(2)), return_exceptions=True)
    assert [type(error) for error in errors] == [OSError, OSError]
    assert await cache.get("key", 0.0, answers("first", until=KEPT_ALWAYS)) == "first"


async def test_who_is_cancelled_does_not_cancel_the_question(cache: SingleFlightCache[str, str]) -> None:
    ask = answers("first", until=NOT_KEPT)
    impatient = asyncio.ensure_future(cache.get("key", 0.0, ask))
    await asyncio.sleep(0)
    patient = asyncio.ensure_future(cache.get("key", 0.0, ask))
    impatient.cancel()
    assert await patient == "first"
