"""Tests of reminders of incidents on both stores: when, of what, by which alerts, and to whom."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy import Engine, event, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_alert_incidents import BELL, handle_incident
from tests.store.test_incident_merging import ACKNOWLEDGE, RESOLVE, incident, merge_incident

from tocsin.alerts.reminders import remind
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.jobs.reminders import WriteReminders
from tocsin.jobs.resolving import StoreAddress
from tocsin.model.alert_incident import IncidentStatus, StepKind
from tocsin.model.change import INCIDENT_REMINDER, ChangeEvent, EventType
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.catalogue.alerts.reminders import Numbers, Reminders
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.alert_tables import alert_incident
from tocsin.store.database.tables import change_event, entity, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.incident_messages import IncidentMessages

HOUR_MS = 3_600_000
FAILED = "pipelineStatus == 'Failed'"


def hourly(hours: int = 1) -> dict[str, Any]:
    return {"triggerType": "RealTime", "repeatInterval": hours * 3_600}


def company_of_dia(engine: Engine) -> SmallCompany:
    """Return a company with two pipelines of Dia's whose failures an alert reminds of every hour."""
    small_company = SmallCompany(engine)
    for name in ("etl", "loads"):
        small_company.pipeline(name, owners=[{"type": "user", "name": "dia"}])
    small_company.clock.advance(1_000)
    small_company.alert("hourly", [BELL], FAILED, resources=("pipeline",), trigger=hourly())
    return small_company


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return company_of_dia(store_engine)


def fail(company: SmallCompany, *names: str) -> None:
    for name in names or ("etl",):
        company.run(name, "Failed")
    notify(company)


def notify(company: SmallCompany) -> None:
    notify_all(company.engine, now_ms=company.clock.now_ms())


def plans(company: SmallCompany) -> dict[str, Plan]:
    alerts = Subscriptions(company.engine).list_enabled()
    by_id = {alert.id: plan_of(alert) for alert in alerts}
    return {alert_id: plan for alert_id, plan in by_id.items() if plan.repeat_ms is not None}


def due(company: SmallCompany) -> list[str]:
    """Return the ids of the incidents of which some alert must remind."""
    repeats_ms = {alert: plan.repeat_ms for alert, plan in plans(company).items() if plan.repeat_ms}
    reminders, now_ms = Reminders(company.engine), company.clock.now_ms()
    numbers = reminders.numbers_due(repeats_ms, now_ms)
    between = [] if numbers is None else reminders.due_between(numbers, repeats_ms, now_ms)
    assert between == reminders.due_between(Numbers(1, 99), repeats_ms, now_ms)
    return between


def look(company: SmallCompany, *, after_ms: int = 0) -> int:
    """Remind of what is due, and notify of it; return the number of events."""
    company.clock.advance(after_ms)
    own_plans = plans(company)
    work = (partial(remind, incident_id=one, plans=own_plans) for one in due(company))
    count = sum(company.writes.within(each, actor=SYSTEM) for each in work)
    notify(company)
    return count


def reminder_events(company: SmallCompany) -> list[ChangeEvent]:
    events = (one.event for one in EventLog(company.engine).read(0, 10_000))
    return [one for one in events if one.event_type is EventType.INCIDENT_REMINDER]


def facts_of(reminder: ChangeEvent) -> Document:
    assert reminder.change_description is not None
    (change,) = reminder.change_description.fields_added
    return dict(change.new_value)


def reminded_people(company: SmallCompany) -> list[tuple[str, int]]:
    """Return who was reminded, by name, and of how many events."""
    names = {identity: name for name, identity in company.ids.items()}
    query = select(notification.c.recipient_id, change_event.c.id)
    query = query.join(change_event, change_event.c.log_offset == notification.c.log_offset)
    query = query.where(change_event.c.event_type == EventType.INCIDENT_REMINDER.value)
    with company.engine.connect() as connection:
        people = [names[who] for who, _ in connection.execute(query)]
    return sorted((name, people.count(name)) for name in set(people))


