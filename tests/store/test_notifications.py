"""Tests of notification writes on both stores: once each, with their messages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import Engine, func, select, text
from tests.company import SmallCompany
from tests.drafts import draft, notification_due_at_once
from tests.waiting import until

from tocsin.errors import LogDiverged
from tocsin.flow.eventlog.position import LogPosition
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.schedule.messages import ScheduledNotification
from tocsin.model.match_result import MatchResult
from tocsin.store.database.alert_tables import firing, match_result
from tocsin.store.database.tables import message, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications


def notification_to(number: int, *alerts: str, leaves: bool) -> ScheduledNotification:
    """Return a notification of the event at offset 1, by mail or in-app."""
    return notification_due_at_once(draft("Email" if leaves else "ActivityFeed", *(alerts or ("s",)), key=f"k{number}"))


def count(engine: Engine, table: object) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()  # type: ignore[arg-type]


def test_rows_written_again_change_nothing(store_engine: Engine) -> None:
    notes = Notifications(store_engine)
    first, second, third = (notification_to(number, leaves=number != 2) for number in (1, 2, 3))
    notes.add([first, second])
    with store_engine.begin() as connection:
        connection.execute(message.update().values(status="delivered"))
        connection.execute(notification.update().values(read_at_ms=9))
    notes.add([first, second, third])
    assert (count(store_engine, notification), count(store_engine, message)) == (3, 2)
    with store_engine.connect() as connection:
        statuses = connection.execute(select(message.c.id, message.c.status)).all()
        read = connection.execute(select(notification.c.read_at_ms).where(notification.c.id == first.id)).scalar_one()
    assert dict(map(tuple, statuses)) == {first.message_id: "delivered", third.message_id: "pending"}
    assert read == 9


def test_a_batch_is_stored_whole_or_not_at_all(store_engine: Engine) -> None:
    valid, second = notification_to(1, leaves=True), notification_to(2, leaves=True)
    broken = second._replace(draft=second.draft._replace(target=None))  # type: ignore[arg-type]
    try:
        Notifications(store_engine).add([valid, broken])
    except Exception as error:  # noqa: BLE001  whatever the driver calls it
        assert "target" in str(error)
    assert count(store_engine, notification) == 0


def test_two_that_store_the_same_at_once_store_and_count_it_once(postgres_engine: Engine) -> None:
    notes = Notifications(postgres_engine)
    notifications = [notification_to(number, "a", leaves=True) for number in range(3)]
    result = [MatchResult(1, "a", 3, 5)]
    lock_query = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with ThreadPoolExecutor(1) as second, postgres_engine.connect() as looking:
        with notes.storing([(1, "a")]) as first:
            first.add(notifications[:2])
            first.finish([])
            later = second.submit(notes.add, notifications, result)
            until(lambda: bool(looking.scalar(lock_query)))
        later.result()
        assert looking.scalar(select(firing.c.notified_count)) == 2
    assert (count(postgres_engine, notification), count(postgres_engine, message)) == (3, 3)


def test_progress_moves_and_the_lag_shrinks(store_engine: Engine) -> None:
    SmallCompany(store_engine)
    log, notes = EventLog(store_engine), Notifications(store_engine)
    end = log.readable_end()
    notes.advance(MATCH_STREAM, end - 2, now_ms=1)
    assert (log.progress(MATCH_STREAM), log.lag(MATCH_STREAM)) == (end - 2, 2)
    notes.advance(MATCH_STREAM, end, now_ms=2)
    assert (log.progress(MATCH_STREAM), log.lag(MATCH_STREAM)) == (end, 0)


def test_what_was_read_of_another_log_is_neither_reported_nor_counted(store_engine: Engine) -> None:
    SmallCompany(store_engine)
    log, notes = EventLog(store_engine), Notifications(store_engine)
    end = log.end()
    for foreign in (
        replace(end, event_id="another"),
        replace(end, offset=end.offset - 1),
        LogPosition(end.offset + 9, "x"),
    ):
        with pytest.raises(LogDiverged):
            notes.add([notification_to(1, leaves=True)], [MatchResult(1, "a", 1, 5)], last=foreign)
        with pytest.raises(LogDiverged):
            notes.advance("q", foreign.offset, now_ms=1, event_id=foreign.event_id)
    assert (count(store_engine, notification), count(store_engine, match_result), log.progress("q")) == (0, 0, 0)
    notes.add([notification_to(1, leaves=True)], last=end)
    notes.advance("q", end.offset, now_ms=1, event_id=end.event_id)
    assert (count(store_engine, notification), log.progress("q")) == (1, end.offset)


def test_what_has_been_notified_is_not_notified_again(store_engine: Engine) -> None:
    notes = Notifications(store_engine)
    first = notification_to(1, "a", leaves=False)
    notes.add([first], [MatchResult(1, "a", 1, 5), MatchResult(1, "b", 0, 5)])
    again = notification_to(2, "a", "b", leaves=False)  # somebody who has come since
    notes.add([first, again], [MatchResult(1, "a", 2, 9), MatchResult(1, "b", 1, 9)])
    assert count(store_engine, notification) == 1
    later_notification = notification_to(3, "a", "c", leaves=False)
    notes.add([later_notification], [MatchResult(1, "a", 1, 9), MatchResult(1, "c", 1, 9)])
    assert count(store_engine, notification) == 2
    with store_engine.connect() as connection:
        results = connection.execute(select(match_result).order_by(match_result.c.subscription_id)).all()
    assert [(one.subscription_id, one.notified_count) for one in results] == [("a", 1), ("b", 0), ("c", 1)]
