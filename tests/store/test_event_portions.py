"""Tests of events whose recipients are stored in portions, on both stores, without Spark: as whole ones, and once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest
from sqlalchemy import Engine, func, select, update
from tests.store.test_resolving import (
    NOW_MS,
    NotifyInSmallPortions,
    followed_by_many,
    match_batches,
    notified_count,
    stored_results,
    work_of,
)

from tocsin.jobs.event_portions import NotifyPortions
from tocsin.jobs.resolving import Notify
from tocsin.store.database.alert_tables import event_portion, firing, match_result
from tocsin.store.database.tables import notification
from tocsin.store.outbox.event_portions import EventPortions, PortionKey

FOLLOWERS = 45


def notify_in_portions(engine: Engine) -> Notify:
    return replace(work_of(engine, NotifyInSmallPortions), most_recipients=20)


def store(work: Notify, keys: Sequence[PortionKey], left_out: Sequence[str] = ()) -> int:
    """Do what a task does that gets these portions."""
    places = pa.RecordBatch.from_pylist([{"id": place} for place in range(len(keys))])
    (counts,) = NotifyPortions(work, keys, left_out)(iter([places]))
    return int(counts.to_pylist()[0]["notified"])


def row_counts(engine: Engine) -> tuple[int, int, int]:
    with engine.connect() as connection:
        tables = (notification, match_result, event_portion)
        of_notifications, of_results, of_portions = (
            int(connection.scalar(select(func.count()).select_from(table)) or 0) for table in tables
        )
    return of_notifications, of_results, of_portions


def without_times(stored: list[list[tuple[object, ...]]]) -> list[Sequence[tuple[object, ...]]]:
    results, firings, notifications, messages = stored
    parsed = [(identity, json.loads(str(reasons))) for identity, reasons in notifications]
    return [[row[:3] for row in results], firings, parsed, messages]


@pytest.fixture
def divided_engine(store_engine: Engine) -> Engine:
    """A store in which the portions of an event are written down, and none is stored."""
    followed_by_many(store_engine, FOLLOWERS)
    notified_count(store_engine, notify_in_portions(store_engine))
    return store_engine


def test_portions_store_what_one_task_would(divided_engine: Engine) -> None:
    waiting = EventPortions(divided_engine).pending_keys()
    assert len(waiting) == 6, "46 people, ten at a time, and those who share an address: few, so one range in each"
    assert row_counts(divided_engine) == (0, 0, 6)
    counts = [store(notify_in_portions(divided_engine), [key]) for key in waiting]
    assert row_counts(divided_engine) == (46 + 45, 2, 0)
    assert sum(counts) == 46 + 45
    in_portions = stored_results(divided_engine)
    assert notified_count(divided_engine, work_of(divided_engine)) >= 0
    assert stored_results(divided_engine) == in_portions, "one task finds nothing to add"
    firings = {row[:2]: row[2] for row in in_portions[1]}
    assert firings == {row[:2]: row[2] for row in in_portions[0]}, "firings count what the results count"


@pytest.mark.parametrize("order", [(5, 0, 3, 1, 4, 2), (1, 2, 3, 4, 5, 0)])
def test_the_last_portion_stores_the_results_whichever_it_is(divided_engine: Engine, order: tuple[int, ...]) -> None:
    waiting = EventPortions(divided_engine).pending_keys()
    for number in order:
        assert row_counts(divided_engine)[1] == 0
        store(notify_in_portions(divided_engine), [waiting[number]])
    assert row_counts(divided_engine) == (46 + 45, 2, 0)


def test_a_portion_has_several_ranges_of_people_where_there_are_many(store_engine: Engine) -> None:
    followed_by_many(store_engine, 105)
    notified_count(store_engine, notify_in_portions(store_engine))
    portions = EventPortions(store_engine)
    stored = [portions.find(key) for key in portions.pending_keys()]
    assert [len(portion.people) for portion in stored if portion is not None] == [2, 2, 2, 2, 2, 2]


def test_what_was_killed_goes_on_and_what_runs_again_changes_nothing(divided_engine: Engine) -> None:
    work, waiting = notify_in_portions(divided_engine), EventPortions(divided_engine).pending_keys()
    store(work, waiting[1:2])
    after_one = stored_results(divided_engine)
    assert store(work, waiting[1:2]) == 0
    assert stored_results(divided_engine) == after_one
    notified_count(divided_engine, replace(work, now_ms=NOW_MS + 5))  # the micro-batch begins again
    assert stored_results(divided_engine) == after_one
    assert EventPortions(divided_engine).pending_keys() == [waiting[0], *waiting[2:]]
    store(work, waiting)
    end_state = stored_results(divided_engine)
    assert row_counts(divided_engine) == (46 + 45, 2, 0)
    for _ in range(2):
        store(work, waiting)
        notified_count(divided_engine, work)
    assert stored_results(divided_engine) == end_state
    assert row_counts(divided_engine)[2] == 0


def test_two_at_once_store_each_portion_once(divided_engine: Engine) -> None:
    work, waiting = notify_in_portions(divided_engine), EventPortions(divided_engine).pending_keys()
    with ThreadPoolExecutor(4) as tasks:
        counts = list(tasks.map(lambda key: store(work, [key]), [*waiting, *reversed(waiting)]))
    assert sum(counts) == 46 + 45
    assert row_counts(divided_engine) == (46 + 45, 2, 0)
    stored = stored_results(divided_engine)
    assert {row[:2]: row[2] for row in stored[1]} == {row[:2]: row[2] for row in stored[0]}


def test_an_alert_that_is_left_out_notifies_nobody_and_has_its_result(divided_engine: Engine) -> None:
    with divided_engine.connect() as connection:
        (second,) = connection.scalars(
            select(firing.c.subscription_id)
            .where(firing.c.log_offset == EventPortions(divided_engine).pending_keys()[0][0])
            .order_by(firing.c.subscription_id.desc())
            .limit(1)
        )
    store(notify_in_portions(divided_engine), EventPortions(divided_engine).pending_keys(), [second])
    with divided_engine.connect() as connection:
        of_alert = match_result.c.subscription_id == second
        assert set(connection.scalars(select(match_result.c.notified_count).where(of_alert))) == {0}
    assert row_counts(divided_engine)[1:] == (2, 0)


def test_what_another_query_wrote_before_takes_the_reasons_and_counts_once(divided_engine: Engine) -> None:
    work, waiting = notify_in_portions(divided_engine), EventPortions(divided_engine).pending_keys()
    store(work, waiting)
    complete = stored_results(divided_engine)
    assert complete[2]
    with divided_engine.begin() as connection:  # as if only the first alert had found ten of them
        connection.execute(match_result.delete())
        connection.execute(firing.delete())
        ten_ids = select(notification.c.id).order_by(notification.c.id).limit(10)
        connection.execute(notification.delete().where(notification.c.id.not_in(ten_ids.scalar_subquery())))
        connection.execute(update(notification).values(reasons="[]"))
    notified_count(divided_engine, work)
    store(work, EventPortions(divided_engine).pending_keys())
    assert without_times(stored_results(divided_engine)) == without_times(complete)


def test_a_rehearsal_and_few_recipients_are_not_divided(store_engine: Engine) -> None:
    followed_by_many(store_engine, FOLLOWERS)
    work = notify_in_portions(store_engine)
    notified_count(store_engine, replace(work, is_rehearsal=True))
    assert row_counts(store_engine) == (0, 0, 0)
    notified_count(store_engine, replace(work, most_recipients=60))
    assert row_counts(store_engine) == (46 + 45, 2, 0)


def test_matches_of_an_event_lie_in_its_portions_until_the_last(divided_engine: Engine) -> None:
    (offset,) = {key.log_offset for key in EventPortions(divided_engine).pending_keys()}
    assert len(EventPortions(divided_engine).pairs_at([offset, offset + 1])) == 2
    assert EventPortions(divided_engine).find(PortionKey(offset, 99)) is None
    assert list(match_batches(divided_engine))
