"""Tests of explanations of events that nobody's change of an asset made: reminders, handling, answers, expiry."""

from __future__ import annotations

from functools import partial

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import create_entity
from tests.contract.test_alert_incidents import report_result
from tests.contract.test_explain import Person, alert, assign_owners, explanation_of, person
from tests.notifying import notify_all
from tests.serving import Json

from tocsin.alerts.reminders import remind
from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock, SystemClock
from tocsin.flow.match.plan import plan_of
from tocsin.jobs.change_requests import ChangeRequestsJob
from tocsin.jobs.expiry import ExpiryJob
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.alerts.incidents import AlertIncidentFilter, AlertIncidentLog
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

__all__ = ["person"]  # a fixture

_HOUR_MS, _DAY_MS = 3_600_000, 86_400_000
_MATCHING = {
    "incidentReminder": {"Quality"},
    "alertIncidentUpdated": {"Handled"},
    "changeRequestUpdated": {"Asked"},
    "changeRequestReminder": {"Asked"},
    "alertExpiring": {"Expiries"},
    "alertExpired": {"Expiries"},
}
"""The alerts of this test that match each type of event."""


def remind_at(engine: Engine, now_ms: int) -> None:
    """Remind of the one incident, and notify of it."""
    plans = {one.id: plan_of(one) for one in Subscriptions(engine).list_enabled()}
    reminding = {alert_id: plan for alert_id, plan in plans.items() if plan.repeat_ms is not None}
    (incident,) = AlertIncidentLog(engine).page(AlertIncidentFilter(), limit=9)
    writes = Writes(SqlCatalogue(engine), FixedClock(now_ms))
    assert writes.within(partial(remind, incident_id=incident.id, plans=reminding), actor=SYSTEM)
    notify_all(engine, now_ms=now_ms)


def add_alerts(administrator: httpx.Client, expires: int) -> None:
    """Add an alert for each kind of event."""
    failed = {"name": "failed", "effect": "include", "condition": "testStatus == 'Failed'"}
    fields: Json = {"alertType": "Observability", "filteringRules": {"resources": ["testCase"], "rules": [failed]}}
    reminding = {"triggerType": "RealTime", "repeatInterval": 3_600}
    alert(administrator, "Quality", **fields, trigger=reminding, expires=expires, severity="Severity2", runbook="Call.")
    for name, resource, kinds in (
        ("Handled", "testCase", "'alertIncidentUpdated'"),
        ("Asked", "table", "'changeRequestUpdated','changeRequestReminder'"),
        ("Expiries", "eventsubscription", "'alertExpiring','alertExpired'"),
    ):
        rule = {"name": "kind", "effect": "include", "condition": f"matchAnyEventType({{{kinds}}})"}
        admins = [{"category": "Admins", "type": "ActivityFeed"}]
        alert(administrator, name, filteringRules={"resources": [resource], "rules": [rule]}, destinations=admins)


