"""Tests of scheduled checks in the store: their events, their last times, and the digests that wait for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_backup import folder, make_backup, put_back, settings
from tests.store.test_retention import check_sound, plan_at, read_all, run
from tests.store.test_subscriptions import counted_statements

from tocsin.catalogue.observations.scheduled_checks import AssetState, DueCheck, add_checks
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.flow.match.plan import plan_of
from tocsin.flow.schedule.cron import next_time_ms
from tocsin.flow.schedule.decide import CHECK_WAIT_MS
from tocsin.model.activity_feed import FeedScope
from tocsin.model.change import FOR_ALERTS, ChangeEvent, EventType
from tocsin.model.people import SYSTEM
from tocsin.model.subscription import EventSubscription
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.tables import message, notification
from tocsin.store.eventlog.activity import Activity, FeedPage
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.scheduled_checks import LastCheck, ScheduledChecks
from tocsin.store.upkeep.fsck.inspection import inspect

__all__ = ["folder", "settings"]  # fixtures

EIGHT = {"triggerType": "Scheduled", "cronExpression": "0 0 8 * * ?"}
CEMS_MAIL = {"category": "Users", "type": "Email", "config": {"receivers": ["cem"]}}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    company = SmallCompany(store_engine)
    company.table("orphan")
    company.test_case("orders")
    company.clock.advance(1_000)
    return company


def alert_with_rules(company: SmallCompany, *rules: str, resources: tuple[str, ...] = ("table",)) -> EventSubscription:
    alert_id = company.alert("red", [CEMS_MAIL], *rules, resources=resources, trigger=EIGHT)
    (alert,) = Subscriptions(company.engine).list_enabled({alert_id})
    return alert


def due_check(company: SmallCompany, alert: EventSubscription) -> DueCheck:
    """Return the check of an alert at its next time, which is reached a moment later."""
    due_at_ms = next_time_ms(alert.trigger, company.clock.now_ms())
    company.clock.at_ms = due_at_ms + 2_000
    return DueCheck(alert.trigger.schedule_id, due_at_ms, (plan_of(alert),))


def state_of(company: SmallCompany, name: str, entity_type: str = "table", **facts: object) -> AssetState:
    plain: dict[str, object] = {"is_failing": False, "failures": 0, "since_ms": None, "may_lack_owner": False}
    return AssetState(company.ids[name], entity_type, **{**plain, **facts})  # type: ignore[arg-type]


def write(company: SmallCompany, check: DueCheck, *assets: AssetState) -> int:
    ids = [check.event_id(asset.entity_id) for asset in assets]
    return add_checks(company.writes, assets, [check], Reports(company.engine).logged_ids(ids))


def check_events(engine: Engine) -> Iterator[ChangeEvent]:
    events = (one.event for one in EventLog(engine).read(0, 10_000))
    return (event for event in events if event.event_type is EventType.SCHEDULED_CHECK)


def test_what_is_so_is_one_event_on_the_asset_without_a_version(company: SmallCompany) -> None:
    alert = alert_with_rules(company, "stillFailing()")
    check = due_check(company, alert)
    failing = state_of(company, "has_rows", "testCase", is_failing=True, failures=3, since_ms=1_000)
    assert write(company, check, failing, state_of(company, "orders", is_failing=True)) == 1, "tables report nothing"
    assert write(company, check, failing) == 0
    (event,) = check_events(company.engine)
    assert (event.id, event.timestamp) == (check.event_id(company.ids["has_rows"]), check.due_at_ms)
    assert event.previous_version == event.current_version
    assert event.change_description is not None
    (change,) = event.change_description.fields_added
    facts = {"schedule": check.schedule_id, "timestamp": check.due_at_ms + 2_000, "since": 1_000, "failures": 3}
    assert (change.name, change.new_value) == ("stillFailing", facts)


def test_a_check_for_one_alert_is_in_nobodys_feed_and_in_no_list_that_does_not_name_it(company: SmallCompany) -> None:
    """Fault scenario 75."""
    alert = alert_with_rules(company, "stillWithoutOwner()")
    ben, check = company.ids["ben"], due_check(company, alert)
    company.writes.follow("table", company.ids["orphan"], ben, actor=SYSTEM)
    company.describe("orphan", "A change.")
    assert write(company, check, state_of(company, "orphan", may_lack_owner=True)) == 1
    activity = Activity(company.engine)
    listed_types = [logged.event.event_type for logged in activity.of_person(ben, FeedPage(), FeedScope.FOLLOWING)]
    assert (listed_types[0], EventType.SCHEDULED_CHECK in listed_types) == (EventType.ENTITY_UPDATED, False)
    (check_event,) = activity.of_person(ben, FeedPage(event_types=[EventType.SCHEDULED_CHECK]))
    assert check_event.event.id == check.event_id(company.ids["orphan"])
    selection = EventSelection(entity_id=company.ids["orphan"])
    counts = [
        len(EventLog(company.engine).list_events(replace(selection, leaves_out=types), limit=99))
        for types in ((), FOR_ALERTS)
    ]
    assert counts[0] - counts[1] == 1


def test_an_inherited_owner_is_an_owner_and_the_rest_of_the_condition_counts(company: SmallCompany) -> None:
    alert = alert_with_rules(company, "stillWithoutOwner()", "entityFullyQualifiedName.endsWith('.orphan')")
    check = due_check(company, alert)
    company.table("other")
    lacking = [state_of(company, name, may_lack_owner=True) for name in ("orphan", "other", "orders")]
    assert write(company, check, *lacking) == 1
    assert [(event.entity or {})["name"] for event in check_events(company.engine)] == ["orphan"]
    owners = [{"id": company.ids["dia"], "type": "user"}]
    patch = [{"op": "add", "path": "/owners", "value": owners}]
    company.writes.patch("databaseSchema", company.key("public"), patch, actor=company.actor("dia"))
    later = DueCheck(check.schedule_id, check.due_at_ms + 86_400_000, check.plans)
    assert write(company, later, *lacking) == 0


def test_staleness_counts_from_the_time_that_is_asked_for(company: SmallCompany) -> None:
    alert = alert_with_rules(company, "stillStale({'1h','2d'})")
    check = due_check(company, alert)
    since_ms = company.clock.now_ms() - 7_200_000
    assert write(company, check, state_of(company, "has_rows", "testCase", since_ms=since_ms)) == 1
    (event,) = check_events(company.engine)
    assert event.change_description is not None
    assert event.change_description.fields_added[0].new_value["asked"] == [3_600_000]


def test_what_a_check_finds_joins_the_digest_which_goes_out_when_it_is_done(company: SmallCompany) -> None:
    alert = alert_with_rules(company, "stillWithoutOwner() || fieldChanged == 'description'")
    company.describe("orders", "before eight")
    notify_all(company.engine, now_ms=company.clock.now_ms())
    check = due_check(company, alert)
    assert write(company, check, state_of(company, "orphan", may_lack_owner=True)) == 1
    notify_all(company.engine, now_ms=check.due_at_ms)
    assert due_times(company.engine) == [check.due_at_ms + CHECK_WAIT_MS]
    checks, now_ms = ScheduledChecks(company.engine), company.clock.now_ms()
    checks.keep({check.schedule_id: LastCheck(check.due_at_ms, 7)})
    assert checks.last_checks() == {check.schedule_id: LastCheck(check.due_at_ms, 7)}
    assert checks.release("another", now_ms=now_ms) == 0
    assert checks.release(check.schedule_id, now_ms=now_ms) == 1
    assert due_times(company.engine) == [now_ms]
    assert checks.last_checks() == {check.schedule_id: LastCheck(check.due_at_ms)}
    with company.engine.begin() as connection:
        connection.execute(update(message).values(status="delivered"))
    checks.retire(check.schedule_id, now_ms=now_ms)
    assert checks.last_checks() == {}


def test_the_schedule_of_a_deleted_alert_goes_with_its_last_digest(company: SmallCompany) -> None:
    alert = alert_with_rules(company, "fieldChanged == 'description' || stillWithoutOwner()")
    company.describe("orders", "before eight")
    notify_all(company.engine, now_ms=company.clock.now_ms())
    check, checks = due_check(company, alert), ScheduledChecks(company.engine)
    digest_due_at_ms = check.due_at_ms + CHECK_WAIT_MS
    checks.keep({check.schedule_id: LastCheck(check.due_at_ms)})
    with counted_statements(company.engine) as statements:
        checks.retire(check.schedule_id, now_ms=check.due_at_ms - 1)
    assert [text.split()[0] for text in statements if not text.startswith(("PRAGMA", "BEGIN"))] == ["SELECT"]
    assert due_times(company.engine) == [digest_due_at_ms], "it is of a later time"
    checks.retire(check.schedule_id, now_ms=check.due_at_ms + 1)
    assert due_times(company.engine) == [check.due_at_ms + 1]
    assert checks.last_checks(), "its digest is not sent yet"


def test_a_check_that_a_backup_cut_in_two_goes_on_and_is_told_once(
    company: SmallCompany, settings: Settings, folder: Path
) -> None:
    alert = alert_with_rules(company, "stillWithoutOwner() || fieldChanged == 'description'")
    company.describe("orders", "before eight")
    notify_all(company.engine, now_ms=company.clock.now_ms())
    check, orphan = due_check(company, alert), state_of(company, "orphan", may_lack_owner=True)
    checks = ScheduledChecks(company.engine)
    assert write(company, check, orphan) == 1
    last_check = LastCheck(check.due_at_ms, EventLog(company.engine).readable_end())
    checks.keep({check.schedule_id: last_check})
    make_backup(company.engine, settings, folder)
    notify_all(company.engine, now_ms=check.due_at_ms)
    before = digests(company.engine)
    checks.release(check.schedule_id, now_ms=company.clock.now_ms())
    put_back(company.engine, settings, folder)
    assert checks.last_checks() == {check.schedule_id: last_check}
    assert write(company, check, orphan) == 0, "it is in the log that was restored"
    notify_all(company.engine, now_ms=check.due_at_ms)
    assert digests(company.engine) == before, "with the same ids"
    assert checks.release(check.schedule_id, now_ms=company.clock.now_ms()) == 1
    assert inspect(company.engine, deep=True).counts == {}


def test_a_check_that_a_restored_store_has_lost_is_made_again_with_the_same_ids(
    company: SmallCompany, settings: Settings, folder: Path
) -> None:
    alert = alert_with_rules(company, "stillWithoutOwner()")
    check, orphan = due_check(company, alert), state_of(company, "orphan", may_lack_owner=True)
    checks, before = ScheduledChecks(company.engine), {check.schedule_id: LastCheck(check.due_at_ms - 86_400_000)}
    checks.keep(before)
    make_backup(company.engine, settings, folder)
    assert write(company, check, orphan) == 1
    checks.keep({check.schedule_id: LastCheck(check.due_at_ms)})
    notify_all(company.engine, now_ms=check.due_at_ms)
    lost_digests = digests(company.engine)
    put_back(company.engine, settings, folder)
    assert checks.last_checks() == before
    assert write(company, check, orphan) == 1
    notify_all(company.engine, now_ms=check.due_at_ms)
    assert digests(company.engine) == lost_digests


def test_events_of_checks_expire_and_what_was_checked_stays_so(company: SmallCompany) -> None:
    alert = alert_with_rules(company, "stillWithoutOwner()")
    check, orphan = due_check(company, alert), state_of(company, "orphan", may_lack_owner=True)
    assert write(company, check, orphan) == 1
    last_checks = {check.schedule_id: LastCheck(check.due_at_ms)}
    ScheduledChecks(company.engine).keep(last_checks)
    company.describe("orders", "the last event of the log is kept")
    read_all(company)
    run(company, plan_at(company))
    assert list(check_events(company.engine)) == []
    assert ScheduledChecks(company.engine).last_checks() == last_checks
    check_sound(company.engine)


def test_a_check_follows_the_asset_and_the_filter_through_a_rename(company: SmallCompany) -> None:
    company.put("glossary", {"name": "Words", "description": "Words."})
    alert_with_rules(company, "stillWithoutOwner()", "entityFullyQualifiedName == 'Words'", resources=("glossary",))
    rename = [{"op": "replace", "path": "/name", "value": "Terms"}]
    company.writes.patch("glossary", company.key("Words"), rename, actor=company.actor("dia"))
    (alert,) = Subscriptions(company.engine).list_enabled({company.ids["red"]})
    assert write(company, due_check(company, alert), state_of(company, "Words", "glossary", may_lack_owner=True)) == 1
    assert [event.entity_fully_qualified_name for event in check_events(company.engine)] == ["Terms"]


def digests(engine: Engine) -> list[tuple[object, ...]]:
    """Return the ids of messages, with those of their notifications and what of them is planned."""
    columns = (message.c.id, notification.c.id, message.c.recipient, message.c.due_at_ms)
    query = select(*columns).join(notification, notification.c.message_id == message.c.id)
    with engine.connect() as connection:
        return sorted(tuple(row) for row in connection.execute(query))


def due_times(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return sorted(connection.execute(select(message.c.due_at_ms)).scalars())
