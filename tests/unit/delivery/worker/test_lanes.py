"""Tests of the lanes of destinations."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from tests.unit.delivery.events import dispatch

from tocsin.clock import steady_s
from tocsin.delivery.worker.lanes import Lanes
from tocsin.model.message import Message


class Sending:
    """Messages that are sent until ``over`` is set, and which have begun."""

    def __init__(self, limit: int, intervals_s: dict[str, float] | None = None, *, channel: str = "Slack") -> None:
        self.channel = channel
        self.lanes, self.over, self.begun = Lanes(lambda: limit, intervals_s), asyncio.Event(), list[str]()
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def add(self, name: str, destination_id: str = "d", *, target: str = "", is_probe: bool = False) -> None:
        message = replace(
            dispatch().message, id=name, destination_id=destination_id, target=target, channel=self.channel
        )
        self.tasks[name] = asyncio.create_task(self._send(message, is_probe=is_probe))
        await asyncio.sleep(0)

    async def finish(self) -> None:
        self.over.set()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    async def _send(self, message: Message, *, is_probe: bool) -> None:
        async def send() -> None:
            self.begun.append(message.id)
            await self.over.wait()

        await self.lanes.through(message, send, is_probe=is_probe)


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


async def test_one_address_gets_its_messages_one_after_the_other_whichever_alert_they_are_of() -> None:
    sending = Sending(8, {"Slack": 0.2})
    sending.over.set()
    started_s = steady_s()
    for name, destination_id, target in (
        ("one", "d", "a"),
        ("two", "e", "a"),
        ("three", "d", "a"),
        ("other", "d", "b"),
    ):
        await sending.add(name, destination_id, target=target)
    await sending.finish()
    assert sending.begun == ["one", "other", "two", "three"]
    assert steady_s() - started_s >= 0.4


async def test_what_waits_for_its_turn_is_withdrawn_as_well() -> None:
    sending = Sending(8, {"Slack": 60.0})
    await sending.add("one")
    await sending.add("two")
    assert sending.lanes.withdraw({"d"}) == ["two"]
    await sending.finish()
    assert sending.begun == ["one"]


async def test_a_worker_that_ends_waits_for_no_turn() -> None:
    sending = Sending(8, {"Slack": 60.0})
    sending.over.set()
    for name in ("one", "two", "three"):
        await sending.add(name)
    sending.lanes.stop_waiting()
    async with asyncio.timeout(10):
        await sending.finish()
    assert sorted(sending.begun) == ["one", "three", "two"]


async def test_each_own_address_has_lanes_of_its_own() -> None:
    sending = Sending(1)
    await sending.add("one", target="own:user:ann:root")
    await sending.add("two", target="own:user:ann:root")
    await sending.add("other", target="own:user:ben:root")
    await sending.add("elsewhere", "e", target="own:user:ann:root")
    assert sending.begun == ["one", "other"]
    await sending.finish()
    assert sorted(sending.begun) == ["elsewhere", "one", "other", "two"]


async def test_the_browsers_of_each_person_have_lanes_of_their_own() -> None:
    sending = Sending(1, channel="Push")
    for name, target in (("one", "ann"), ("two", "ann"), ("other", "ben")):
        await sending.add(name, target=target)
    assert sending.begun == ["one", "other"]
    await sending.finish()


async def test_the_number_of_lanes_may_change() -> None:
    limit = 3
    lanes, ends, begun_names = Lanes(lambda: limit), {name: asyncio.Event() for name in "abcdef"}, list[str]()

    async def send(name: str) -> None:
        begun_names.append(name)
        await ends[name].wait()

    async def give_up(task: asyncio.Task[None]) -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    message = dispatch().message
    tasks = {
        name: asyncio.create_task(lanes.through(replace(message, id=name), partial(send, name))) for name in "abcdef"
    }
    await asyncio.sleep(0)
    assert (begun_names, sum(lanes.busy_counts.values())) == (["a", "b", "c"], 3)
    limit = 1
    for name in "ab":
        ends[name].set()
        await asyncio.gather(tasks[name])
    assert (begun_names, sum(lanes.busy_counts.values())) == (["a", "b", "c"], 1)
    ends["c"].set()
    await asyncio.gather(tasks["c"])
    await asyncio.sleep(0)
    assert (begun_names, sum(lanes.busy_counts.values())) == (["a", "b", "c", "d"], 1)
    ends["d"].set()
    await asyncio.gather(tasks["d"])
    await give_up(tasks["e"])  # it was given the lane, and did not begin: the next one has it
    await asyncio.sleep(0)
    assert begun_names[-1] == "f"
    await give_up(tasks["f"])
    assert sum(lanes.busy_counts.values()) == 0
