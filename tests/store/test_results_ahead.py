"""Tests of results and runs that are dated in the future, on both stores: nobody is told, nothing opens or ends."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, func, select
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.clock import FUTURE_MS
from tocsin.delivery.wording.changes import event_text
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.change import EventType
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.alerts.incidents import AlertIncidentFilter, AlertIncidentLog
from tocsin.store.catalogue.quality.incidents import IncidentLog, IncidentStateFilter
from tocsin.store.database.cursors import ReportWindow
from tocsin.store.database.tables import notification
from tocsin.store.eventlog.log import EventLog

_TEST = "pg.store.public.orders.has_rows"
_BELL = [{"category": "Owners", "type": "ActivityFeed"}]


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    small_company.test_case("orders")
    small_company.pipeline("etl", owners=[{"type": "user", "name": "ana"}])
    small_company.alert("results", _BELL, alertType="Observability", resources=("testCase", "pipeline"))
    small_company.clock.advance(1_000)
    return small_company


def report(company: SmallCompany, kind: str, status: str, *, ahead_ms: int) -> None:
    at_ms = company.clock.now_ms() + ahead_ms
    if kind == "run":
        run = {"timestamp": at_ms, "executionStatus": "Successful" if status == "Success" else status}
        company.writes.add_pipeline_status("airflow.etl", run, actor=SYSTEM)
    else:
        result = {"timestamp": at_ms, "testCaseStatus": status}
        company.writes.add_test_result(_TEST, result, actor=SYSTEM)


def outcome(company: SmallCompany) -> tuple[int, list[bool]]:
    """Return how many notifications there are, and which incidents, oldest first, are open."""
    notify_all(company.engine)
    incidents = AlertIncidentLog(company.engine).page(AlertIncidentFilter(), limit=10)
    with company.engine.connect() as connection:
        count = connection.execute(select(func.count()).select_from(notification)).scalar_one()
    return count, [one.is_open for one in reversed(incidents)]


@pytest.mark.parametrize("kind", ["result", "run"])
def test_a_report_dated_ahead_alarms_nobody_and_opens_and_ends_nothing(company: SmallCompany, kind: str) -> None:
    before, _ = outcome(company)
    report(company, kind, "Failed", ahead_ms=FUTURE_MS + 1)
    assert outcome(company) == (before, [])
    company.clock.advance(1_000)
    report(company, kind, "Failed", ahead_ms=0)
    count, open_incidents = outcome(company)
    assert count > before
    assert open_incidents == [True]
    company.clock.advance(1_000)
    report(company, kind, "Success", ahead_ms=FUTURE_MS + 1)
    assert outcome(company) == (count, [True])
    company.clock.advance(1_000)
    report(company, kind, "Success", ahead_ms=FUTURE_MS)
    assert outcome(company)[1] == [False]


def test_a_failure_dated_ahead_opens_no_record_of_its_test_and_advises_to_acknowledge_nothing(
    company: SmallCompany,
) -> None:
    report(company, "result", "Failed", ahead_ms=4 * FUTURE_MS)
    (logged_event,) = EventLog(company.engine).list_events(EventSelection(entity_fqn=_TEST), limit=99)[-1:]
    event = logged_event.event
    assert (event.event_type, logged_event.is_late) == (EventType.TEST_CASE_FAILURE, True)
    assert event.change_description is not None
    assert "incidentStatus" not in event.change_description.paths()
    assert not [line.text for line in event_text(event).all_lines if "incident" in line.text]
    assert IncidentLog(company.engine).page(IncidentStateFilter(latest=True), ReportWindow()).documents == []
    company.clock.advance(1_000)
    report(company, "result", "Failed", ahead_ms=0)
    assert outcome(company)[1] == [True]
    (step,) = IncidentLog(company.engine).page(IncidentStateFilter(latest=True), ReportWindow()).documents
    assert step["timestamp"] == company.clock.now_ms()