def test_an_incident_is_reminded_of_at_each_interval_until_somebody_acknowledges_it(company: SmallCompany) -> None:
    fail(company)
    opened_ms = incident(company, "INC-1").opened_at_ms
    assert look(company, after_ms=HOUR_MS - 1) == 0
    assert look(company, after_ms=1) == 1
    assert look(company) == 0
    fail(company)  # one more failure is a message of its own
    assert look(company, after_ms=HOUR_MS - 60_001) == 0
    assert look(company, after_ms=5 * HOUR_MS) == 1, "of several that were missed, one"
    first, second = reminder_events(company)
    assert first.previous_version == first.current_version
    assert first.id != second.id
    facts = facts_of(second)
    assert {key: facts[key] for key in ("name", "since", "number", "timestamp")} == {
        "name": "INC-1",
        "since": opened_ms,
        "number": 2,
        "timestamp": second.timestamp,
    }
    assert company.ids["hourly"] not in second.to_json(), "an event does not say whose it is"
    assert reminded_people(company) == [("dia", 2)]
    handle_incident(company, "INC-1", ACKNOWLEDGE)
    assert look(company, after_ms=9 * HOUR_MS) == 0
    assert incident(company, "INC-1").status is IncidentStatus.ACKNOWLEDGED


@pytest.mark.parametrize("ending", ["by hand", "by a success"])
def test_an_incident_that_is_over_is_not_reminded_of_and_the_next_one_is(company: SmallCompany, ending: str) -> None:
    fail(company)
    if ending == "by hand":
        handle_incident(company, "INC-1", RESOLVE)
    else:
        company.run("etl", "Successful")
        notify(company)
    assert look(company, after_ms=2 * HOUR_MS) == 0
    fail(company)
    assert look(company, after_ms=HOUR_MS - 1) == 0
    assert look(company, after_ms=1) == 1
    assert [facts_of(one)["name"] for one in reminder_events(company)] == ["INC-2"]


def test_each_alert_reminds_by_its_own_interval_and_two_at_once_are_one_event(company: SmallCompany) -> None:
    company.alert("everyTwo", [BELL], FAILED, resources=("pipeline",), trigger=hourly(2))
    company.alert("never", [BELL], FAILED, resources=("pipeline",))
    fail(company)
    assert [look(company, after_ms=HOUR_MS) for _ in range(3)] == [1, 1, 1]
    assert [len(facts_of(one)["alerts"]) for one in reminder_events(company)] == [1, 2, 1]
    assert reminded_people(company) == [("dia", 3)]


