"""Tests of what probably caused an incident, on both stores: upstream, and open at the same time."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_alert_incidents import BELL, handle_incident

from tocsin.alerts.incidents import Handling
from tocsin.model.alert_incident import StepKind
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.recipients.related_incidents import RelatedIncidents


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """``raw`` feeds ``orders``, which feeds ``revenue``, which feeds ``raw``: a circle; each has a test."""
    small_company = SmallCompany(store_engine)
    small_company.table("raw")
    for source, target in (("raw", "orders"), ("revenue", "raw")):
        ends = {
            side: {"type": "table", "id": small_company.ids[name]}
            for side, name in (("fromEntity", source), ("toEntity", target))
        }
        small_company.writes.put_edge(ends, actor=SYSTEM)
    for table in ("raw", "orders", "revenue"):
        small_company.test_case(table, f"{table}_test")
    small_company.clock.advance(1_000)
    small_company.alert("failed", [BELL], "testStatus == 'Failed'", resources=("testCase",))
    return small_company


def report(company: SmallCompany, table: str, status: str) -> None:
    company.result(table, status, f"{table}_test")
    notify_all(company.engine)


def causes(company: SmallCompany, name: str) -> list[tuple[str, str]]:
    """Name and asset of each incident that probably caused one."""
    incident = AlertIncidentLog(company.engine).find(name)
    assert incident is not None
    names = {identity: name for name, identity in company.ids.items()}
    related = RelatedIncidents(company.engine).causes_of_incident(incident)
    return [(cause.incident.name, names[cause.asset_id]) for cause in related]


def test_what_fails_upstream_at_the_same_time_is_a_cause_the_farthest_first(company: SmallCompany) -> None:
    for table in ("orders", "raw", "revenue"):
        report(company, table, "Failed")
    assert causes(company, "INC-3") == [("INC-2", "raw"), ("INC-1", "orders")]
    assert causes(company, "INC-1") == [("INC-3", "revenue"), ("INC-2", "raw")]


def test_what_was_over_before_or_begins_after_is_none(company: SmallCompany) -> None:
    report(company, "raw", "Failed")
    report(company, "raw", "Success")
    report(company, "revenue", "Failed")
    report(company, "revenue", "Success")
    report(company, "orders", "Failed")
    assert [causes(company, f"INC-{number}") for number in (1, 2, 3)] == [[], [], []]


def test_causes_of_an_incident_are_those_of_its_time_whatever_ended_it(company: SmallCompany) -> None:
    """An incident that a person resolved keeps the causes that are over, and gets none that began after."""
    report(company, "raw", "Failed")
    report(company, "orders", "Failed")
    handle_incident(company, "INC-2", Handling(StepKind.RESOLVED))
    report(company, "raw", "Success")
    report(company, "revenue", "Failed")
    assert causes(company, "INC-2") == [("INC-1", "raw")]
    report(company, "raw", "Failed")
    assert causes(company, "INC-2") == [("INC-1", "raw")]


def test_two_tests_of_one_table_cause_each_other_nothing(company: SmallCompany) -> None:
    company.test_case("orders", "second")
    company.clock.advance(1_000)
    company.result("orders", "Failed", "second")
    report(company, "orders", "Failed")
    assert [causes(company, f"INC-{number}") for number in (1, 2)] == [[], []]
