"""Tests of the log-in queue: limited concurrency, fair between sources."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tocsin.errors import TooManyRequests
from tocsin.server.login.throttle import LoginQueue


class Work:
    """Log-ins that take as long as the test wants, and the sources in the order in which they were checked."""

    def __init__(self, queue: LoginQueue) -> None:
        self.queue, self.done, self.checked = queue, threading.Event(), list[str]()

    def begin(self, source: str) -> asyncio.Task[None]:
        def work() -> None:
            self.checked.append(source)
            assert self.done.wait(10)

        return asyncio.create_task(self.queue.run(work, source))


async def test_a_full_queue_makes_room_for_whoever_has_fewer_in_it() -> None:
    work = Work(LoginQueue(1, 4))
    flood = [work.begin("9.9.9.9") for _ in range(5)]
    await asyncio.sleep(0)
    late = work.begin("9.9.9.9")
    with pytest.raises(TooManyRequests):
        await late
    alice = work.begin("8.8.8.8")
    with pytest.raises(TooManyRequests):
        await flood[-1]
    work.done.set()
    await asyncio.gather(alice, *flood[:-1])
    assert work.checked == ["9.9.9.9", "9.9.9.9", "8.8.8.8", "9.9.9.9", "9.9.9.9"]


async def test_who_goes_while_waiting_leaves_the_queue_whole() -> None:
    work = Work(LoginQueue(1, 2))
    first, cancelled, last = (work.begin(source) for source in ("1.1.1.1", "2.2.2.2", "3.3.3.3"))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.sleep(0)
    fourth = work.begin("4.4.4.4")
    await asyncio.sleep(0)
    work.done.set()
    await asyncio.gather(first, last, fourth)
    assert work.checked == ["1.1.1.1", "3.3.3.3", "4.4.4.4"]
    await asyncio.wait_for(work.begin("5.5.5.5"), 5)
