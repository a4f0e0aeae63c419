"""Tests that the recipients of an event are those at its place in the log, however late somebody looks."""

from __future__ import annotations

from random import Random

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import dependencies_of
from tests.random_changes import change, prepare
from tests.soak import SOAK

from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.once import notifications_for
from tocsin.model.change import EventType, LoggedEvent
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.log import EventLog

Notified = dict[tuple[str, str, str], tuple[str, ...]]


def recipients(company: SmallCompany, logged: LoggedEvent) -> Notified:
    """Return whom the event is for, by the directory as it is now: channel, recipient and reasons."""
    alerts = [one for one in Subscriptions(company.engine).list_enabled() if matches(plan_of(one), logged)]
    dependencies = dependencies_of(company.engine, alerts, company.clock)
    return {
        (logged.event.id, scheduled.draft.channel, scheduled.draft.key): tuple(
            f"{reason.kind} {reason.team} {reason.hops} {reason.through and reason.through.id}"
            for reason in scheduled.draft.reasons.in_order
        )
        for scheduled in notifications_for(logged, alerts, dependencies)
    }


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    company = SmallCompany(store_engine)
    prepare(company)
    return company


@pytest.mark.parametrize("seed", range(12 if SOAK else 1))
def test_who_looks_at_the_end_finds_whom_the_pipeline_would_have_notified(company: SmallCompany, seed: int) -> None:
    chance, log = Random(seed), EventLog(company.engine)
    read, earlier = log.readable_end(), Notified()
    for _ in range(40):
        if not change(company, chance):
            continue
        coming = log.read(read, 100)
        if len(coming) == 1:  # of several in one transaction, the first saw a state that nobody can look at
            earlier |= recipients(company, coming[0])
        read = log.readable_end()
    later: Notified = {}
    events = {event_id for event_id, _, _ in earlier}
    for logged_event in log.read(0, 10_000):
        if logged_event.event.id in events:
            later |= recipients(company, logged_event)
    assert len(events) > 10
    assert later == earlier


def test_a_moved_table_had_the_owners_of_the_schema_that_it_was_in(company: SmallCompany) -> None:
    ana = [{"op": "add", "path": "/owners", "value": [{"id": company.ids["ana"], "type": "user"}]}]
    company.writes.patch("databaseSchema", company.key("public"), ana, actor=SYSTEM)
    company.describe("profit", "before")
    before = EventLog(company.engine).read(0, 10_000)[-1]
    notified = recipients(company, before)
    assert any(company.ids["ana"] == recipient for _, _, recipient in notified)
    company.writes.patch(
        "databaseSchema", Key.by_id(company.ids["public"]), [{"op": "remove", "path": "/owners"}], actor=SYSTEM
    )
    assert recipients(company, before) == notified
    company.writes.delete("databaseSchema", company.key("public"), actor=SYSTEM, hard=True, recursive=True)
    assert recipients(company, before) == notified


def test_owners_are_inherited_as_they_were_although_one_is_soft_deleted_later(company: SmallCompany) -> None:
    """Whoever is soft-deleted hands down no ownership from then on: until then nobody further up was an owner."""
    for kind, fqn, who in (("databaseSchema", "pg.store.public", "ana"), ("database", "pg.store", "ben")):
        owner = [{"op": "add", "path": "/owners", "value": [{"id": company.ids[who], "type": "user"}]}]
        company.writes.patch(kind, Key.by_name(fqn), owner, actor=SYSTEM)
    company.describe("profit", "before")
    before = EventLog(company.engine).read(0, 10_000)[-1]
    company.writes.delete("user", company.key("ana"), actor=SYSTEM)
    company.describe("profit", "after")
    after = EventLog(company.engine).read(0, 10_000)[-1]
    assert _owners_notified(company, before) == set(), "ana, who is gone now"
    assert _owners_notified(company, after) == {company.ids["ben"]}
    company.writes.restore("user", company.ids["ana"], actor=SYSTEM)
    assert _owners_notified(company, before) == {company.ids["ana"]}
    assert _owners_notified(company, after) == {company.ids["ben"]}


def _owners_notified(company: SmallCompany, logged: LoggedEvent) -> set[str]:
    return {who for (_, _, who), reasons in recipients(company, logged).items() if any("owner" in r for r in reasons)}


def test_who_is_concerned_downstream_hears_of_a_deletion_though_the_asset_downstream_goes_later(
    company: SmallCompany,
) -> None:
    far = {"category": "Owners", "type": "Email", "notifyDownstream": True}
    company.alert("far", [far], "eventType == 'entityDeleted'", resources=("table",))
    company.writes.delete("table", company.key("orders"), actor=SYSTEM, hard=True)
    deletion = deletion_of(company, "orders")
    notified = recipients(company, deletion)
    assert any("owner None 1 None" in reasons for reasons in notified.values())
    company.writes.delete("table", company.key("revenue"), actor=SYSTEM, hard=True)
    assert recipients(company, deletion) == notified


def test_who_is_concerned_downstream_hears_of_a_deletion_that_takes_the_asset_downstream_along(
    company: SmallCompany,
) -> None:
    far = {"category": "Owners", "type": "Email", "notifyDownstream": True}
    company.alert("far", [far], "eventType == 'entityDeleted'", resources=("table",))
    company.writes.delete("databaseSchema", company.key("public"), actor=SYSTEM, hard=True, recursive=True)
    notified = recipients(company, deletion_of(company, "orders"))
    assert any("owner None 1 None" in reasons for reasons in notified.values())


def deletion_of(company: SmallCompany, name: str) -> LoggedEvent:
    log = EventLog(company.engine).read(0, 10_000)
    deleted = [one for one in log if one.event.event_type is EventType.ENTITY_DELETED]
    return next(one for one in deleted if one.event.entity_id == company.ids[name])