def test_each_is_explained_as_it_was_told(
    administrator: httpx.Client, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    ann_id, ann = person("ann")
    assign_owners(administrator, orders, ann_id)
    now_ms = SystemClock().now_ms()
    add_alerts(administrator, now_ms + 3 * _DAY_MS)
    link = f"<#E::table::{orders['fullyQualifiedName']}>"
    case = create_entity(
        administrator,
        "/dataQuality/testCases",
        name="has_rows",
        entityLink=link,
        testDefinition="tableRowCountToEqual",
        owners=[{"id": ann_id, "type": "user"}],
    )
    report_result(administrator, case["fullyQualifiedName"], "Failed", case["updatedAt"])
    notify_all(sqlite_engine)
    remind_at(sqlite_engine, now_ms + 2 * _HOUR_MS)
    assert ann.put("/incidents/INC-1/acknowledge", json={"comment": "on it"}).is_success
    change: Json = {"entity": {"type": "table", "id": orders["id"]}, "kind": "removal", "why": "unused"}
    date = {"date": now_ms + 9 * _DAY_MS, "remindEveryDays": 1}
    bob_id, _ = person("bob")
    assert administrator.put(f"/tables/{orders['id']}/followers", json=bob_id).is_success
    assert ann.post("/changes", json={**change, **date}).status_code == 201
    assert ChangeRequestsJob(sqlite_engine, FixedClock(now_ms + 2 * _DAY_MS)).look() == 1
    assert ExpiryJob(sqlite_engine, FixedClock(now_ms)).look() == 1
    notify_all(sqlite_engine)
    for event_type in _MATCHING.keys() - {"alertExpired"}:
        check_explanation(administrator, event_type)
    reminder = event_of(administrator, "incidentReminder")
    answer = explanation_of(ann, reminder["id"], user="ann", subscription="Quality")
    assert answer["answer"].startswith("Yes: you were notified in the app"), answer["answer"]
    assert ExpiryJob(sqlite_engine, FixedClock(now_ms + 3 * _DAY_MS)).look() == 1
    notify_all(sqlite_engine)
    check_explanation(administrator, "alertExpired")


def test_a_reminder_that_waits_is_said_to_be_dropped_once_its_incident_is_acknowledged(
    administrator: httpx.Client, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    ann_id, ann = person("ann")
    rule = {"name": "failed", "effect": "include", "condition": "testStatus == 'Failed'"}
    alert(
        administrator,
        "Quality",
        alertType="Observability",
        filteringRules={"resources": ["testCase"], "rules": [rule]},
        trigger={"triggerType": "RealTime", "repeatInterval": 3_600},
        destinations=[{"category": "Owners", "type": "Email"}],
    )
    case = create_entity(
        administrator,
        "/dataQuality/testCases",
        name="has_rows",
        entityLink=f"<#E::table::{orders['fullyQualifiedName']}>",
        testDefinition="tableRowCountToEqual",
        owners=[{"id": ann_id, "type": "user"}],
    )
    report_result(administrator, case["fullyQualifiedName"], "Failed", case["updatedAt"])
    notify_all(sqlite_engine)
    remind_at(sqlite_engine, SystemClock().now_ms() + 2 * _HOUR_MS)

    def answer(event_type: str) -> str:
        event_id = event_of(administrator, event_type)["id"]
        return str(explanation_of(ann, event_id, user="ann", subscription="Quality")["answer"])

    first_answer = answer("testCaseFailure")
    assert first_answer.startswith("Yes: you were notified by mail at "), first_answer
    assert "(not delivered yet, 0 attempts)" in answer("incidentReminder")
    assert administrator.put("/incidents/INC-1/acknowledge", json={}).is_success
    reminder_answer = answer("incidentReminder")
    assert reminder_answer.startswith("No: you were not notified by mail "), reminder_answer
    assert "(will not be sent: the incident has been acknowledged or resolved)" in reminder_answer
    assert answer("testCaseFailure") == first_answer


def listed_types(client: httpx.Client, path: str, **params: str) -> set[str]:
    """Return the types of the events in an answer that holds a list of events, or of activity."""
    form = {"format": "tocsin"} if path == "/events" else {}
    answer = client.get(path, params={"limit": "1000", **form, **params})
    assert answer.is_success, answer.text
    return {one.get("event", one)["eventType"] for one in answer.json()["data"]}


def test_a_reminder_of_one_persons_alert_is_in_no_feed_and_no_list_that_does_not_name_it(
    administrator: httpx.Client, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    now_ms = SystemClock().now_ms()
    add_alerts(administrator, now_ms + 3 * _DAY_MS)
    link = f"<#E::table::{orders['fullyQualifiedName']}>"
    fields = {"name": "has_rows", "entityLink": link, "testDefinition": "tableRowCountToEqual"}
    case = create_entity(administrator, "/dataQuality/testCases", **fields)
    bob_id, bob = person("bob")
    assert administrator.put(f"/tables/{orders['id']}/followers", json=bob_id).is_success
    report_result(administrator, case["fullyQualifiedName"], "Failed", case["updatedAt"])
    notify_all(sqlite_engine)
    remind_at(sqlite_engine, now_ms + 2 * _HOUR_MS)
    reminder, activity = "incidentReminder", f"/users/{bob_id}/activity"
    assert "testCaseFailure" in listed_types(bob, activity)
    of_case = {"entityId": case["id"]}
    for path, params in (
        (activity, {}),
        ("/events", {}),
        ("/events", of_case),
        ("/events", {"entityType": "testCase"}),
    ):
        assert reminder not in listed_types(bob, path, **params), params
    for path, name in ((activity, reminder), (activity, "*"), ("/events", reminder), ("/events", f"*,{reminder}")):
        assert reminder in listed_types(bob, path, eventType=name), name


def event_of(client: httpx.Client, event_type: str) -> Json:
    return client.get("/events", params={"eventType": event_type, "limit": 1, "format": "tocsin"}).json()["data"][0]


def check_explanation(client: httpx.Client, event_type: str) -> None:
    """Check that the alerts of this test match the first event of a type as they should, and as is stored."""
    answer = explanation_of(client, event_of(client, event_type)["id"])
    assert answer["disagreements"] == [], event_type
    matching_names = {one["name"] for one in answer["alerts"] if one["matched"]}
    assert matching_names & set().union(*_MATCHING.values()) == _MATCHING[event_type], event_type
    assert answer["notified"]["total"] >= 1, event_type
