"""Tests of the incidents of claimed messages on both stores, and of what they cost where there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, event
from tests.company import SmallCompany
from tests.contract.test_alert_incidents import add_merged_incident
from tests.notifying import notify_all
from tests.store.test_failing_rows import permit
from tests.store.test_subscriptions import counted_statements

from tocsin.alerts.incidents import Handling, handle
from tocsin.catalogue.observations.silences import Silence, add_silence
from tocsin.delivery.dispatch import Dispatch
from tocsin.model.alert_incident import HandledAt, OpenIncident, StepKind
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.outbox.current_state import CurrentStates
from tocsin.store.outbox.failure_incidents import ReportPlace
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.outbox.sessions import Sessions

FOLLOWERS = {"category": "Followers", "type": "Email"}
MAIL = {"category": "Owners", "type": "Email"}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    small_company.pipeline("etl", owners=[{"type": "user", "name": "dia"}])
    small_company.clock.advance(1_000)
    small_company.alert("failed", [MAIL], "pipelineStatus == 'Failed'", resources=("pipeline",), poll_interval_s=0)
    small_company.alert("everything", [MAIL], resources=("pipeline", "table"), poll_interval_s=0)
    return small_company


def claimed_dispatches(engine: Engine) -> list[Dispatch]:
    messages = Messages(engine)
    Sessions(engine).begin("w", lease_ms=90_000, now_ms=1)
    return messages.dispatches(messages.claim("w", 64, now_ms=9_999_999_999_999))


def incidents(dispatches: list[Dispatch]) -> list[tuple[int, ...]]:
    return [(entry.incident.number,) if entry.incident else () for each in dispatches for entry in each.entries]


def test_each_failure_names_the_incident_of_its_alert_until_somebody_has_acknowledged_it(
    company: SmallCompany, store_engine: Engine
) -> None:
    company.run("etl", "Failed")
    company.run("etl", "Failed")
    notify_all(store_engine)
    dispatches = claimed_dispatches(store_engine)
    assert incidents(dispatches) == [(1,), (1,)]
    place = HandledAt(company.ids["etl"], None)
    assert dispatches[0].first.incident == OpenIncident(1, place)
    with_id = AlertIncidentLog(store_engine).find("INC-1")
    assert with_id is not None
    acknowledging = Handling(StepKind.ACKNOWLEDGED)
    company.writes.within(lambda record: handle(record, with_id.id, acknowledging), actor=company.actor("dia"))
    assert incidents(Messages(store_engine).dispatches([one.message for one in dispatches])) == [(), ()]


def test_an_incident_that_was_merged_into_another_is_not_open_when_that_has_been_acknowledged(
    company: SmallCompany, store_engine: Engine
) -> None:
    company.run("etl", "Failed")
    notify_all(store_engine)
    add_merged_incident(store_engine, 9)
    lead = AlertIncidentLog(store_engine).find("INC-1")
    assert lead is not None
    handling = Handling(StepKind.ACKNOWLEDGED)
    company.writes.within(lambda record: handle(record, lead.id, handling), actor=company.actor("dia"))
    company.run("etl", "Failed")
    notify_all(store_engine)
    dispatches = claimed_dispatches(store_engine)
    assert (len(dispatches) > 0, set(incidents(dispatches))) == (True, {()})
    etl = company.ids["etl"]
    places = {ReportPlace(etl, entry.log_offset) for one in dispatches for entry in one.entries}
    assert CurrentStates(store_engine).open_incidents(places) == {}


def test_a_message_of_an_alert_that_watches_nothing_names_the_incident_too(
    company: SmallCompany, store_engine: Engine
) -> None:
    company.alert("messages", [FOLLOWERS], resources=("pipeline",), alertType="Notification", poll_interval_s=0)
    company.writes.follow("pipeline", company.ids["etl"], company.ids["ana"], actor=company.actor("ana"))
    company.run("etl", "Failed")
    notify_all(store_engine)
    naming = [one for one in claimed_dispatches(store_engine) if one.first.incident]
    assert {one.message.target.partition("@")[0] for one in naming} == {"dia", "ana"}


def test_a_silence_names_its_incident(company: SmallCompany, store_engine: Engine) -> None:
    company.alert("late", [MAIL], "noSuccessFor('1h')", resources=("pipeline",), poll_interval_s=0)
    company.run("etl", "Successful")
    since_ms = company.clock.now_ms()
    company.clock.advance(3_600_000)
    silence = Silence(company.ids["etl"], since_ms, asked_ms=3_600_000, at_ms=company.clock.now_ms())
    add_silence(company.writes, "pipeline", silence)
    notify_all(store_engine)
    assert sorted(incidents(claimed_dispatches(store_engine))) == [(), (1,)]


def test_what_was_resolved_before_and_the_success_name_none(company: SmallCompany, store_engine: Engine) -> None:
    for status in ("Failed", "Successful", "Failed"):
        company.run("etl", status)
    notify_all(store_engine)
    assert sorted(incidents(claimed_dispatches(store_engine))) == [(), (), (2,)]


def test_who_may_not_change_an_incident_is_known_for_many_messages_in_few_statements(
    company: SmallCompany, store_engine: Engine
) -> None:
    company.alert("followers", [FOLLOWERS], "pipelineStatus == 'Failed'", resources=("pipeline",), poll_interval_s=0)
    for name in ("cem", "ana", "ben"):
        company.writes.follow("pipeline", company.ids["etl"], company.ids[name], actor=company.actor(name))
    rule = {"name": "Own", "effect": "allow", "operations": ["EditAll"], "resources": ["all"], "condition": "isOwner()"}
    for name in ("dia", "cem", "ana", "ben"):
        permit(company, name, rule)
    assigning = Handling(StepKind.ASSIGNED, assignee={"type": "user", "id": company.ids["ben"]})
    company.run("etl", "Failed")
    notify_all(store_engine)
    with_id = AlertIncidentLog(store_engine).find("INC-1")
    assert with_id is not None
    company.writes.within(lambda record: handle(record, with_id.id, assigning), actor=company.actor("dia"))
    dispatches = [one for one in claimed_dispatches(store_engine) if one.first.incident]
    permissions = Permitted(store_engine)
    names = {dispatch.first.notification_id: dispatch.message.target.partition("@")[0] for dispatch in dispatches}
    assert {"dia", "cem", "ana", "ben"} <= set(names.values())
    assert sorted(names[key] for key in permissions.read_only(dispatches)) == ["ana", "cem"]

    def statement_count(messages: list[Dispatch]) -> int:
        with counted_statements(store_engine) as statements:
            permissions.read_only(messages)
        return len(statements)

    assert statement_count(dispatches * 10) == statement_count(dispatches[:1]) <= 6
    assert statement_count([replace(dispatches[0], entries=())]) == 0


def test_messages_about_no_failure_are_read_by_as_many_queries_as_without_incidents(
    company: SmallCompany, store_engine: Engine
) -> None:
    company.describe("revenue", "text", by="ana")
    notify_all(store_engine)
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(store_engine, "before_cursor_execute", note)
    try:
        (dispatch,) = claimed_dispatches(store_engine)
    finally:
        event.remove(store_engine, "before_cursor_execute", note)
    assert dispatch.first.incident is None
    assert not [one for one in statements if "alert_incident" in one]


def test_who_may_edit_the_table_of_a_failing_test_acknowledges_from_a_message(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    rule = {"name": "Own", "effect": "allow", "operations": ["EditAll"], "resources": ["all"], "condition": "isOwner()"}
    company.test_case("orders", owners=[{"type": "user", "name": "ben"}])
    for name in ("ana", "ben", "cem"):
        permit(company, name, rule)
        company.writes.follow("table", company.ids["orders"], company.ids[name], actor=company.actor(name))
    company.table("orders", owners=[{"type": "user", "name": "ana"}])
    company.clock.advance(1_000)
    company.alert("failed", [FOLLOWERS, MAIL], "testStatus == 'Failed'", resources=("testCase",), poll_interval_s=0)
    company.result("orders", "Failed")
    notify_all(store_engine)
    dispatches = [one for one in claimed_dispatches(store_engine) if one.first.incident]
    names = {dispatch.first.notification_id: dispatch.message.target.partition("@")[0] for dispatch in dispatches}
    assert sorted(names.values()) == ["ana", "ben", "cem"]
    permissions = Permitted(store_engine)
    assert [names[key] for key in permissions.read_only(dispatches)] == ["cem"]
    counts = list[int]()
    for messages in (dispatches[:1], dispatches * 10):
        with counted_statements(store_engine) as statements:
            permissions.read_only(messages)
        counts.append(len(statements))
    assert counts[0] == counts[1] <= 12
