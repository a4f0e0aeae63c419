"""Tests of the lanes of destinations."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from tests.unit.flow.send.events import dispatch

from tocsin.model.message import Message
from tocsin.worker.lanes import Lanes


class Sending:
    """Messages that are sent until ``over`` is set, and which have begun."""

    def __init__(self, limit: int) -> None:
        self.lanes, self.over, self.begun = Lanes(limit), asyncio.Event(), list[str]()
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def add(self, name: str, destination_id: str = "d", *, is_probe: bool = False) -> None:
        message = replace(dispatch().message, id=name, destination_id=destination_id)
        self.tasks[name] = asyncio.create_task(self._send(message, is_probe=is_probe))
        await asyncio.sleep(0)

    async def finish(self) -> None:
        self.over.set()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    async def _send(self, message: Message, *, is_probe: bool) -> None:
        async with self.lanes.lane(message, is_probe=is_probe):
            self.begun.append(message.id)
            await self.over.wait()


async def test_what_waits_is_withdrawn_and_what_has_begun_is_not() -> None:
    sending = Sending(2)
    for name in ("one", "two", "three", "four"):
        await sending.add(name)
    await sending.add("other", "e")
    assert sending.lanes.withdraw({"d"}) == ["three", "four"]
    assert sending.lanes.withdraw({"d", "e"}) == []
    await sending.finish()
    assert sorted(sending.begun) == ["one", "other", "two"]
    assert [name for name, task in sending.tasks.items() if task.cancelled()] == ["three", "four"]


async def test_a_probe_is_not_withdrawn() -> None:
    sending = Sending(1)
    await sending.add("one")
    await sending.add("probe", is_probe=True)
    assert sending.lanes.withdraw({"d"}) == []
    await sending.finish()
    assert sending.begun == ["one", "probe"]


async def test_a_message_that_comes_back_is_sent_once() -> None:
    sending = Sending(1)
    await sending.add("one")
    await sending.add("two")
    sending.lanes.withdraw({"d"})
    first = sending.tasks["two"]
    await sending.add("two")
    assert sending.lanes.withdraw({"d"}) == ["two"]
    await sending.add("two")
    await sending.finish()
    assert first.cancelled()
    assert sending.begun == ["one", "two"]
