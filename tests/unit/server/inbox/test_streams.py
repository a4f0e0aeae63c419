"""Tests of live streams: one loop for every listener, each ending with its token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from dataclasses import replace

import pytest

from tocsin.clock import FixedClock
from tocsin.errors import TooManyRequests
from tocsin.flow.eventlog.position import LogPosition
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.people import Actor
from tocsin.server.inbox.streams import BACKLOG, StatesChanged, StreamLimits, Streams, ending_with_the_store
from tocsin.server.login.tokens import StreamSession
from tocsin.store.outbox.inbox import Arrival, InboxEntry, InboxProgress


class FakeInbox:
    """An inbox in memory; ``broken`` makes the next look fail."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str, int]] = []
        self.groups: dict[int, str] = {}
        self.looks = 0
        self.broken = False
        self.processed_through = 0
        self.change_numbers: dict[str, int] = {}
        self.woken: set[tuple[str, ...] | None] = set()

    def add(self, offset: int, user_id: str, due_at_ms: int = 0) -> None:
        self.rows.append((offset, user_id, due_at_ms))

    def reach(self) -> InboxProgress:
        return InboxProgress(
            LogPosition(max((offset for offset, _, _ in self.rows), default=0)), self.processed_through
        )

    def arrivals(self, after: int, *, limit: int, through: int | None = None) -> list[Arrival]:
        self.looks += 1
        if self.broken:
            self.broken = False
            raise ConnectionResetError("connection reset by peer")
        last = max(self.reach().newest.offset, 0) if through is None else through
        return [Arrival(*row) for row in sorted(self.rows) if after < row[0] <= last][:limit]

    def entries_at(self, places: list[tuple[int, str]]) -> list[InboxEntry]:
        return [self._entry(offset, user_id) for offset, user_id in sorted(places)]

    def entries_after(self, user_id: str, offset: int, now_ms: int, *, limit: int) -> list[InboxEntry]:
        due = [row for row in sorted(self.rows) if row[0] > offset and row[1] == user_id and row[2] <= now_ms]
        return [self._entry(row[0], user_id) for row in due[:limit]]

    def wake(self, now_ms: int, user_ids: Collection[str] | None = None) -> set[str]:
        self.woken.add(None if user_ids is None else tuple(user_ids))
        return set()

    def changes(self, *, limit: int) -> list[tuple[str, int]]:
        return sorted(self.change_numbers.items(), key=lambda one: -one[1])[:limit]

    def _entry(self, offset: int, user_id: str) -> InboxEntry:
        alone = entry(offset, user_id)
        return replace(alone, group=self.groups.get(offset, alone.group))


class FakeSessions:
    """Tokens in memory: ``works`` says whose each is; ``looks`` counts how often they are looked up."""

    def __init__(self) -> None:
        self.works: dict[str, Actor] = {}
        self.revision = 1
        self.looks = 0

    def open(self, name: str, token_id: str = "", *, expires_at_ms: int | None = None) -> StreamSession:
        actor = Actor(id=name, name=name)
        self.works[token_id or name] = actor
        return StreamSession(token_id or name, actor, expires_at_ms)

    def access_revision(self) -> tuple[int, ...]:
        return (1, self.revision)

    def holders(self, token_ids: Collection[str], now_ms: int) -> dict[str, Actor]:
        self.looks += 1
        return {one: self.works[one] for one in token_ids if one in self.works}


def entry(offset: int, user_id: str) -> InboxEntry:
    event = ChangeEvent(
        id=str(offset), event_type=EventType.ENTITY_CREATED, entity_type="table", entity_id="t", timestamp=1
    )
    return InboxEntry(f"{user_id}-{offset}", event.id, offset, user_id, event, (), False)


Listening = AsyncIterator[InboxEntry | StatesChanged]


async def heard(listening: Listening, count: int) -> list[str]:
    async with asyncio.timeout(5):
        messages = [await anext(listening) for _ in range(count)]
    return [one.id if isinstance(one, InboxEntry) else "states" for one in messages]


@pytest.fixture
def inbox() -> FakeInbox:
    return FakeInbox()


@pytest.fixture
def sessions() -> FakeSessions:
    return FakeSessions()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(1000)


@pytest.fixture
async def live(inbox: FakeInbox, sessions: FakeSessions, clock: FixedClock) -> AsyncIterator[Streams]:
    streams = Streams(inbox, sessions, clock, StreamLimits(per_person=3, in_all=5))
    yield streams
    await streams.close()


