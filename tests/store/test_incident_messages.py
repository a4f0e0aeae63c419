"""Tests of the notifications about an incident, on both stores: which belong to it, and for whom they are shown."""

from __future__ import annotations

from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.alerts.incidents import Handling, handle
from tocsin.model.alert_incident import StepKind
from tocsin.model.notification_record import NotificationRecord
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.outbox.incident_messages import MOST_MESSAGES, IncidentMessages, MessageReader

MAIL = {"category": "Owners", "type": "Email"}


def failing_pipeline(engine: Engine) -> SmallCompany:
    company = SmallCompany(engine)
    company.pipeline("etl", owners=[{"type": "user", "name": name} for name in ("ana", "dia")])
    company.clock.advance(1_000)
    company.alert("failed", [MAIL], "pipelineStatus != 'Pending'", resources=("pipeline",), alertType="Observability")
    handled = "matchAnyEventType({'alertIncidentUpdated'})"
    company.alert("handled", [{"category": "Owners", "type": "ActivityFeed"}], handled, resources=("pipeline",))
    return company


def id_of(engine: Engine, name: str) -> str:
    incident = AlertIncidentLog(engine).find(name)
    assert incident is not None
    return incident.id


def recipients_of(records: list[NotificationRecord]) -> list[tuple[str | None, str, int]]:
    """Whom they are for, by which channel, and the place of the event among those told of."""
    places = sorted({one.notification.log_offset for one in records})
    return sorted(
        (record.user_name, record.notification.channel, places.index(record.notification.log_offset))
        for record in records
    )


def test_those_from_the_failure_to_its_end_and_of_what_people_did_belong_to_an_incident(store_engine: Engine) -> None:
    company = failing_pipeline(store_engine)
    company.run("etl", "Successful")
    company.run("etl", "Failed")
    notify_all(store_engine)
    incident_id = id_of(store_engine, "INC-1")
    company.clock.advance(1_000)
    acknowledge = Handling(StepKind.ACKNOWLEDGED)
    company.writes.within(lambda record: handle(record, incident_id, acknowledge), actor=company.actor("dia"))
    company.run("etl", "Successful")
    company.run("etl", "Failed")
    notify_all(store_engine)
    messages = IncidentMessages(store_engine)
    records, is_whole = messages.of(incident_id)
    assert recipients_of(records) == [
        ("ana", "ActivityFeed", 1),
        ("ana", "Email", 0),
        ("ana", "Email", 2),
        ("dia", "Email", 0),
        ("dia", "Email", 2),
    ]
    assert is_whole
    assert {one.message.status for one in records if one.message} == {"pending"}
    for_ana, _ = messages.of(incident_id, MessageReader(company.ids["ana"], ()))
    assert {one.user_name for one in for_ana} == {"ana"}
    for_editor, _ = messages.of(incident_id, MessageReader("somebody", {company.ids["handled"]}))
    assert recipients_of(for_editor) == [("ana", "ActivityFeed", 0)]
    assert recipients_of(messages.of(id_of(store_engine, "INC-2"))[0]) == [("ana", "Email", 0), ("dia", "Email", 0)]


def test_the_earliest_are_shown_and_that_there_are_more_is_said(store_engine: Engine) -> None:
    company = failing_pipeline(store_engine)
    for _ in range(MOST_MESSAGES // 2 + 1):
        company.run("etl", "Failed", after_s=1)
    notify_all(store_engine)
    records, is_whole = IncidentMessages(store_engine).of(id_of(store_engine, "INC-1"))
    assert (len(records), is_whole) == (MOST_MESSAGES, False)
    assert min(one.notification.log_offset for one in records) == records[0].notification.log_offset
