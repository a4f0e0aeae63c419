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
from tocsin.store.database import tables
from tocsin.store.database.engine import writing
from tocsin.store.eventlog import log
from tocsin.store.eventlog.log import EventLog


class _RollBackError(Exception):
    pass


def _captured_event(entity_id: str = "e1", **facts: object) -> CapturedEvent:
    event = ChangeEvent(
        id=str(uuid7()), event_type=EventType.ENTITY_UPDATED, entity_type="table", entity_id=entity_id, timestamp=1
    )
    return CapturedEvent(event.model_copy(update=facts), {"fieldChanged": ["columns"]})


def _append(engine: Engine, *events: CapturedEvent) -> list[int]:
    with writing(engine) as connection:
        return log.append(connection, events).offsets


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
    captured = _captured_event(user_name="jane", current_version=None)
    offsets = _append(store_engine, captured)
    read = EventLog(store_engine).read(0, 10)
    assert [(one.offset, one.event, one.derived) for one in read] == [(offsets[0], captured.event, captured.derived)]
    assert EventLog(store_engine).find(captured.event.id) == read[0]
    assert EventLog(store_engine).find("nobody") is None


def test_one_write_keeps_its_events_in_order(store_engine: Engine) -> None:
    events = [_captured_event(f"e{number}") for number in range(50)]
    offsets = _append(store_engine, *events)
    assert offsets == sorted(set(offsets))
    assert [one.event.id for one in EventLog(store_engine).read(0, 100)] == [one.event.id for one in events]


def test_reading_goes_on_after_an_offset_in_lots(store_engine: Engine) -> None:
    _append(store_engine, *(_captured_event() for _ in range(7)))
    reader, offsets, after = EventLog(store_engine), [], 0
    while lot := reader.read(after, 3):
        assert len(lot) <= 3
        after = lot[-1].offset
        offsets += [one.offset for one in lot]
    assert len(offsets) == 7
    assert after == reader.readable_end()


def test_offsets_are_not_used_again_after_the_newest_rows_are_gone(store_engine: Engine) -> None:
    first = _append(store_engine, _captured_event(), _captured_event())
    with writing(store_engine) as connection:
        connection.execute(tables.change_event.delete())
    assert _append(store_engine, _captured_event())[0] > first[-1]


def test_lag_is_the_distance_to_the_end_of_the_log(store_engine: Engine) -> None:
    offsets = _append(store_engine, *(_captured_event() for _ in range(5)))
    reader = EventLog(store_engine)
    assert reader.lag("match") == offsets[-1]
    with writing(store_engine) as connection:
        row = {"query_name": "match", "log_offset": offsets[2], "updated_at_ms": 1}
        connection.execute(insert(tables.pipeline_progress), row)
    assert (reader.progress("match"), reader.lag("match")) == (offsets[2], offsets[4] - offsets[2])


def test_events_are_selected_by_kind_time_entity_and_author(store_engine: Engine) -> None:
    creation = _captured_event("a", event_type=EventType.ENTITY_CREATED, timestamp=10, user_name="jane")
    update = _captured_event("b", entity_type="dashboard", timestamp=20, entity_fully_qualified_name="s.d")
    failure = _captured_event("a", event_type=EventType.TEST_CASE_FAILURE, entity_type="testCase", timestamp=30)
    _append(store_engine, creation, update, failure)
    reader = EventLog(store_engine)

    def selected_ids(selection: EventSelection, after: int = 0, limit: int = 10) -> list[str]:
        return [one.event.id for one in reader.list_events(selection, after=after, limit=limit)]

    first_id, two, three = (captured.event.id for captured in (creation, update, failure))
    everything = EventSelection()
    assert selected_ids(everything) == [first_id, two, three]
    assert selected_ids(everything, limit=2) == [first_id, two]
    assert selected_ids(everything, after=reader.read(0, 1)[0].offset) == [two, three]
    assert selected_ids(replace(everything, since_ms=20)) == [two, three]
    assert selected_ids(replace(everything, until_ms=20)) == [first_id, two]
    assert selected_ids(replace(everything, entity_id="a")) == [first_id, three]
    assert selected_ids(replace(everything, entity_fqn="s.d")) == [two]
    assert selected_ids(replace(everything, user_name="jane")) == [first_id]
    assert selected_ids(replace(everything, kinds={EventType.ENTITY_CREATED: types_from("table,dashboard")})) == [
        first_id
    ]
    assert selected_ids(replace(everything, kinds={EventType.ENTITY_UPDATED: types_from("table")})) == []
    both = {EventType.ENTITY_UPDATED: types_from("*"), EventType.TEST_CASE_FAILURE: types_from("testCase")}
    assert selected_ids(replace(everything, kinds=both)) == [two, three]
    assert selected_ids(replace(everything, kinds={})) == []

    portions = EventLog(store_engine, page_bytes=1)
    first_portion = portions.list_events(everything, limit=10)
    assert ([each.event.id for each in first_portion], first_portion.is_cut) == ([first_id], True)
    last = portions.list_events(everything, after=reader.read(0, 2)[1].offset, limit=10)
    assert ([each.event.id for each in last], last.is_cut) == ([three], False)


