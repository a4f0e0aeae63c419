"""Tests of log readers: every committed event once, in offset order, with concurrent writers."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import Connection, Engine, insert, select
from uuid_utils import uuid7

from tocsin.flow.eventlog.selection import EventSelection, types_from
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.stored import CapturedEvent
from tocsin.store import tables
from tocsin.store.engine import writing
from tocsin.store.eventlog import log
from tocsin.store.eventlog.log import EventLog


class _RollBackError(Exception):
    pass


def _captured(entity_id: str = "e1", **facts: object) -> CapturedEvent:
    event = ChangeEvent(
        id=str(uuid7()), event_type=EventType.ENTITY_UPDATED, entity_type="table", entity_id=entity_id, timestamp=1
    )
    return CapturedEvent(event.model_copy(update=facts), {"fieldChanged": ["columns"]})


def _append(engine: Engine, *events: CapturedEvent) -> list[int]:
    with writing(engine) as connection:
        return log.append(connection, events)


@contextmanager
def _open(engine: Engine) -> Iterator[Connection]:
    """A write transaction that ends as the caller says."""
    with engine.connect() as connection:
        connection.begin()
        yield connection
        if connection.in_transaction():
            connection.rollback()


def test_an_empty_log_ends_at_zero(store_engine: Engine) -> None:
    assert EventLog(store_engine).readable_end() == 0
    assert EventLog(store_engine).read(0, 10) == []


def test_events_are_read_back_as_they_were_captured(store_engine: Engine) -> None:
    captured = _captured(user_name="jane", current_version=None)
    offsets = _append(store_engine, captured)
    read = EventLog(store_engine).read(0, 10)
    assert [(one.offset, one.event, one.derived) for one in read] == [(offsets[0], captured.event, captured.derived)]
    assert EventLog(store_engine).find(captured.event.id) == read[0]
    assert EventLog(store_engine).find("nobody") is None


def test_one_write_keeps_its_events_in_order(store_engine: Engine) -> None:
    events = [_captured(f"e{number}") for number in range(50)]
    offsets = _append(store_engine, *events)
    assert offsets == sorted(set(offsets))
    assert [one.event.id for one in EventLog(store_engine).read(0, 100)] == [one.event.id for one in events]


def test_reading_goes_on_after_an_offset_in_lots(store_engine: Engine) -> None:
    _append(store_engine, *(_captured() for _ in range(7)))
    reader, seen, after = EventLog(store_engine), [], 0
    while some := reader.read(after, 3):
        assert len(some) <= 3
        after = some[-1].offset
        seen += [one.offset for one in some]
    assert len(seen) == 7
    assert after == reader.readable_end()


def test_offsets_are_not_used_again_after_the_newest_rows_are_gone(store_engine: Engine) -> None:
    first = _append(store_engine, _captured(), _captured())
    with writing(store_engine) as connection:
        connection.execute(tables.change_event.delete())
    assert _append(store_engine, _captured())[0] > first[-1]


def test_lag_is_the_distance_to_the_end_of_the_log(store_engine: Engine) -> None:
    offsets = _append(store_engine, *(_captured() for _ in range(5)))
    reader = EventLog(store_engine)
    assert reader.lag("match") == offsets[-1]
    with writing(store_engine) as connection:
        row = {"query_name": "match", "log_offset": offsets[2], "updated_at_ms": 1}
        connection.execute(insert(tables.pipeline_progress), row)
    assert (reader.progress("match"), reader.lag("match")) == (offsets[2], offsets[4] - offsets[2])


def test_events_are_selected_by_kind_time_entity_and_author(store_engine: Engine) -> None:
    created = _captured("a", event_type=EventType.ENTITY_CREATED, timestamp=10, user_name="jane")
    updated = _captured("b", entity_type="dashboard", timestamp=20, entity_fully_qualified_name="s.d")
    failed = _captured("a", event_type=EventType.TEST_CASE_FAILURE, entity_type="testCase", timestamp=30)
    _append(store_engine, created, updated, failed)
    reader = EventLog(store_engine)

    def selected(selection: EventSelection, after: int = 0, limit: int = 10) -> list[str]:
        return [one.event.id for one in reader.list_events(selection, after=after, limit=limit)]

    one, two, three = (captured.event.id for captured in (created, updated, failed))
    every = EventSelection()
    assert selected(every) == [one, two, three]
    assert selected(every, limit=2) == [one, two]
    assert selected(every, after=reader.read(0, 1)[0].offset) == [two, three]
    assert selected(replace(every, since_ms=20)) == [two, three]
    assert selected(replace(every, until_ms=20)) == [one, two]
    assert selected(replace(every, entity_id="a")) == [one, three]
    assert selected(replace(every, entity_fqn="s.d")) == [two]
    assert selected(replace(every, user_name="jane")) == [one]
    assert selected(replace(every, kinds={EventType.ENTITY_CREATED: types_from("table,dashboard")})) == [one]
    assert selected(replace(every, kinds={EventType.ENTITY_UPDATED: types_from("table")})) == []
    both = {EventType.ENTITY_UPDATED: types_from("*"), EventType.TEST_CASE_FAILURE: types_from("testCase")}
    assert selected(replace(every, kinds=both)) == [two, three]
    assert selected(replace(every, kinds={})) == []

    portions = EventLog(store_engine, page_bytes=1)
    begun = portions.list_events(every, limit=10)
    assert ([each.event.id for each in begun], begun.is_cut) == ([one], True)
    last = portions.list_events(every, after=reader.read(0, 2)[1].offset, limit=10)
    assert ([each.event.id for each in last], last.is_cut) == ([three], False)


def test_a_rolled_back_write_leaves_nothing_and_blocks_nobody(store_engine: Engine) -> None:
    """Fault scenario 1."""
    _append(store_engine, _captured())
    with pytest.raises(_RollBackError), writing(store_engine) as connection:
        log.append(connection, [_captured()])
        raise _RollBackError
    last = _append(store_engine, _captured())[-1]
    reader = EventLog(store_engine)
    assert len(reader.read(0, 10)) == 2
    assert reader.readable_end() == last


@pytest.mark.postgres
def test_a_transaction_that_commits_late_is_not_skipped(postgres_engine: Engine) -> None:
    """Fault scenario 2."""
    reader = EventLog(postgres_engine)
    before = _append(postgres_engine, _captured("before"))[-1]
    with _open(postgres_engine) as slow:
        low = log.append(slow, [_captured("slow")])[0]
        high = _append(postgres_engine, _captured("quick"))[0]
        assert low < high
        assert reader.readable_end() == before, "the committed row above the open one must wait"
        assert [one.event.entity_id for one in reader.read(before, 10)] == []
        slow.commit()
    assert [one.event.entity_id for one in reader.read(before, 10)] == ["slow", "quick"]
    assert reader.readable_end() == high


@pytest.mark.postgres
def test_a_rolled_back_transaction_leaves_a_gap_that_blocks_nobody(postgres_engine: Engine) -> None:
    """Fault scenario 3."""
    reader = EventLog(postgres_engine)
    with _open(postgres_engine) as doomed:
        low = log.append(doomed, [_captured("doomed")])[0]
        high = _append(postgres_engine, _captured("quick"))[0]
        assert reader.readable_end() < low
        doomed.rollback()
        assert reader.readable_end() == high
        assert [one.event.entity_id for one in reader.read(0, 10)] == ["quick"]


@pytest.mark.postgres
def test_the_order_of_transaction_ids_does_not_matter(postgres_engine: Engine) -> None:
    reader = EventLog(postgres_engine)
    with _open(postgres_engine) as early:
        early.execute(insert(tables.server_secret), {"name": "n", "value": "v"})  # it has its transaction id now
        quick = _append(postgres_engine, _captured("quick"))[0]
        assert reader.readable_end() == quick, "who has not written to the log holds nothing back"
        late = log.append(early, [_captured("early")])[0]
        assert quick < late
        assert reader.readable_end() == quick
        early.commit()
    assert [one.event.entity_id for one in reader.read(0, 10)] == ["quick", "early"]


@pytest.mark.postgres
def test_several_open_writers_hold_back_what_is_above_the_lowest(postgres_engine: Engine) -> None:
    """Fault scenario 2."""
    reader = EventLog(postgres_engine)
    with _open(postgres_engine) as one, _open(postgres_engine) as two:
        log.append(one, [_captured("one")])
        between = _append(postgres_engine, _captured("between"))[0]
        log.append(two, [_captured("two")])
        log.append(two, [_captured("two again")])
        last = _append(postgres_engine, _captured("last"))[0]
        assert reader.read(0, 10) == []
        one.commit()
        assert reader.readable_end() == between
        two.rollback()
        assert reader.readable_end() == last
    assert [one.event.entity_id for one in reader.read(0, 10)] == ["one", "between", "last"]


@pytest.mark.postgres
def test_readers_and_idle_transactions_hold_nothing_back(postgres_engine: Engine) -> None:
    with postgres_engine.connect() as idle, idle.begin():
        idle.execute(select(tables.change_event)).all()
        offset = _append(postgres_engine, _captured())[0]
        assert EventLog(postgres_engine).readable_end() == offset


@pytest.mark.parametrize("seed", [1, 2])
def test_a_reader_that_polls_all_the_time_sees_every_committed_event_once_in_order(
    store_engine: Engine, seed: int
) -> None:
    writers, each = 5, 25
    seen: list[tuple[int, str]] = []
    finished = threading.Event()

    def write(writer: int) -> list[tuple[int, str]]:
        chance, committed = random.Random(seed * 100 + writer), []
        for number in range(each):
            events = [_captured(f"{writer}-{number}-{part}") for part in range(chance.randint(1, 3))]
            try:
                with writing(store_engine) as connection:
                    offsets = log.append(connection, events)
                    for _ in range(chance.choice((0, 0, 1, 5))):  # the transaction stays open for a while
                        connection.execute(select(tables.change_event.c.id).limit(chance.randint(1, 50))).all()
                    if chance.random() < 0.2:
                        raise _RollBackError
                committed += [(offset, one.event.id) for offset, one in zip(offsets, events, strict=True)]
            except _RollBackError:
                continue
        return committed

    def poll() -> None:
        reader, after = EventLog(store_engine), 0
        while True:
            is_last = finished.is_set()
            while some := reader.read(after, 7):
                after = some[-1].offset
                seen.extend((one.offset, one.event.id) for one in some)
            if is_last:
                return

    with ThreadPoolExecutor(writers + 1) as pool:
        polling = pool.submit(poll)
        written = [pool.submit(write, writer) for writer in range(writers)]
        committed = sorted(pair for future in written for pair in future.result())
        finished.set()
        polling.result()
    assert seen == committed
