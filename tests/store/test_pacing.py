"""Tests of what real-time alerts gather, on both stores: the first at once, the rest together, all of it once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from sqlalchemy import Engine, event
from tests.drafts import match_results
from tests.store.rows import finish_of
from tests.store.test_gathering import MINUTE_MS, NOON_MS, Store

from tocsin.model.message import OutcomeReason, Retry
from tocsin.model.notification import message_id
from tocsin.store.outbox.sessions import Sessions


def test_the_first_goes_out_at_once_and_what_follows_within_the_interval_together(store_engine: Engine) -> None:
    """Fault scenario 32."""
    store = Store(store_engine, 5)
    store.write(0, "paced")
    (first,) = store.claim(NOON_MS)
    assert first.id == message_id(store.notification(0, "paced").id)
    store.write(1, "paced", now_ms=NOON_MS + 1_000)
    store.write(2, "paced", now_ms=NOON_MS + 59_000)
    assert store.counts_by_due_time() == {NOON_MS: 1, NOON_MS + MINUTE_MS: 2}
    assert store.send(NOON_MS + MINUTE_MS - 1) == []
    assert len(store.send(NOON_MS + MINUTE_MS)) == 2
    store.write(3, "paced", now_ms=NOON_MS + MINUTE_MS + 5_000)
    store.write(4, "paced", now_ms=NOON_MS + 5 * MINUTE_MS)
    assert store.counts_by_due_time() == {NOON_MS: 1, NOON_MS + MINUTE_MS: 2, NOON_MS + 2 * MINUTE_MS: 2}


def test_after_a_quiet_interval_the_next_one_is_a_first_again(store_engine: Engine) -> None:
    store = Store(store_engine, 2)
    store.write(0, "paced")
    assert len(store.send(NOON_MS)) == 1
    store.write(1, "paced", now_ms=NOON_MS + MINUTE_MS)
    assert len(store.send(NOON_MS + MINUTE_MS)) == 1


def test_what_is_found_in_one_moment_is_one_message(store_engine: Engine) -> None:
    store = Store(store_engine, 50)
    scheduled = [store.notification(place, "paced") for place in range(50)]
    store.notifications.add(scheduled, match_results(scheduled))
    (dispatch,) = store.messages.dispatches(store.claim(NOON_MS))
    assert [one.log_offset for one in dispatch.entries] == [logged.offset for logged in store.events]


def test_a_repeated_micro_batch_changes_nothing(store_engine: Engine) -> None:
    store = Store(store_engine, 2)
    store.write(0, "paced")
    assert len(store.send(NOON_MS)) == 1
    store.write(1, "paced", now_ms=NOON_MS + 1_000)
    before = store.counts_by_due_time()
    for later_ms in (2_000, 30_000, 5 * MINUTE_MS):
        store.write(0, "paced", now_ms=NOON_MS + later_ms)
        store.write(1, "paced", now_ms=NOON_MS + later_ms)
    assert store.counts_by_due_time() == before
    assert len(store.send(NOON_MS + 10 * MINUTE_MS)) == 1


def test_a_message_that_waits_for_its_next_attempt_makes_nothing_wait_as_long(store_engine: Engine) -> None:
    store = Store(store_engine, 2)
    store.write(0, "paced")
    (claimed,) = store.claim(NOON_MS)
    failed = finish_of(claimed, Retry(OutcomeReason.TIMEOUT), at_ms=NOON_MS)
    store.messages.record("worker", [failed], now_ms=NOON_MS + 2_000)
    store.write(1, "paced", now_ms=NOON_MS + 3_000)
    assert NOON_MS + 2_000 + MINUTE_MS in store.counts_by_due_time()


def test_while_no_worker_runs_one_message_takes_it_all(store_engine: Engine) -> None:
    store = Store(store_engine, 6)
    for place in range(6):
        store.write(place, "paced", now_ms=NOON_MS + 20 * place * MINUTE_MS)
    assert store.counts_by_due_time() == {NOON_MS: 6}


def test_what_is_sent_at_once_neither_waits_nor_makes_wait(store_engine: Engine) -> None:
    store = Store(store_engine, 3)
    store.write(0, "at once")
    store.write(1, "paced", now_ms=NOON_MS + 1)
    store.write(2, "paced", "at once", now_ms=NOON_MS + 2)
    assert store.counts_by_due_time() == {NOON_MS: 1, NOON_MS + 1: 1, NOON_MS + 2: 1}


def test_whoever_dies_and_whenever_everything_is_sent_once(store_engine: Engine) -> None:
    """Three writers that repeat what they write; workers of which every second one dies with what it has claimed."""
    store, sent_ids = Store(store_engine, 60), list[str]()
    sessions, moments = Sessions(store_engine), count(NOON_MS, 7_000)

    def write(start: int) -> None:
        for place in range(start, 60, 3):
            store.write(place, "paced", now_ms=next(moments))
            store.write(place, "paced", now_ms=next(moments))

    with ThreadPoolExecutor(3) as pool:
        writing, worker = [pool.submit(write, start) for start in range(3)], 0
        while not all(one.done() for one in writing):
            worker += 1
            sessions.begin(f"dying {worker}", lease_ms=90_000, now_ms=1)
            store.messages.claim(f"dying {worker}", 64, now_ms=next(moments))
            sessions.end(f"dying {worker}")
            sent_ids += store.send(next(moments))
    for writer in writing:
        writer.result()
    sent_ids += store.send(next(moments) + 10**9)
    assert len(sent_ids) == len(set(sent_ids)) == 60
    assert -1 not in store.counts_by_due_time()


@pytest.mark.postgres
def test_two_writers_that_find_nothing_sent_lose_nothing(postgres_engine: Engine) -> None:
    store = Store(postgres_engine, 4)
    with store.notifications.storing([]) as under_way:
        under_way.add([store.notification(0, "paced")])
        store.write(1, "paced")  # neither sees the message of the other: both go out at once
    store.write(2, "paced")
    assert len(store.send(NOON_MS + MINUTE_MS)) == 3
    assert -1 not in store.counts_by_due_time()


@pytest.mark.parametrize("table", ["paced_time", "message"])
def test_turns_and_messages_are_looked_up_by_their_key_however_many_there_are(
    sqlite_engine: Engine, table: str
) -> None:
    store = Store(sqlite_engine, 2)
    store.write(0, "paced")
    statements: list[tuple[str, object]] = []
    event.listen(sqlite_engine, "before_cursor_execute", lambda *call: statements.append((call[2], call[3])))
    store.write(1, "paced", now_ms=NOON_MS + 1_000)
    lookup = next(one for one in statements if one[0].startswith("SELECT") and f"FROM {table}, json_each" in one[0])
    with sqlite_engine.connect() as connection:
        plan = [str(row[3]) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {lookup[0]}", lookup[1])]  # type: ignore[arg-type]
    assert [line for line in plan if line.startswith(f"SEARCH {table}")]
