"""Tests of quiet times when messages are sent, on both stores: what falls into them waits, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, event, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_preferences import HOUR_MS, MORNING_MS, NIGHT, NIGHT_MS, company_of, due

from tocsin.flow.track.attempts import Finished, hold, next_step
from tocsin.model.message import Attempt, Delivered, MessageStatus, OutcomeReason, Retry
from tocsin.model.preferences import Absence, DefaultPreferences, Preferences
from tocsin.store.database.tables import attempt, message, notification
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.quiet_times import SqlQuietTimes
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.upkeep.fsck.inspection import inspect

EVENING_MS = NIGHT_MS - 3 * HOUR_MS
"""21:00, UTC: an hour before the night."""


class Sending:
    """A worker that sends what is due, unless it falls into quiet times; ``fails``: no mail server answers."""

    def __init__(self, engine: Engine, name: str = "worker") -> None:
        self.messages, self.name, self.engine = Messages(engine), name, engine
        self.quiet_times = SqlQuietTimes(engine)
        Sessions(engine).begin(name, lease_ms=90_000, now_ms=1)

    def run(self, now_ms: int, *, fails: bool = False) -> list[str]:
        """Send what is due at a time; return the notifications of what went out."""
        claimed_dispatches = self.messages.dispatches(self.messages.claim(self.name, 1_000, now_ms=now_ms))
        ended_attempts, sent_ids = list[Finished](), list[str]()
        for dispatch in claimed_dispatches:
            until_ms = self.quiet_times.held_until_ms(dispatch, now_ms=now_ms)
            if until_ms is not None:
                ended_attempts.append(hold(dispatch.message, dispatch.entries, until_ms=until_ms, now_ms=now_ms))
                continue
            outcome = Retry(OutcomeReason.MAIL_DEFERRED) if fails else Delivered()
            recorded_attempt = Attempt(dispatch.message.id, dispatch.message.attempt_count + 1, now_ms, 0, outcome)
            ended_attempts.append(
                Finished(dispatch.message, recorded_attempt, next_step(recorded_attempt, retries=9, wait_s=2 * 3_600))
            )
            sent_ids += [] if fails else [entry.notification_id for entry in dispatch.entries]
        self.messages.record(self.name, ended_attempts, now_ms=now_ms)
        return sent_ids


def company_at_evening(engine: Engine, **alert: Any) -> tuple[SmallCompany, Sending]:
    company = company_of(engine, **alert)
    SqlPreferences(engine).put(company.ids["ana"], NIGHT, now_ms=1)
    SqlPreferences(engine).put(company.ids["ben"], Preferences(), now_ms=1)
    return company, Sending(engine)


def states(engine: Engine) -> list[tuple[str, int, int]]:
    query = select(message.c.status, message.c.due_at_ms, message.c.attempt_count)
    with engine.connect() as connection:
        of_ana = connection.execute(query.where(message.c.recipient == "ana@example.com").order_by(message.c.due_at_ms))
        return [(row.status, row.due_at_ms, row.attempt_count) for row in of_ana]


def test_a_retry_at_night_waits_for_the_morning_and_is_no_attempt(store_engine: Engine) -> None:
    """Fault scenario 37."""
    company, sending = company_at_evening(store_engine)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=EVENING_MS)
    assert sending.run(EVENING_MS, fails=True) == []
    assert len(sending.run(EVENING_MS + 2 * HOUR_MS)) == 1  # Ben's
    assert states(store_engine) == [("awaitingRetry", MORNING_MS, 1)]
    assert sending.run(MORNING_MS - 1) == []
    assert len(sending.run(MORNING_MS)) == 1
    assert states(store_engine) == [("delivered", MORNING_MS, 2)]
    with store_engine.connect() as connection:
        assert set(connection.scalars(select(attempt.c.reason))) == {"mailDeferred", "ok"}


def test_what_a_worker_finds_late_at_night_is_one_message_in_the_morning(store_engine: Engine) -> None:
    company, sending = company_at_evening(store_engine)
    for number in range(3):
        company.describe("orders", f"text {number}")
    notify_all(store_engine, now_ms=EVENING_MS)
    sent_ids = sending.run(NIGHT_MS)
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 3)]
    company.describe("orders", "at night")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 4)]
    sent_ids += [*sending.run(NIGHT_MS), *sending.run(MORNING_MS)]
    assert len(sent_ids) == len(set(sent_ids)) == 8
    assert inspect(store_engine).findings == []


def test_what_is_critical_is_sent_at_night_also_when_it_is_tried_again(store_engine: Engine) -> None:
    company, sending = company_at_evening(store_engine, tags=[{"tagFQN": "Priority.Critical"}])
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=EVENING_MS)
    sending.run(EVENING_MS, fails=True)
    assert len(sending.run(EVENING_MS + 2 * HOUR_MS)) == 2


def test_an_address_that_an_alert_names_has_no_quiet_times(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    SqlPreferences(store_engine).put_defaults(DefaultPreferences.model_validate(NIGHT.to_wire()), now_ms=1)
    external = {"category": "External", "type": "Email", "config": {"receivers": ["desk@example.org"]}}
    company.alert("all", [external], poll_interval_s=0)
    notify_all(store_engine, now_ms=EVENING_MS)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=EVENING_MS)
    assert len(Sending(store_engine).run(NIGHT_MS)) == 1


def test_another_worker_that_took_over_a_claim_keeps_it_when_the_first_wants_to_hold(store_engine: Engine) -> None:
    company, first = company_at_evening(store_engine)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=EVENING_MS)
    dispatches = first.messages.dispatches(first.messages.claim("worker", 9, now_ms=NIGHT_MS))
    (dispatch,) = (one for one in dispatches if one.entries[0].recipient_id == company.ids["ana"])
    Sessions(store_engine).end("worker")
    second = Sending(store_engine, "second")
    taken_ids = [one.id for one in second.messages.claim("second", 9, now_ms=NIGHT_MS)]
    held_attempt = hold(dispatch.message, dispatch.entries, until_ms=MORNING_MS, now_ms=NIGHT_MS)
    assert first.messages.record("worker", [held_attempt], now_ms=NIGHT_MS) == set()
    second.messages.release("second", taken_ids)
    second.run(NIGHT_MS)
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 1)]
    assert len(second.run(MORNING_MS)) == 1


def test_a_crash_before_notifications_follow_their_held_message_loses_nothing(store_engine: Engine) -> None:
    company, sending = company_at_evening(store_engine)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=EVENING_MS)

    def die(*call: Any) -> None:  # Any: what SQLAlchemy hands over
        if call[2].startswith("UPDATE notification SET due_at_ms"):
            raise RuntimeError("killed")

    event.listen(store_engine, "before_cursor_execute", die)
    with pytest.raises(RuntimeError):
        sending.run(NIGHT_MS)
    event.remove(store_engine, "before_cursor_execute", die)
    sent_ids = [*sending.run(NIGHT_MS), *sending.run(MORNING_MS)]
    assert len(sent_ids) == len(set(sent_ids)) == 1
    with store_engine.connect() as connection:
        statuses = connection.scalars(
            select(message.c.status).where(message.c.id.in_(select(notification.c.message_id)))
        )
        assert set(statuses) == {MessageStatus.DELIVERED.value}


def test_who_returns_gets_one_message_of_everything_and_who_returns_early_gets_it_then(store_engine: Engine) -> None:
    company, sending = company_at_evening(store_engine)
    preferences, until_ms = SqlPreferences(store_engine), NIGHT_MS + 100 * HOUR_MS
    company.describe("orders", "before")
    notify_all(store_engine, now_ms=EVENING_MS)
    away = Preferences(away=Absence(start=EVENING_MS, until=until_ms), kinds={"description": {"Email": "daily"}})
    preferences.put(company.ids["ana"], away, now_ms=EVENING_MS)
    sending.run(EVENING_MS)  # what was due at once is held
    for hour in (1, 30, 60):
        company.describe("orders", f"after {hour} hours")
        notify_all(store_engine, now_ms=NIGHT_MS + hour * HOUR_MS)
    assert due(store_engine)["ana@example.com"] == [(until_ms, 4)]
    preferences.put(company.ids["ana"], Preferences(), now_ms=NIGHT_MS + 70 * HOUR_MS)
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS + 70 * HOUR_MS, 4)]
    sent_ids = [*sending.run(NIGHT_MS + 70 * HOUR_MS), *sending.run(until_ms)]
    assert len(sent_ids) == len(set(sent_ids))
    assert inspect(store_engine).findings == []


def test_a_retry_that_is_held_comes_at_once_to_who_returns_early(store_engine: Engine) -> None:
    company, sending = company_at_evening(store_engine)
    preferences, until_ms = SqlPreferences(store_engine), NIGHT_MS + 1_000 * HOUR_MS
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=EVENING_MS)
    sending.run(EVENING_MS, fails=True)
    away = Preferences(away=Absence(start=EVENING_MS, until=until_ms))
    preferences.put(company.ids["ana"], away, now_ms=EVENING_MS + 1)
    sending.run(EVENING_MS + 2 * HOUR_MS)
    assert states(store_engine) == [("awaitingRetry", until_ms, 1)]
    preferences.put(company.ids["ana"], Preferences(), now_ms=NIGHT_MS)
    assert states(store_engine) == [("awaitingRetry", NIGHT_MS, 1)]
    assert len(sending.run(NIGHT_MS)) == 1
    assert sending.run(until_ms) == []
    assert inspect(store_engine).findings == []


@pytest.mark.parametrize("fails_before", [False, True])
def test_who_returns_while_a_worker_holds_a_message_does_not_wait_for_the_end_of_the_absence(
    store_engine: Engine, *, fails_before: bool
) -> None:
    company, sending = company_at_evening(store_engine)
    preferences, until_ms = SqlPreferences(store_engine), NIGHT_MS + 1_000 * HOUR_MS
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=EVENING_MS)
    if fails_before:
        sending.run(EVENING_MS, fails=True)
    away = Preferences(away=Absence(start=EVENING_MS, until=until_ms))
    preferences.put(company.ids["ana"], away, now_ms=EVENING_MS + 1)
    claimed_dispatches = sending.messages.dispatches(sending.messages.claim("worker", 9, now_ms=NIGHT_MS))
    held_attempts = [hold(one.message, one.entries, until_ms=until_ms, now_ms=NIGHT_MS) for one in claimed_dispatches]
    preferences.put(company.ids["ana"], Preferences(), now_ms=NIGHT_MS + 1)
    sending.messages.record("worker", held_attempts, now_ms=NIGHT_MS + 2)
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS + 2, 1)]
    assert len(sending.run(NIGHT_MS + 2)) == 2  # Ben's, too
    assert inspect(store_engine).findings == []


def test_many_held_messages_take_few_statements(store_engine: Engine) -> None:
    company, sending = company_at_evening(store_engine)
    for number in range(40):
        company.describe("orders", f"text {number}")
    notify_all(store_engine, now_ms=EVENING_MS)
    claimed_dispatches = sending.messages.dispatches(sending.messages.claim("worker", 100, now_ms=NIGHT_MS))
    statements = list[str]()
    event.listen(store_engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    sending.quiet_times.look_ahead(claimed_dispatches)
    assert len(statements) <= 2
    held_attempts = [hold(one.message, one.entries, until_ms=MORNING_MS, now_ms=NIGHT_MS) for one in claimed_dispatches]
    sending.messages.record("worker", held_attempts, now_ms=NIGHT_MS)
    assert len(statements) < 40
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 40)]
