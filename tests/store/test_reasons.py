"""Tests of the reasons that notifications of a store are given: followers of a tested table, conditions on people."""

from __future__ import annotations

from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.delivery.wording.reasons import why_text
from tocsin.model.notification import parse_reasons
from tocsin.store.database.tables import notification
from tocsin.store.eventlog.log import EventLog

BELL = {"category": "Followers", "type": "ActivityFeed"}


def whys(engine: Engine, written: dict[str, object] | None) -> set[str]:
    """Return why each recipient of an event is notified."""
    assert written is not None
    notify_all(engine)
    logged = EventLog(engine).find(str(written["id"]))
    assert logged is not None
    with engine.connect() as connection:
        texts = connection.scalars(select(notification.c.reasons).where(notification.c.event_id == written["id"]))
        return {why_text(logged.event, parse_reasons(text)) for text in texts}


def test_followers_of_a_table_follow_that_and_followers_of_its_test_the_test(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.test_case("orders")
    company.writes.follow("testCase", company.ids["has_rows"], company.ids["ben"], actor=company.actor("ben"))
    company.clock.advance(1_000)
    company.alert("quality", [BELL], "testStatus == 'Failed'")
    notify_all(store_engine)
    assert whys(store_engine, company.result("orders", "Failed")) == {
        "you follow it (alert quality)",
        "you follow orders, which this test checks (alert quality)",
    }


def test_a_condition_on_people_says_which_relation_it_asked_for(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    to_named = {"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["cem", "ana"]}}
    company.alert("mine", [to_named], "user.follows(entity) || user.owns(entity)")
    notify_all(store_engine)
    event = company.describe("orders", "All orders.")
    assert whys(store_engine, event) == {"you follow it (alert mine)", "you own it (alert mine)"}
