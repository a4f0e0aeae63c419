"""Tests that recipients depend on log positions only: changing a clock has no effect."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, select
from tests.company import STARTED_MS, SmallCompany
from tests.notifying import notify_all

from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.model.entity import Document
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.people import SYSTEM
from tocsin.store.database.tables import notification
from tocsin.store.recipients.mutes import Mutes

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
SHIFTS = pytest.mark.parametrize("shift_ms", [-DAY_MS, -HOUR_MS, 0, HOUR_MS, 400 * DAY_MS])
BELL = {"type": "ActivityFeed"}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    small_company.clock.advance(1_000)
    small_company.alert(
        "bell", [{"category": "Owners", **BELL}, {"category": "Followers", **BELL}], resources=("table",)
    )
    return small_company


def recipients_of(company: SmallCompany, event: Document | None) -> set[str]:
    """Return the names of an event's recipients whom no mute stops, once everything is processed."""
    notify_all(company.engine)
    assert event is not None
    names = {identity: name for name, identity in company.ids.items()}
    query = select(notification.c.recipient_id).where(notification.c.event_id == event["id"])
    query = query.where(notification.c.due_at_ms < NEVER_MS)
    with company.engine.connect() as connection:
        return {names[one] for one in connection.execute(query).scalars()}


@SHIFTS
def test_owners_and_followers_are_notified_of_what_happens_after_the_alert_was_made(
    company: SmallCompany, shift_ms: int
) -> None:
    company.clock.at_ms += shift_ms
    assert recipients_of(company, company.describe("orders", "new")) == {"ana", "ben", "cem"}


@SHIFTS
@pytest.mark.soak_on_postgresql
def test_followers_are_notified_of_what_comes_after_and_of_nothing_before(company: SmallCompany, shift_ms: int) -> None:
    before = company.describe("orders", "before")
    company.clock.at_ms += shift_ms
    company.writes.follow("table", company.ids["orders"], company.ids["dia"], actor=company.actor("dia"))
    company.clock.at_ms -= 2 * shift_ms
    after = company.describe("orders", "after", by="ana")
    assert (recipients_of(company, before), recipients_of(company, after)) == (
        {"ana", "ben", "cem"},
        {"ben", "cem", "dia"},
    )


@SHIFTS
@pytest.mark.soak_on_postgresql
def test_an_alert_notifies_of_nothing_that_was_before_it(company: SmallCompany, shift_ms: int) -> None:
    before = company.describe("revenue", "before", by="ana")
    company.clock.at_ms += shift_ms
    company.alert(
        "late", [{"category": "Admins", **BELL}, {"category": "Users", **BELL, "config": {"receivers": ["cem"]}}]
    )
    after = company.describe("revenue", "after", by="ana")
    assert (recipients_of(company, before), recipients_of(company, after)) == ({"dia"}, {"dia", "cem"})


@SHIFTS
@pytest.mark.soak_on_postgresql
def test_a_mute_keeps_quiet_what_comes_after_it_and_nothing_before(company: SmallCompany, shift_ms: int) -> None:
    """Fault scenario 38."""
    before = company.describe("orders", "before")
    company.clock.at_ms += shift_ms
    mute = Mute(company.ids["cem"], MuteKind.ASSET, company.ids["orders"], since_ms=company.clock.now_ms())
    Mutes(company.engine).put(mute)
    company.clock.at_ms -= 2 * shift_ms
    after = company.describe("orders", "after")
    assert (recipients_of(company, before), recipients_of(company, after)) == ({"ana", "ben", "cem"}, {"ana", "ben"})


@SHIFTS
@pytest.mark.soak_on_postgresql
def test_followers_hear_that_an_asset_is_gone(company: SmallCompany, shift_ms: int) -> None:
    company.clock.at_ms += shift_ms
    written = company.writes.delete("table", company.key("orders"), actor=SYSTEM, hard=True)
    assert written.event is not None
    assert recipients_of(company, written.event.to_wire()) == {"ana", "ben", "cem"}


def test_a_history_that_is_written_late_notifies_nobody_of_what_was_before_the_alert(company: SmallCompany) -> None:
    state = {"name": "orders", "description": "as of old", "columns": [{"name": "id", "dataType": "INT"}]}
    fqn = "pg.store.public.orders"
    owner = {"owners": [{"type": "team", "id": company.ids["shop"]}]}
    old = company.writes.replace("table", fqn, state | owner, STARTED_MS - DAY_MS, actor=SYSTEM)
    new = company.writes.replace("table", fqn, state | owner | {"description": "x"}, STARTED_MS + DAY_MS, actor=SYSTEM)
    assert old.event is not None
    assert new.event is not None
    assert recipients_of(company, old.event.to_wire()) == set()
    assert "ana" in recipients_of(company, new.event.to_wire())