def test_an_alert_that_watches_later_reminds_later(company: SmallCompany) -> None:
    fail(company)
    company.clock.advance(HOUR_MS // 2)
    company.alert("later", [BELL], FAILED, resources=("pipeline",), trigger=hourly())
    fail(company)
    assert look(company, after_ms=HOUR_MS // 2) == 1
    assert look(company, after_ms=HOUR_MS // 2) == 1
    assert [len(facts_of(one)["alerts"]) for one in reminder_events(company)] == [1, 1]


def test_merged_incidents_are_reminded_of_once_and_again_when_they_are_split(company: SmallCompany) -> None:
    fail(company, "etl", "loads")
    assert len(due(company)) == 0
    merge_incident(company, "INC-2", "INC-1")
    assert look(company, after_ms=HOUR_MS) == 1
    assert [one.entity_id for one in reminder_events(company)] == [company.ids["etl"]]
    company.run("etl", "Successful")
    notify(company)
    assert look(company, after_ms=HOUR_MS) == 1
    assert reminder_events(company)[-1].entity_id == company.ids["loads"]


def test_an_alert_that_watches_only_a_part_reminds_of_that(company: SmallCompany) -> None:
    rule = f"{FAILED} && entityFullyQualifiedName.endsWith('.loads')"
    company.alert("ofLoads", [BELL], rule, resources=("pipeline",), trigger=hourly())
    fail(company, "etl", "loads")
    merge_incident(company, "INC-2", "INC-1")
    assert look(company, after_ms=HOUR_MS) == 2
    assert sorted(one.entity_id for one in reminder_events(company)) == sorted(
        (company.ids["etl"], company.ids["loads"])
    )
    assert reminded_people(company) == [("dia", 2)]


@pytest.mark.parametrize("hard", [False, True])
def test_parts_of_an_incident_whose_asset_is_deleted_are_reminded_of(company: SmallCompany, hard: bool) -> None:
    company.pipeline("imports", owners=[{"type": "user", "name": "dia"}])
    fail(company, "etl", "loads", "imports")
    for part in ("INC-2", "INC-3"):
        merge_incident(company, part, "INC-1")
    company.writes.delete("pipeline", company.key("etl"), actor=company.actor("dia"), hard=hard)
    for _ in range(2):
        assert look(company, after_ms=HOUR_MS) == 1
    assert [one.entity_id for one in reminder_events(company)] == [company.ids["loads"]] * 2


def test_parts_are_reminded_of_where_the_alert_no_longer_asks_for_what_stands_for_them(company: SmallCompany) -> None:
    company.pipeline("imports", owners=[{"type": "user", "name": "dia"}])
    company.alert("asking for all", [BELL], FAILED, resources=("pipeline",), trigger=hourly(2))
    fail(company, "etl", "loads", "imports")
    for part in ("INC-2", "INC-3"):
        merge_incident(company, part, "INC-1")
    set_condition(company, f"{FAILED} && !entityFullyQualifiedName.endsWith('.etl')")
    assert look(company, after_ms=HOUR_MS) == 1
    assert [one.entity_id for one in reminder_events(company)] == [company.ids["loads"]]
    assert look(company, after_ms=HOUR_MS) == 1
    assert [one.entity_id for one in reminder_events(company)[1:]] == [company.ids["etl"], company.ids["loads"]]
    assert [len(facts_of(one)["alerts"]) for one in reminder_events(company)] == [1, 1, 1]
    set_condition(company, f"{FAILED} && entityFullyQualifiedName.endsWith('.imports')")
    assert look(company, after_ms=HOUR_MS) == 1
    assert reminder_events(company)[-1].entity_id == company.ids["imports"]
    handle_incident(company, "INC-3", ACKNOWLEDGE)
    assert look(company, after_ms=HOUR_MS) == 1, "for the alert that asks for all"
    assert reminder_events(company)[-1].entity_id == company.ids["etl"]
    assert reminded_people(company) == [("dia", 5)]


def set_condition(company: SmallCompany, condition: str) -> None:
    patch = [{"op": "replace", "path": "/filteringRules/rules/0/condition", "value": condition}]
    company.writes.patch("eventsubscription", company.key("hourly"), patch, actor=company.actor("ana"))


def test_a_clock_that_was_set_back_silences_no_reminder_for_long(company: SmallCompany) -> None:
    fail(company)
    assert look(company, after_ms=HOUR_MS) == 1
    assert look(company, after_ms=1_000 * HOUR_MS) == 1, "a clock that is weeks ahead"
    company.clock.at_ms -= 1_000 * HOUR_MS
    assert look(company) == 1
    assert look(company, after_ms=HOUR_MS - 1) == 0
    assert look(company, after_ms=1) == 1
    company.clock.at_ms -= HOUR_MS // 2
    assert look(company) == 0, "it was set back by less than the interval"
    assert look(company, after_ms=3 * HOUR_MS // 2) == 1


def test_the_timeline_has_the_reminders_with_their_messages(company: SmallCompany) -> None:
    fail(company)
    assert look(company, after_ms=HOUR_MS) == 1
    identity = incident(company, "INC-1").id
    (step,) = AlertIncidentLog(company.engine).steps(identity)
    (reminder,) = reminder_events(company)
    assert (step.kind, step.event_id, step.at_ms) == (StepKind.REMINDED, reminder.id, reminder.timestamp)
    records, is_whole = IncidentMessages(company.engine).of(identity)
    assert is_whole
    assert records[-1].notification.event_id == reminder.id


def test_what_no_longer_meets_the_condition_on_the_asset_is_not_reminded_of(company: SmallCompany) -> None:
    fail(company)
    set_condition(company, f"{FAILED} && tier == 'Tier.Tier1'")
    assert look(company, after_ms=HOUR_MS) == 0
    assert due(company) == [], "the next look is an hour later"
    assert reminder_events(company) == []


def test_disabled_alerts_and_deleted_assets_are_silent(company: SmallCompany) -> None:
    fail(company, "etl", "loads")
    company.writes.delete("pipeline", company.key("etl"), actor=company.actor("dia"))
    assert look(company, after_ms=HOUR_MS) == 1
    assert due(company) == []
    patch = [{"op": "add", "path": "/enabled", "value": False}]
    company.clock.advance(HOUR_MS)
    identity = incident(company, "INC-2").id
    own_plans = plans(company)
    assert company.writes.within(partial(remind, incident_id=identity, plans=own_plans), actor=SYSTEM)
    company.writes.patch("eventsubscription", company.key("hourly"), patch, actor=company.actor("ana"))
    notify(company)
    assert reminded_people(company) == [("dia", 1)], "it was disabled before the pipeline read the second reminder"
    assert look(company, after_ms=HOUR_MS) == 0


def test_what_an_alert_watched_once_is_not_walked_through(sqlite_engine: Engine) -> None:
    """Incidents that wait are few; an alert may have watched a hundred thousand."""
    statements: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_rest: object) -> None:
        statements.append((statement, parameters))

    event.listen(sqlite_engine, "before_cursor_execute", note)
    assert Reminders(sqlite_engine).numbers_due({"a": HOUR_MS}, 2 * HOUR_MS) is None
    event.remove(sqlite_engine, "before_cursor_execute", note)
    (statement, parameters) = next(one for one in statements if "min(" in one[0])
    with sqlite_engine.connect() as connection:
        plan = [str(row[3]) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    assert "alert_incident USING INDEX ix_alert_incident_status_number" in plan[0], plan
    watchers = [line for line in plan if line.startswith("SEARCH incident_watcher")]
    assert [line.endswith("(incident_id=?)") for line in watchers] == [True, True], plan


def test_two_who_look_at_once_remind_once(company: SmallCompany) -> None:
    fail(company)
    company.clock.advance(HOUR_MS)
    identity, own_plans = incident(company, "INC-1").id, plans(company)

    def write(_number: int) -> bool:
        return company.writes.within(partial(remind, incident_id=identity, plans=own_plans), actor=SYSTEM)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(write, range(4))) == [False, False, False, True]
    (reminder,) = reminder_events(company)
    assert reminder.change_description is not None
    assert reminder.change_description.paths() == (INCIDENT_REMINDER,)


def test_a_reminder_is_no_longer_missing_once_written_however_late_it_may_be(company: SmallCompany) -> None:
    fail(company, "etl")
    assert look(company, after_ms=HOUR_MS) == 1
    repeats_ms = dict.fromkeys(plans(company), HOUR_MS)
    for minutes in (1, 30, 59):
        company.clock.advance(minutes)
        missing = Reminders(company.engine).overdue(
            repeats_ms, looked_at_ms=company.clock.now_ms() + 1, allowance_ms=3 * HOUR_MS
        )
        assert missing == []


def test_an_incident_that_cannot_be_reminded_of_keeps_no_other_waiting(company: SmallCompany) -> None:
    fail(company, "etl", "loads")
    company.clock.advance(HOUR_MS)
    damaged_id = incident(company, "INC-1").id
    with company.engine.begin() as connection:
        asset_id = connection.execute(
            select(alert_incident.c.entity_id).where(alert_incident.c.id == damaged_id)
        ).scalar_one()
        connection.execute(entity.update().where(entity.c.id == asset_id).values(document="{"))
    store = StoreAddress(company.engine.url.render_as_string(hide_password=False), "NORMAL")
    task = WriteReminders(store, plans(company), company.clock.now_ms())
    (written_batch,) = task(iter([pa.RecordBatch.from_pylist([{"first": 1, "last": 2}])]))
    (counts, failure) = written_batch.to_pylist()
    assert counts == {"written": 1, "subject": None, "cause": None, "trace": None}
    assert (failure["written"], failure["subject"]) == (0, damaged_id)
    assert failure["cause"].split(" in ")[0] in failure["trace"]
    assert due(company) == [damaged_id]
