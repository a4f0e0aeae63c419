"""Tests of retention around notifications: undelivered ones keep their event, finished ones go in their time."""

from __future__ import annotations

from random import Random
from uuid import uuid4

import pytest
from sqlalchemy import Engine, Table, func, select, update
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.random_changes import change, prepare
from tests.soak import SOAK
from tests.store.test_retention import check_sound, offsets, plan_at, run, stored_versions

from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.model.message import MessageStatus
from tocsin.model.retention import DAY_MS, LegalHold
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.database.alert_tables import firing, match_result
from tocsin.store.database.tables import attempt, message, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.retention.notifications import NotificationRemoval
from tocsin.store.upkeep.retention.policy import Holds
from tocsin.store.upkeep.retention.progress import RetentionProgress
from tocsin.store.upkeep.retention.protection import Protection

_LATER_MS = 100 * DAY_MS


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """A company with two mails and two entries in inboxes, of the same two events."""
    company = SmallCompany(store_engine)
    team = {"category": "Teams", "type": "Email", "config": {"receivers": ["shop"]}}
    company.alert("mails", [team], resources=("table",))
    company.alert("inbox", [{"category": "Owners", "type": "ActivityFeed"}], resources=("table",))
    for number in range(2):
        company.describe("orders", f"text {number}")
    notify_all(store_engine, now_ms=company.clock.now_ms())
    company.describe("orders", "the end")
    return company


def count(engine: Engine, table: Table) -> int:
    with engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def settle(engine: Engine, status: MessageStatus) -> None:
    """Give every message a status."""
    with engine.begin() as connection:
        connection.execute(update(message).values(status=status.value, updated_at_ms=1))


def advance(company: SmallCompany) -> None:
    notify_all(company.engine, now_ms=company.clock.now_ms())


@pytest.mark.parametrize("status", [one for one in MessageStatus if one is not MessageStatus.DELIVERED])
@pytest.mark.soak_on_postgresql
def test_the_event_of_a_message_that_may_still_be_sent_stays(company: SmallCompany, status: MessageStatus) -> None:
    settle(company.engine, status)
    notified = {one.offset for one in EventLog(company.engine).read(0, 100) if "text" in str(one.event.to_wire())}
    counts = run(company, plan_at(company))
    assert counts.protected[Protection.UNDELIVERED] == 2
    assert notified <= set(offsets(company))
    assert count(company.engine, message) >= 2
    check_sound(company.engine)


def test_finished_notifications_go_with_their_event(company: SmallCompany) -> None:
    advance(company)
    settle(company.engine, MessageStatus.DELIVERED)
    run(company, plan_at(company))
    remaining = {table.name: count(company.engine, table) for table in (attempt, match_result, firing)}
    assert set(remaining.values()) <= {0, 1, 2}, "those of the last event alone"
    with company.engine.connect() as connection:
        of_removed = select(notification.c.id).where(notification.c.log_offset.not_in(offsets(company)))
        assert connection.execute(of_removed).all() == []
    check_sound(company.engine)
    before = count(company.engine, notification)
    notify_all(company.engine)
    assert count(company.engine, notification) == before, "nothing is notified again"


def test_notifications_and_dead_letters_go_in_their_time(company: SmallCompany) -> None:
    engine, progress = company.engine, RetentionProgress(company.engine)
    removal, now_ms = NotificationRemoval(engine, portion=2), company.clock.now_ms() + _LATER_MS
    assert progress.claim("run", now_ms=now_ms)
    settle(engine, MessageStatus.RETRY_LIMIT_REACHED)
    total, letters = count(engine, notification), count(engine, message)
    finished_count = sum(removal.remove_finished(2**60, "run", lambda: now_ms))
    assert 0 < finished_count < total
    assert count(engine, message) == letters, "dead letters have a time of their own"
    hold = LegalHold(str(uuid4()), "case", "ana", 1, entity_id=company.ids["orders"])
    Holds(engine).add(hold)
    assert sum(removal.remove_dead_letters(2**60, "run", lambda: now_ms)) == 0
    Holds(engine).lift(hold.id, lifted_by="ana", now_ms=2)
    assert sum(removal.remove_dead_letters(2**60, "run", lambda: now_ms)) == letters
    assert (count(engine, message), count(engine, attempt), count(engine, notification)) == (0, 0, 0)
    assert list(removal.remove_finished(2**60, "another", lambda: now_ms)) == [], "only the run that works removes"
    check_sound(engine)


@pytest.mark.parametrize("seed", range(12 if SOAK else 1))
@pytest.mark.soak_on_postgresql
def test_histories_are_the_same_before_and_after_whatever_happened(store_engine: Engine, seed: int) -> None:
    company, chance = SmallCompany(store_engine), Random(seed)
    prepare(company)
    for _ in range(60):
        change(company, chance)
        company.clock.advance(1_000)
    company.put("team", {"name": "last", "teamType": "Group"})
    notify_all(store_engine, now_ms=company.clock.now_ms())
    settle(store_engine, MessageStatus.DELIVERED)
    before, ids = stored_versions(store_engine), sorted(company.ids.values())
    states = SqlEntityStates(store_engine).of(ids)
    run(company, plan_at(company), portion=7)
    after = stored_versions(store_engine)
    with_events = {entity_id for entity_id, *_ in after}
    assert after == [row for row in before if row[0] in with_events]
    assert SqlEntityStates(store_engine).of(ids) == states, "nobody may view more, or less, than before"
    check_sound(store_engine)
    assert EventLog(store_engine).lag(MATCH_STREAM) == 0
