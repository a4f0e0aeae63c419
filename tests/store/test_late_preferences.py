"""Tests of preferences that change while a micro-batch is under way: what it wrote by the older ones is moved."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine
from tests.notifying import notify_all
from tests.store.test_preferences import HOUR_MS, NIGHT_MS, company_of, due, in_app, of_kind

from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.model.preferences import DefaultPreferences, Preferences
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.upkeep.fsck.inspection import inspect


def put_while_notifying(monkeypatch: pytest.MonkeyPatch, user_id: str, preferences: Preferences, now_ms: int) -> None:
    """Let a person's preferences change after a micro-batch has read them, and before it writes."""
    read_preferences = SqlPreferences.of_recipients

    def read_and_change(self: SqlPreferences, drafts: Any) -> Any:  # Any: as of the method
        choices = read_preferences(self, drafts)
        self.put(user_id, preferences, now_ms=now_ms)
        return choices

    monkeypatch.setattr(SqlPreferences, "of_recipients", read_and_change)


@pytest.mark.parametrize("before", [None, of_kind("description", Email="weekly", ActivityFeed="weekly")])
@pytest.mark.parametrize("defaults", [{}, {"description": {"Email": "daily", "ActivityFeed": "daily"}}])
def test_what_a_batch_writes_by_preferences_that_changed_meanwhile_is_moved(
    store_engine: Engine, monkeypatch: pytest.MonkeyPatch, before: Preferences | None, defaults: dict[str, Any]
) -> None:
    company, preferences = company_of(store_engine), SqlPreferences(store_engine)
    ana = company.ids["ana"]
    preferences.put_defaults(DefaultPreferences.model_validate({"kinds": defaults}), now_ms=1)
    if before is not None:
        preferences.put(ana, before, now_ms=1)
    company.describe("orders", "text")
    with monkeypatch.context() as patch:
        put_while_notifying(patch, ana, of_kind("vote", Email="weekly"), NIGHT_MS + 5)
        notify_all(store_engine, now_ms=NIGHT_MS)
    ((due_at_ms, count),) = due(store_engine)["ana@example.com"]
    assert (due_at_ms, count) == (NIGHT_MS, 1)
    assert [at for at, _ in in_app(store_engine, ana)] == [NIGHT_MS]
    assert inspect(store_engine).findings == []


def test_what_waits_by_the_newest_preferences_is_not_moved_with_what_was_written_by_older_ones(
    store_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    company, preferences = company_of(store_engine), SqlPreferences(store_engine)
    ana, daily = company.ids["ana"], of_kind("description", Email="daily", ActivityFeed="daily")
    preferences.put(ana, of_kind("description", Email="weekly", ActivityFeed="weekly"), now_ms=1)
    company.describe("orders", "text")

    with monkeypatch.context() as patch:
        put_while_notifying(patch, ana, daily, NIGHT_MS + 5)
        add = Notifications.add

        def notify_meanwhile(self: Notifications, *arguments: Any, **fields: Any) -> None:  # Any: as of the method
            patch.undo()
            self.advance(MATCH_STREAM, EventLog(store_engine).readable_end(), now_ms=NIGHT_MS)
            company.describe("orders", "more")
            notify_all(store_engine, now_ms=NIGHT_MS + 10)
            add(self, *arguments, **fields)

        patch.setattr(Notifications, "add", notify_meanwhile)
        notify_all(store_engine, now_ms=NIGHT_MS)
    morning_ms = NIGHT_MS + 9 * HOUR_MS
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS, 1), (morning_ms, 1)]
    assert sorted(at for at, _ in in_app(store_engine, ana)) == [NIGHT_MS, morning_ms]
    assert inspect(store_engine).findings == []
