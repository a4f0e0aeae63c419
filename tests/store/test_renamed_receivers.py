"""Tests of receivers whose name changes between the reading of an alert and the resolution of its recipients."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import dependencies_of

from tocsin.flow.once import notifications_for
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.subscription import EventSubscription
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.log import EventLog


def test_a_team_that_is_renamed_while_an_event_is_resolved_is_notified_by_its_earlier_name(
    store_engine: Engine,
) -> None:
    company = SmallCompany(store_engine)
    company.alert("team", [{"category": "Teams", "type": "ActivityFeed", "config": {"receivers": ["shop"]}}])
    before_rename = Subscriptions(store_engine).list_enabled()
    event = company.describe("orders", "before the rename")
    rename(company, "shop", "store")
    assert recipients_of(company, event, before_rename) == {"ana", "ben"}
    assert recipients_of(company, event, Subscriptions(store_engine).list_enabled()) == {"ana", "ben"}


def test_an_earlier_name_that_another_team_has_now_means_that_team_even_if_it_is_soft_deleted(
    store_engine: Engine,
) -> None:
    company = SmallCompany(store_engine)
    company.alert("team", [{"category": "Teams", "type": "ActivityFeed", "config": {"receivers": ["shop"]}}])
    before_rename = Subscriptions(store_engine).list_enabled()
    event = company.describe("orders", "before the rename")
    rename(company, "shop", "store")
    company.put("team", {"name": "shop", "teamType": "Group", "users": [{"id": company.ids["dia"], "type": "user"}]})
    assert recipients_of(company, event, before_rename) == set()  # dia made the change
    company.writes.delete("team", company.key("shop"), actor=SYSTEM)
    assert recipients_of(company, event, before_rename) == set()


def rename(company: SmallCompany, name: str, new_name: str) -> None:
    patch = [{"op": "replace", "path": "/name", "value": new_name}]
    company.writes.patch("team", company.key(name), patch, actor=SYSTEM)


def recipients_of(company: SmallCompany, event: Document | None, alerts: Sequence[EventSubscription]) -> set[str]:
    assert event is not None
    logged = EventLog(company.engine).find(event["id"])
    assert logged is not None
    names = {identity: name for name, identity in company.ids.items()}
    dependencies = dependencies_of(company.engine, alerts, company.clock)
    due = notifications_for(logged, alerts, dependencies)
    return {names[str(scheduled.draft.recipient_id)] for scheduled in due}
