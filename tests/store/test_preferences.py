"""Tests of notification preferences on both stores: who waits, for what, and what becomes of it when they change."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.model.change_kinds import Frequency
from tocsin.model.preferences import Preferences, QuietHours
from tocsin.store.database.tables import message, notification
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.upkeep.fsck.inspection import inspect

HOUR_MS = 3_600_000
NIGHT_MS = 1_764_028_800_000  # midnight, UTC
MORNING_MS = NIGHT_MS + 8 * HOUR_MS
NIGHT = Preferences(quiet_hours=QuietHours(start="22:00", end="08:00"))
OWNERS = [{"category": "Owners", "type": "Email"}, {"category": "Owners", "type": "ActivityFeed"}]


def company_of(engine: Engine, **alert: Any) -> SmallCompany:
    """Return a company whose owners hear of everything, by mail and in the app."""
    company = SmallCompany(engine)
    company.put("classification", {"name": "Priority", "description": ""})
    company.put("tag", {"name": "Critical", "classification": "Priority", "description": ""})
    company.clock.advance(1_000)
    company.alert("all", OWNERS, poll_interval_s=0, **alert)
    notify_all(engine, now_ms=NIGHT_MS)
    return company


def due(engine: Engine) -> dict[str, list[tuple[int, int]]]:
    """Return, by recipient, when each message is due and how many notifications are in it."""
    query = select(message.c.id, message.c.recipient, message.c.due_at_ms)
    carried = select(notification.c.message_id, notification.c.due_at_ms)
    due_by_recipient: dict[str, list[tuple[int, int]]] = {}
    with engine.connect() as connection:
        inside = [tuple(row) for row in connection.execute(carried)]
        for row in connection.execute(query.order_by(message.c.due_at_ms)):
            assert {at for one, at in inside if one == row.id} == {row.due_at_ms}
            due_by_recipient.setdefault(row.recipient, []).append(
                (row.due_at_ms, sum(one == row.id for one, _ in inside))
            )
    return due_by_recipient


def test_mail_of_the_night_comes_as_one_message_in_the_morning(store_engine: Engine) -> None:
    company = company_of(store_engine)
    SqlPreferences(store_engine).put(company.ids["ana"], NIGHT, now_ms=1)
    for number in range(3):
        company.describe("orders", f"text {number}")
    notify_all(store_engine, now_ms=NIGHT_MS)
    company.describe("orders", "later")
    notify_all(store_engine, now_ms=NIGHT_MS + HOUR_MS)
    messages_by_recipient = due(store_engine)
    assert messages_by_recipient["ana@example.com"] == [(MORNING_MS, 4)]
    assert sum(count for _, count in messages_by_recipient["ben@example.com"]) == 4
    assert {at for at, _ in messages_by_recipient["ben@example.com"]} == {NIGHT_MS, NIGHT_MS + HOUR_MS}
    with store_engine.connect() as connection:
        bells = connection.execute(select(notification.c.due_at_ms).where(notification.c.message_id.is_(None)))
        assert MORNING_MS not in {row.due_at_ms for row in bells}


def test_what_comes_after_the_morning_has_begun_is_sent_at_once(store_engine: Engine) -> None:
    company = company_of(store_engine)
    SqlPreferences(store_engine).put(company.ids["ana"], NIGHT, now_ms=1)
    company.describe("orders", "night")
    notify_all(store_engine, now_ms=NIGHT_MS)
    Sessions(store_engine).begin("worker", lease_ms=90_000, now_ms=1)
    Messages(store_engine).claim("worker", 64, now_ms=MORNING_MS)
    company.describe("orders", "morning")
    notify_all(store_engine, now_ms=MORNING_MS)
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 1), (MORNING_MS, 1)]


def test_each_category_of_changes_comes_as_often_as_its_reader_prefers(store_engine: Engine) -> None:
    company = company_of(store_engine)
    often = Preferences(categories={"description": Frequency.DAILY, "tag": Frequency.WEEKLY})
    SqlPreferences(store_engine).put(company.ids["ana"], often, now_ms=1)
    company.describe("orders", "text")
    owners = [{"op": "add", "path": "/displayName", "value": "Orders"}]
    company.writes.patch("table", company.key("orders"), owners, actor=company.actor("dia"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS, 1), (NIGHT_MS + 9 * HOUR_MS, 1)]


def test_a_changed_preference_moves_what_waits(store_engine: Engine) -> None:
    """Fault scenario 36."""
    company = company_of(store_engine)
    preferences = SqlPreferences(store_engine)
    preferences.put(company.ids["ana"], Preferences(frequency=Frequency.WEEKLY), now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    preferences.put(company.ids["ana"], NIGHT, now_ms=NIGHT_MS)
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 1)]
    preferences.put(company.ids["ana"], Preferences(), now_ms=NIGHT_MS + 1)
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS + 1, 1)]
    preferences.put(company.ids["ana"], NIGHT, now_ms=NIGHT_MS + 2)
    company.describe("orders", "more")
    notify_all(store_engine, now_ms=NIGHT_MS + 3)
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 2)]


def test_what_a_changed_preference_releases_is_one_message(store_engine: Engine) -> None:
    company = company_of(store_engine)
    preferences = SqlPreferences(store_engine)
    often = Preferences(frequency=Frequency.DAILY, categories={"name": Frequency.WEEKLY})
    preferences.put(company.ids["ana"], often, now_ms=1)
    company.describe("orders", "text")
    name = [{"op": "add", "path": "/displayName", "value": "Orders"}]
    company.writes.patch("table", company.key("orders"), name, actor=company.actor("dia"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert [count for _, count in due(store_engine)["ana@example.com"]] == [1, 1]
    preferences.put(company.ids["ana"], Preferences(), now_ms=NIGHT_MS + 1)
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS + 1, 2)]
    assert inspect(store_engine).findings == []


def test_a_message_that_is_being_sent_keeps_what_it_carries_when_preferences_change(store_engine: Engine) -> None:
    company = company_of(store_engine)
    preferences = SqlPreferences(store_engine)
    preferences.put(company.ids["ana"], NIGHT, now_ms=1)
    company.describe("orders", "night")
    notify_all(store_engine, now_ms=NIGHT_MS)
    Sessions(store_engine).begin("worker", lease_ms=90_000, now_ms=1)
    Messages(store_engine).claim("worker", 64, now_ms=MORNING_MS)
    preferences.put(company.ids["ana"], Preferences(), now_ms=MORNING_MS + 1)
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 1)]


def test_a_critical_alert_waits_for_nobody(store_engine: Engine) -> None:
    company = company_of(store_engine, tags=[{"tagFQN": "Priority.Critical"}])
    SqlPreferences(store_engine).put(company.ids["ana"], NIGHT, now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert {at for at, _ in due(store_engine)["ana@example.com"]} == {NIGHT_MS}


def test_whoever_is_removed_for_good_leaves_no_preferences(store_engine: Engine) -> None:
    company = company_of(store_engine)
    preferences = SqlPreferences(store_engine)
    preferences.put(company.ids["cem"], NIGHT, now_ms=1)
    company.writes.delete("user", company.key("cem"), hard=True, actor=company.actor("dia"))
    assert preferences.of(company.ids["cem"]) == Preferences()
