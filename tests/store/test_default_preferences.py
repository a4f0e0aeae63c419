"""Tests of the preferences that a store begins with: a new one with what is recommended, an older one with its own."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, event
from tests.drafts import draft
from tests.notifying import notify_all
from tests.store.test_preferences import HOUR_MS, NIGHT_MS, company_of, due

from tocsin.model.preferences import RECOMMENDED, DefaultPreferences
from tocsin.store.database.schema import migrate
from tocsin.store.outbox.preferences import SqlPreferences

BEFORE = "0062_states_of_notifications"
"""The newest revision of the release that let everything come at once."""


def test_a_new_store_begins_with_what_is_recommended(unmigrated_engine: Engine) -> None:
    migrate(unmigrated_engine)
    assert SqlPreferences(unmigrated_engine).defaults() == RECOMMENDED
    company = company_of(unmigrated_engine)
    company.describe("orders", "text")
    notify_all(unmigrated_engine, now_ms=NIGHT_MS)
    assert due(unmigrated_engine)["ana@example.com"] == [(NIGHT_MS + 9 * HOUR_MS, 1)]


def test_an_older_store_lets_everything_come_at_once_until_an_administrator_chooses(unmigrated_engine: Engine) -> None:
    migrate(unmigrated_engine, BEFORE)
    migrate(unmigrated_engine)
    preferences = SqlPreferences(unmigrated_engine)
    assert preferences.defaults() == DefaultPreferences()
    company = company_of(unmigrated_engine)
    company.describe("orders", "text")
    notify_all(unmigrated_engine, now_ms=NIGHT_MS)
    preferences.put_defaults(RECOMMENDED, now_ms=1)
    company.describe("orders", "more")
    notify_all(unmigrated_engine, now_ms=NIGHT_MS)
    assert due(unmigrated_engine)["ana@example.com"] == [(NIGHT_MS, 1), (NIGHT_MS + 9 * HOUR_MS, 1)]


@pytest.mark.parametrize("choice", [DefaultPreferences(), DefaultPreferences(mandatory=("deletion",))])
def test_what_an_administrator_has_chosen_in_a_new_store_outlives_every_start(
    unmigrated_engine: Engine, choice: DefaultPreferences
) -> None:
    migrate(unmigrated_engine)
    SqlPreferences(unmigrated_engine).put_defaults(choice, now_ms=1)
    migrate(unmigrated_engine)
    assert SqlPreferences(unmigrated_engine).defaults() == choice


@pytest.mark.parametrize(("defaults", "count"), [(DefaultPreferences(), 1), (RECOMMENDED, 3)])
def test_what_nobody_has_set_takes_no_statement_of_its_own(
    store_engine: Engine, defaults: DefaultPreferences, count: int
) -> None:
    preferences, statements = SqlPreferences(store_engine), list[str]()
    preferences.put_defaults(defaults, now_ms=1)

    def note(*call: Any) -> None:  # Any: what SQLAlchemy hands over
        statements.append(call[2])

    event.listen(store_engine, "before_cursor_execute", note)
    preferred = preferences.of_recipients([draft("Email", "a", recipient_id=f"person-{at}") for at in range(100)])
    event.remove(store_engine, "before_cursor_execute", note)
    assert preferred.is_empty == (defaults == DefaultPreferences())
    assert len(statements) == count, "whether anybody has any; what holds; the kinds of the events"
