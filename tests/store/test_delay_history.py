"""Tests of the delays of notifications by periods, on both stores: of late events, records and dead letters."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, func, insert, select, update
from tests.store.rows import add_messages, some_id
from tests.unit.delivery.events import NOW_MS

from tocsin.model.change import RECORDED
from tocsin.model.message import SUPPRESSED, OutcomeReason
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import attempt, change_event, notification
from tocsin.store.outbox.delay_history import DelayHistory, DelayPeriod

LENGTH_MS = 1_000


def periods(engine: Engine, count: int = 3) -> list[DelayPeriod]:
    return DelayHistory(engine).periods(count, length_ms=LENGTH_MS, now_ms=NOW_MS)


def tell(engine: Engine, name: str, *, ago_ms: int, delay_ms: int = 0, derived: str = "{}") -> int:
    """Add a notification in the app about an event of then; return its offset."""
    add_messages(engine, 1, name=name)
    event_id, happened_ms = some_id(f"event {name}/0"), NOW_MS - ago_ms
    values = {"channel": "ActivityFeed", "message_id": None, "created_at_ms": happened_ms + delay_ms}
    with writing(engine) as connection:
        time_of_event = update(change_event).where(change_event.c.id == event_id)
        connection.execute(time_of_event.values(timestamp_ms=happened_ms, derived=derived))
        connection.execute(update(notification).where(notification.c.event_id == event_id).values(**values))
        query = select(func.max(change_event.c.log_offset)).where(change_event.c.id == event_id)
        return int(connection.execute(query).scalar_one())


def test_dead_letters_are_those_not_unsent_on_purpose(store_engine: Engine) -> None:
    columns: dict[str, Any] = {"status": "failed", "attempt_count": 2, "updated_at_ms": NOW_MS - 1}
    reasons = ["timeout", *(one.value for one in OutcomeReason)]
    message_ids = add_messages(store_engine, len(reasons) + 1, **columns)[1:]
    end = {"started_at_ms": NOW_MS, "duration_ms": 0, "outcome": "rejected", "detail": ""}
    with writing(store_engine) as connection:
        for message_id, reason in zip(message_ids, reasons, strict=True):
            tries = [{"message_id": message_id, "number": number, **end} for number in (1, 2)]
            connection.execute(insert(attempt), [tries[0] | {"reason": "muted"}, tries[1] | {"reason": reason}])
    counts = [one.given_up_count for one in periods(store_engine)]
    assert counts == [0, 0, 1 + len(reasons) - len(SUPPRESSED)], "one was given up without an attempt"


def test_an_event_that_arrives_late_takes_no_events_from_its_period(store_engine: Engine) -> None:
    for number, ago_ms in enumerate((2_400, 1_500, 500)):
        tell(store_engine, f"event{number}", ago_ms=ago_ms, delay_ms=100)
    tell(store_engine, "late", ago_ms=2_900, delay_ms=2_800)
    tell(store_engine, "record", ago_ms=1_950, derived=f'{{"{RECORDED}": true}}')
    history = periods(store_engine)
    assert [one.event_count for one in history] == [1, 1, 3]
    assert [one.notification_count for one in history] == [1, 1, 2], "a record begins no period, and has no delay"
    assert history[2].p95_s == 2.8, "what is late counts where it arrived"


def test_a_clock_that_was_set_back_makes_no_delay_of_nothing(store_engine: Engine) -> None:
    tell(store_engine, "slow", ago_ms=500, delay_ms=300)
    tell(store_engine, "back", ago_ms=400, delay_ms=-5_000)
    newest = periods(store_engine)[-1]
    assert (newest.notification_count, newest.median_s) == (1, 0.3)


def test_of_a_period_a_bounded_number_of_notifications_is_read(store_engine: Engine) -> None:
    for number in range(3):
        tell(store_engine, f"first{number}", ago_ms=500, delay_ms=100)
    history = DelayHistory(store_engine, most_of_period=2)
    assert history.periods(1, length_ms=LENGTH_MS, now_ms=NOW_MS)[0].notification_count == 2