async def test_a_listener_hears_what_it_missed_then_what_arrives(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    for offset in (1, 2, 3):
        inbox.add(offset, "ann")
    listening = live.listen("ann", 1, sessions.open("ann"))
    assert await heard(listening, 2) == ["ann-2", "ann-3"]
    inbox.add(4, "ann")
    inbox.add(5, "bob")
    inbox.add(6, "ann")
    assert await heard(listening, 2) == ["ann-4", "ann-6"]


async def test_what_comes_together_of_one_whole_is_heard_once_in_the_place_of_the_newest(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    inbox.groups = dict.fromkeys((1, 3, 5, 7, 9), "whole") | {6: "other whole"}
    for offset in (1, 2, 3, 4):
        inbox.add(offset, "ann")
    listening = live.listen("ann", 0, sessions.open("ann"))
    assert await heard(listening, 3) == ["ann-2", "ann-3", "ann-4"]
    inbox.rows += [(5, "ann", 0), (6, "ann", 0), (7, "ann", 0), (7, "ben", 0)]
    assert await heard(listening, 2) == ["ann-6", "ann-7"]
    inbox.add(9, "ann")
    assert await heard(listening, 1) == ["ann-9"], "it comes again when more has come"


async def test_who_comes_back_hears_of_a_whole_again_where_more_has_come(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    inbox.groups = dict.fromkeys((1, 2, 3), "whole")
    for offset in (1, 2, 3, 4):
        inbox.add(offset, "ann")
    assert await heard(live.listen("ann", 2, sessions.open("ann")), 2) == ["ann-3", "ann-4"]


async def test_a_late_part_is_heard_beside_one_that_was(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    inbox.groups = dict.fromkeys((2, 4), "whole")
    inbox.processed_through = 1
    inbox.add(4, "ann")
    listening = live.listen("ann", 0, sessions.open("ann"))
    assert await heard(listening, 1) == ["ann-4"]
    inbox.add(2, "ann")
    inbox.processed_through = 4
    assert await heard(listening, 1) == ["ann-2"]


async def test_two_tabs_hear_the_same_over_one_loop(live: Streams, inbox: FakeInbox, sessions: FakeSessions) -> None:
    inbox.add(1, "ann")
    tabs = [live.listen("ann", 0, sessions.open("ann")), live.listen("ann", 0, sessions.open("ann"))]
    assert [await heard(tab, 1) for tab in tabs] == [["ann-1"], ["ann-1"]]
    waiting = [asyncio.create_task(heard(tab, 1)) for tab in tabs]
    await asyncio.sleep(0)
    before = inbox.looks
    inbox.add(2, "ann")
    assert await asyncio.gather(*waiting) == [["ann-2"], ["ann-2"]]
    assert inbox.looks - before < 5


async def test_changed_states_are_told_once_to_every_tab_of_the_person(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    inbox.add(1, "ann")
    inbox.change_numbers = {"ann": 7, "bob": 8}  # before anybody listened
    tabs = [live.listen("ann", 0, sessions.open("ann")), live.listen("ann", 0, sessions.open("ann"))]
    assert [await heard(tab, 1) for tab in tabs] == [["ann-1"], ["ann-1"]]
    inbox.change_numbers |= {"ann": 9} | {f"other{number}": 10 + number for number in range(150)}
    assert [await heard(tab, 1) for tab in tabs] == [["states"], ["states"]]
    inbox.change_numbers["bob"] = 400
    inbox.add(2, "ann")
    assert [await heard(tab, 1) for tab in tabs] == [["ann-2"], ["ann-2"]]


async def test_what_was_snoozed_is_woken_for_all_and_by_what_arrives_for_its_person(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    listening = live.listen("ann", 0, sessions.open("ann"))
    for offset in (1, 2, 3):
        inbox.add(offset, "ann")
        assert await heard(listening, 1) == [f"ann-{offset}"]
    async with asyncio.timeout(5):
        while not {None, ("ann",)} <= inbox.woken:
            await asyncio.sleep(0.01)


async def test_nobody_listening_means_no_looks(live: Streams, inbox: FakeInbox, sessions: FakeSessions) -> None:
    inbox.add(1, "ann")
    listening = live.listen("ann", 0, sessions.open("ann"))
    assert await heard(listening, 1) == ["ann-1"]
    await listening.aclose()  # type: ignore[attr-defined]  # it is a generator
    await asyncio.sleep(0.4)
    before = inbox.looks
    await asyncio.sleep(0.4)
    assert inbox.looks == before


async def test_a_late_notification_of_the_slower_query_is_pushed(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    inbox.processed_through = 1
    inbox.add(4, "ann")  # by the faster one
    listening = live.listen("ann", 0, sessions.open("ann"))
    assert await heard(listening, 1) == ["ann-4"]
    inbox.add(3, "ann")
    inbox.processed_through = 3
    assert await heard(listening, 1) == ["ann-3"]
    inbox.add(6, "ann")
    assert await heard(listening, 1) == ["ann-6"]
    inbox.add(5, "ann")
    resumed_stream = live.listen("ann", 6, sessions.open("ann", "elsewhere"))  # what else it has seen, nobody knows
    assert await heard(resumed_stream, 3) == ["ann-4", "ann-5", "ann-6"]
    inbox.processed_through = 6
    assert await heard(listening, 1) == ["ann-5"]
    inbox.add(7, "ann")
    assert [await heard(one, 1) for one in (listening, resumed_stream)] == [["ann-7"]] * 2, "and nothing rings twice"


async def test_a_stream_that_is_resumed_repeats_nothing_that_was_sent_before_what_was_seen_last(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    inbox.processed_through = 1
    inbox.groups = dict.fromkeys((2, 3), "whole")
    listening = live.listen("ann", None, sessions.open("ann"))
    waiting = asyncio.create_task(heard(listening, 1))
    await asyncio.sleep(0.05)
    inbox.rows += [(2, "ann", 0), (3, "ann", 0)]
    assert await waiting == ["ann-3"]
    inbox.add(6, "ann")
    inbox.add(8, "ann")
    assert await heard(listening, 2) == ["ann-6", "ann-8"]
    inbox.add(5, "ann")  # late, and the loop has not yet looked how far the slower query is
    assert await heard(live.listen("ann", 6, sessions.open("ann")), 2) == ["ann-5", "ann-8"]
    assert await heard(live.listen("ann", 8, sessions.open("ann", "elsewhere")), 4) == [
        "ann-3",
        "ann-5",
        "ann-6",
        "ann-8",
    ]
    inbox.processed_through = 8
    assert await heard(listening, 1) == ["ann-5"]
    await asyncio.sleep(0.4)
    inbox.add(9, "ann")
    assert await heard(live.listen("ann", 8, sessions.open("ann")), 1) == ["ann-9"]


async def test_what_was_due_later_than_what_was_seen_last_is_sent_to_who_comes_back(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions, clock: FixedClock
) -> None:
    listening = live.listen("ann", 0, sessions.open("ann"))
    waiting = asyncio.create_task(heard(listening, 1))
    await asyncio.sleep(0.05)
    inbox.rows += [(2, "ann", 1500), (3, "ann", 0)]
    inbox.processed_through = 1
    assert await waiting == ["ann-3"]
    clock.advance(1000)
    assert await heard(live.listen("ann", 3, sessions.open("ann")), 1) == ["ann-2"]


async def test_a_store_that_has_come_less_far_lets_listeners_go_rather_than_keeping_them_silent(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    for offset in (1, 2, 3):
        inbox.add(offset, "ann")
    listening = live.listen("ann", 2, sessions.open("ann"))
    assert await heard(listening, 1) == ["ann-3"]
    del inbox.rows[1:]  # a standby took over that had lost the last seconds
    await assert_ended(listening)
    resumed = live.listen("ann", 1, sessions.open("ann"))
    inbox.add(2, "ann")
    assert await heard(resumed, 1) == ["ann-2"]


async def test_a_store_that_is_away_lets_listeners_go_and_come_back(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    inbox.add(1, "ann")
    listening = live.listen("ann", 0, sessions.open("ann"))
    assert await heard(listening, 1) == ["ann-1"]
    inbox.broken = True
    with pytest.raises(StopAsyncIteration):
        await heard(listening, 1)
    inbox.add(2, "ann")
    assert await heard(live.listen("ann", 1, sessions.open("ann")), 1) == ["ann-2"]


def test_a_stream_ends_in_order_when_the_store_goes_and_not_when_this_program_is_at_fault() -> None:
    with ending_with_the_store():
        raise ConnectionResetError("connection reset by peer")
    with pytest.raises(KeyError), ending_with_the_store():
        raise KeyError("a bug")


async def test_a_listener_that_does_not_keep_up_is_let_go(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    slow, quick = live.listen("ann", 0, sessions.open("ann")), live.listen("ann", 0, sessions.open("ann"))
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


async def test_closing_ends_every_stream(live: Streams, inbox: FakeInbox, sessions: FakeSessions) -> None:
    inbox.add(1, "ann")
    listening = live.listen("ann", 0, sessions.open("ann"))
    assert await heard(listening, 1) == ["ann-1"]
    await live.close()
    with pytest.raises(StopAsyncIteration):
        await heard(listening, 1)
    with pytest.raises(StopAsyncIteration):
        await heard(live.listen("ann", 0, sessions.open("ann")), 1)


async def assert_ended(listening: Listening) -> None:
    with pytest.raises(StopAsyncIteration):
        await heard(listening, 1)


async def test_a_stream_ends_when_its_token_is_revoked(live: Streams, inbox: FakeInbox, sessions: FakeSessions) -> None:
    inbox.add(1, "ann")
    revoked, unrevoked = (live.listen("ann", 0, sessions.open("ann", token)) for token in ("a", "b"))
    assert [await heard(one, 1) for one in (revoked, unrevoked)] == [["ann-1"], ["ann-1"]]
    del sessions.works["a"]
    sessions.revision += 1
    await assert_ended(revoked)
    inbox.add(2, "ann")
    assert await heard(unrevoked, 1) == ["ann-2"]


async def test_what_waits_for_a_slow_reader_is_not_sent_after_its_token(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    slow, watch = live.listen("ann", 0, sessions.open("ann", "a")), live.listen("ann", 0, sessions.open("ann", "b"))
    started = [asyncio.create_task(heard(one, 1)) for one in (slow, watch)]
    await asyncio.sleep(0)
    inbox.add(1, "ann")
    assert await asyncio.gather(*started) == [["ann-1"], ["ann-1"]]
    inbox.add(2, "ann")
    assert await heard(watch, 1) == ["ann-2"]  # and so it waits for the slow one, too
    del sessions.works["a"], sessions.works["b"]
    sessions.revision += 1
    await assert_ended(watch)
    await assert_ended(slow)


async def test_a_token_revoked_before_anybody_looked_ends_its_stream(live: Streams, sessions: FakeSessions) -> None:
    session = sessions.open("ann")
    del sessions.works["ann"]
    await assert_ended(live.listen("ann", None, session))


async def test_a_stream_ends_when_whoever_opened_it_is_no_administrator_any_more(
    live: Streams, sessions: FakeSessions
) -> None:
    boss = Actor(id="boss", name="boss", is_admin=True)
    sessions.works["t"] = boss
    waiting = asyncio.create_task(assert_ended(live.listen("ann", None, StreamSession("t", boss, None))))
    await asyncio.sleep(0)
    sessions.works["t"] = Actor(id="boss", name="boss")
    sessions.revision += 1
    await waiting


async def test_a_stream_ends_when_its_token_expires(live: Streams, sessions: FakeSessions, clock: FixedClock) -> None:
    waiting = asyncio.create_task(assert_ended(live.listen("ann", None, sessions.open("ann", expires_at_ms=2000))))
    await asyncio.sleep(0)
    clock.advance(1001)
    await waiting


async def test_tokens_are_looked_up_when_something_was_revoked_and_not_otherwise(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    inbox.add(1, "ann")
    listening = live.listen("ann", 0, sessions.open("ann"))
    assert await heard(listening, 1) == ["ann-1"]
    for offset in range(2, 7):
        await asyncio.sleep(0.3)
        inbox.add(offset, "ann")
        assert await heard(listening, 1) == [f"ann-{offset}"]
    assert sessions.looks == 1


async def test_streams_are_bounded_per_person_and_in_all(
    live: Streams, inbox: FakeInbox, sessions: FakeSessions
) -> None:
    inbox.add(1, "ann")
    inbox.add(1, "bob")
    ann = [live.listen("ann", 0, sessions.open("ann", str(number))) for number in range(3)]
    assert [await heard(one, 1) for one in ann] == [["ann-1"]] * 3
    with pytest.raises(TooManyRequests):
        live.check_room(Actor(id="ann", name="ann"))
    await assert_ended(live.listen("ann", 0, sessions.open("ann", "another")))
    live.check_room(Actor(id="bob", name="bob"))
    bob = [live.listen("bob", 0, sessions.open("bob", f"b{number}")) for number in range(2)]
    assert [await heard(one, 1) for one in bob] == [["bob-1"]] * 2
    with pytest.raises(TooManyRequests):
        live.check_room(Actor(id="carl", name="carl"))
    await ann[0].aclose()  # type: ignore[attr-defined]  # it is a generator
    live.check_room(Actor(id="carl", name="carl"))
