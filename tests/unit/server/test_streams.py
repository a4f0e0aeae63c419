"""Does one loop serve every listener, and does nobody wait for nothing?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tocsin.clock import FixedClock
from tocsin.model.change import ChangeEvent, EventType
from tocsin.server.streams import BACKLOG, Streams
from tocsin.store.outbox.inbox import Arrival, InboxEntry


class FakeInbox:
    """An inbox in memory; ``broken`` makes the next look fail."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str, int]] = []
        self.looks = 0
        self.broken = False

    def add(self, offset: int, user_id: str, due_at_ms: int = 0) -> None:
        self.rows.append((offset, user_id, due_at_ms))

    def newest_offset(self) -> int:
        return max((offset for offset, _, _ in self.rows), default=0)

    def arrivals(self, after: int, *, limit: int) -> list[Arrival]:
        self.looks += 1
        if self.broken:
            self.broken = False
            raise OSError("the store is away")
        return [Arrival(*row) for row in sorted(self.rows) if row[0] > after][:limit]

    def entries_at(self, places: list[tuple[int, str]]) -> list[InboxEntry]:
        return [entry(offset, user_id) for offset, user_id in sorted(places)]

    def entries_after(self, user_id: str, offset: int, now_ms: int, *, limit: int) -> list[InboxEntry]:
        found = [row for row in sorted(self.rows) if row[0] > offset and row[1] == user_id and row[2] <= now_ms]
        return [entry(row[0], user_id) for row in found[:limit]]


def entry(offset: int, user_id: str) -> InboxEntry:
    event = ChangeEvent(
        id=str(offset), event_type=EventType.ENTITY_CREATED, entity_type="table", entity_id="t", timestamp=1
    )
    return InboxEntry(f"{user_id}-{offset}", offset, user_id, event, (), False)


async def heard(listening: AsyncIterator[InboxEntry], count: int) -> list[str]:
    async with asyncio.timeout(5):
        return [(await anext(listening)).id for _ in range(count)]


@pytest.fixture
def inbox() -> FakeInbox:
    return FakeInbox()


@pytest.fixture
async def live(inbox: FakeInbox) -> AsyncIterator[Streams]:
    made = Streams(inbox, FixedClock(1000))
    yield made
    await made.close()


async def test_a_listener_hears_what_it_missed_then_what_arrives(live: Streams, inbox: FakeInbox) -> None:
    for offset in (1, 2, 3):
        inbox.add(offset, "ann")
    listening = live.listen("ann", 1)
    assert await heard(listening, 2) == ["ann-2", "ann-3"]
    inbox.add(4, "ann")
    inbox.add(5, "bob")
    inbox.add(6, "ann")
    assert await heard(listening, 2) == ["ann-4", "ann-6"]


async def test_two_tabs_hear_the_same_over_one_loop(live: Streams, inbox: FakeInbox) -> None:
    inbox.add(1, "ann")
    tabs = [live.listen("ann", 0), live.listen("ann", 0)]
    assert [await heard(tab, 1) for tab in tabs] == [["ann-1"], ["ann-1"]]
    waiting = [asyncio.create_task(heard(tab, 1)) for tab in tabs]
    await asyncio.sleep(0)
    before = inbox.looks
    inbox.add(2, "ann")
    assert await asyncio.gather(*waiting) == [["ann-2"], ["ann-2"]]
    assert inbox.looks - before < 5


async def test_nobody_listening_means_no_looks(live: Streams, inbox: FakeInbox) -> None:
    inbox.add(1, "ann")
    listening = live.listen("ann", 0)
    assert await heard(listening, 1) == ["ann-1"]
    await listening.aclose()  # type: ignore[attr-defined]  # it is a generator
    await asyncio.sleep(0.4)
    before = inbox.looks
    await asyncio.sleep(0.4)
    assert inbox.looks == before


async def test_a_store_that_is_away_lets_listeners_go_and_come_back(live: Streams, inbox: FakeInbox) -> None:
    inbox.add(1, "ann")
    listening = live.listen("ann", 0)
    assert await heard(listening, 1) == ["ann-1"]
    inbox.broken = True
    with pytest.raises(StopAsyncIteration):
        await heard(listening, 1)
    inbox.add(2, "ann")
    assert await heard(live.listen("ann", 1), 1) == ["ann-2"]


async def test_a_listener_that_does_not_keep_up_is_let_go(live: Streams, inbox: FakeInbox) -> None:
    slow, quick = live.listen("ann", 0), live.listen("ann", 0)
    started = [asyncio.create_task(heard(one, 1)) for one in (slow, quick)]
    await asyncio.sleep(0.2)  # both have caught up with nothing, and wait
    inbox.add(1, "ann")
    assert await asyncio.gather(*started) == [["ann-1"], ["ann-1"]]
    for offset in range(2, 4 * BACKLOG):
        inbox.add(offset, "ann")
        if offset % 50 == 0:
            assert len(await heard(quick, 49)) == 49
    with pytest.raises(StopAsyncIteration):
        await heard(slow, 2 * BACKLOG)


async def test_closing_ends_every_stream(live: Streams, inbox: FakeInbox) -> None:
    inbox.add(1, "ann")
    listening = live.listen("ann", 0)
    assert await heard(listening, 1) == ["ann-1"]
    await live.close()
    with pytest.raises(StopAsyncIteration):
        await heard(listening, 1)
    with pytest.raises(StopAsyncIteration):
        await heard(live.listen("ann", 0), 1)