def test_a_rolled_back_write_leaves_nothing_and_blocks_nobody(store_engine: Engine) -> None:
    """Fault scenario 1."""
    _append(store_engine, _captured_event())
    with pytest.raises(_RollBackError), writing(store_engine) as connection:
        log.append(connection, [_captured_event()])
        raise _RollBackError
    last = _append(store_engine, _captured_event())[-1]
    reader = EventLog(store_engine)
    assert len(reader.read(0, 10)) == 2
    assert reader.readable_end() == last


@pytest.mark.postgres
def test_a_transaction_that_commits_late_is_not_skipped(postgres_engine: Engine) -> None:
    """Fault scenario 2."""
    reader = EventLog(postgres_engine)
    before = _append(postgres_engine, _captured_event("before"))[-1]
    with _open(postgres_engine) as slow:
        low = log.append(slow, [_captured_event("slow")]).offsets[0]
        high = _append(postgres_engine, _captured_event("quick"))[0]
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
        low = log.append(doomed, [_captured_event("doomed")]).offsets[0]
        high = _append(postgres_engine, _captured_event("quick"))[0]
        assert reader.readable_end() < low
        doomed.rollback()
        assert reader.readable_end() == high
        assert [one.event.entity_id for one in reader.read(0, 10)] == ["quick"]


@pytest.mark.postgres
def test_the_order_of_transaction_ids_does_not_matter(postgres_engine: Engine) -> None:
    reader = EventLog(postgres_engine)
    with _open(postgres_engine) as early:
        early.execute(insert(tables.server_secret), {"name": "n", "value": "v"})  # it has its transaction id now
        quick = _append(postgres_engine, _captured_event("quick"))[0]
        assert reader.readable_end() == quick, "who has not written to the log holds nothing back"
        late = log.append(early, [_captured_event("early")]).offsets[0]
        assert quick < late
        assert reader.readable_end() == quick
        early.commit()
    assert [one.event.entity_id for one in reader.read(0, 10)] == ["quick", "early"]


@pytest.mark.postgres
def test_several_open_writers_hold_back_what_is_above_the_lowest(postgres_engine: Engine) -> None:
    """Fault scenario 2."""
    reader = EventLog(postgres_engine)
    with _open(postgres_engine) as first_connection, _open(postgres_engine) as two:
        log.append(first_connection, [_captured_event("one")])
        between = _append(postgres_engine, _captured_event("between"))[0]
        log.append(two, [_captured_event("two")])
        log.append(two, [_captured_event("two again")])
        last = _append(postgres_engine, _captured_event("last"))[0]
        assert reader.read(0, 10) == []
        first_connection.commit()
        assert reader.readable_end() == between
        two.rollback()
        assert reader.readable_end() == last
    assert [one.event.entity_id for one in reader.read(0, 10)] == ["one", "between", "last"]


@pytest.mark.postgres
def test_readers_and_idle_transactions_hold_nothing_back(postgres_engine: Engine) -> None:
    with postgres_engine.connect() as idle, idle.begin():
        idle.execute(select(tables.change_event)).all()
        offset = _append(postgres_engine, _captured_event())[0]
        assert EventLog(postgres_engine).readable_end() == offset


@pytest.mark.parametrize("seed", [1, 2])
def test_a_reader_that_polls_all_the_time_sees_every_committed_event_once_in_order(
    store_engine: Engine, seed: int
) -> None:
    writers, event_count = 5, 25
    read_events: list[tuple[int, str]] = []
    finish = threading.Event()

    def write(writer: int) -> list[tuple[int, str]]:
        chance, committed_pairs = random.Random(seed * 100 + writer), []
        for number in range(event_count):
            events = [_captured_event(f"{writer}-{number}-{part}") for part in range(chance.randint(1, 3))]
            try:
                with writing(store_engine) as connection:
                    offsets = log.append(connection, events).offsets
                    for _ in range(chance.choice((0, 0, 1, 5))):  # the transaction stays open for a while
                        connection.execute(select(tables.change_event.c.id).limit(chance.randint(1, 50))).all()
                    if chance.random() < 0.2:
                        raise _RollBackError
                committed_pairs += [(offset, one.event.id) for offset, one in zip(offsets, events, strict=True)]
            except _RollBackError:
                continue
        return committed_pairs

    def poll() -> None:
        reader, after = EventLog(store_engine), 0
        while True:
            is_last = finish.is_set()
            while lot := reader.read(after, 7):
                after = lot[-1].offset
                read_events.extend((one.offset, one.event.id) for one in lot)
            if is_last:
                return

    with ThreadPoolExecutor(writers + 1) as pool:
        polling = pool.submit(poll)
        futures = [pool.submit(write, writer) for writer in range(writers)]
        committed_pairs = sorted(pair for future in futures for pair in future.result())
        finish.set()
        polling.result()
    assert read_events == committed_pairs
