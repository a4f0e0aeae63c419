"""Tests of incidents: one per failed test, with every state stored and reported as an event."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, Company, company

from tocsin.alerts.incidents import take_step_for_all
from tocsin.catalogue.quality.incidents import correct_step
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Stored, Written
from tocsin.store.catalogue.quality.incidents import IncidentLog, IncidentStateFilter
from tocsin.store.database.cursors import ReportWindow

_CASE = f"{ORDERS}.id.not_null"


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    request = {"name": "not_null", "entityLink": f"<#E::table::{ORDERS}::columns::id>", "testDefinition": "notNull"}
    sample_company.writes.create("testCase", request, actor=JANE)
    return sample_company


def _fail(shop: Company, at_ms: int) -> Written:
    return shop.writes.add_test_result(_CASE, {"timestamp": at_ms, "testCaseStatus": "Failed"}, actor=JANE)


def _on_case(shop: Company, work: Callable[[Record, Stored], Written]) -> Written:
    return shop.writes.on_entity("testCase", Key.by_name(_CASE), work, actor=JANE)


def _take(shop: Company, status: str, details: Document | None = None, **fields: str) -> Written:
    request: Document = {"testCaseReference": _CASE, "testCaseResolutionStatusType": status, **fields}
    request |= {"testCaseResolutionStatusDetails": details} if details else {}
    return _on_case(shop, lambda record, case: take_step_for_all(record, case, request))


def _resolve(shop: Company) -> Written:
    details = {"testCaseFailureReason": "MissingData", "testCaseFailureComment": "The feed was late."}
    return _take(shop, "Resolved", details)


def _reported_fields(written: Written) -> list[str]:
    assert written.event is not None
    assert written.event.change_description is not None
    return list(written.event.change_description.paths())


def test_a_failure_opens_one_incident_and_the_next_goes_on_with_it(shop: Company, store_engine: Engine) -> None:
    first, second = _fail(shop, 1), _fail(shop, 2)
    assert _reported_fields(first) == ["testCaseResult", "incidentStatus"]
    assert _reported_fields(second) == ["testCaseResult"]
    assert first.document["incidentId"] == second.document["incidentId"]
    assert second.document["testCaseResult"]["incidentId"] == first.document["incidentId"]
    (step,) = IncidentLog(store_engine).of_state(first.document["incidentId"])
    assert step["testCaseResolutionStatusType"] == "New"
    assert step["testCaseReference"]["fullyQualifiedName"] == _CASE


def test_every_step_is_an_event_without_a_version(shop: Company) -> None:
    _fail(shop, 1)
    steps = [
        _take(shop, "Ack"),
        _take(shop, "Assigned", {"assignee": {"type": "user", "name": "jane"}}),
        _resolve(shop),
    ]
    assert [_reported_fields(step) for step in steps] == [["incidentStatus"]] * 3
    assert len({step.document["stateId"] for step in steps}) == 1
    assert len({step.document["timestamp"] for step in steps}) == 3
    assert steps[1].document["testCaseResolutionStatusDetails"]["assignee"]["id"] == shop.ids["jane"]
    case = shop.get("testCase", _CASE)
    assert (case["version"], "incidentId" in case) == (0.1, False)


def test_after_it_is_resolved_the_next_failure_opens_another(shop: Company) -> None:
    first = _fail(shop, 1).document["incidentId"]
    _resolve(shop)
    assert _fail(shop, 2).document["incidentId"] != first


def test_the_same_step_again_is_nothing(shop: Company) -> None:
    _fail(shop, 1)
    assert _take(shop, "New").event is None
    assert _take(shop, "Ack").event is not None
    assert _take(shop, "Ack").event is None
    assert _take(shop, "Ack", severity="Severity2").event is not None
    assert _resolve(shop).event is not None
    assert _resolve(shop).event is None


@pytest.mark.parametrize(
    ("status", "details", "error"),
    [
        ("Assigned", None, InvalidInput),
        ("Assigned", {"assignee": {"type": "table", "name": ORDERS}}, InvalidInput),
        ("Assigned", {"assignee": {"type": "user", "name": "nobody"}}, NotFound),
        ("Resolved", {"testCaseFailureReason": "MissingData"}, InvalidInput),
        ("Resolved", {"testCaseFailureReason": "x", "testCaseFailureComment": "y"}, InvalidInput),
        ("Open", None, InvalidInput),
    ],
)
def test_a_step_needs_what_belongs_to_it(
    shop: Company, status: str, details: Document | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        _take(shop, status, details)


def test_only_the_severity_of_a_step_can_be_corrected(shop: Company) -> None:
    _fail(shop, 1)
    step = _take(shop, "Ack").document

    def correct(path: str, value: str) -> Written:
        operations = [{"op": "add", "path": path, "value": value}]
        return _on_case(shop, lambda record, case: correct_step(record, case, step["id"], operations))

    assert correct("/severity", "Severity1").document["severity"] == "Severity1"
    assert correct("/severity", "Severity1").event is None
    for path, value in (("/severity", "Bad"), ("/stateId", "other"), ("/testCaseResolutionStatusType", "Resolved")):
        with pytest.raises(InvalidInput):
            correct(path, value)


def test_steps_are_found_by_what_is_asked(shop: Company, store_engine: Engine) -> None:
    _fail(shop, 1)
    _take(shop, "Assigned", {"assignee": shop.ids["jane"]})
    case_id, log = shop.get("testCase", _CASE)["id"], IncidentLog(store_engine)

    def statuses_of(selection: IncidentStateFilter, window: ReportWindow = ReportWindow()) -> list[str]:  # noqa: B008  it is frozen
        return [one["testCaseResolutionStatusType"] for one in log.page(selection, window).documents]

    assert statuses_of(IncidentStateFilter()) == ["Assigned", "New"]
    assert statuses_of(IncidentStateFilter(latest=True)) == ["Assigned"]
    assert statuses_of(IncidentStateFilter(assignee_id=shop.ids["jane"])) == ["Assigned"]
    assert statuses_of(IncidentStateFilter(statuses=("New",), test_case_id=case_id)) == ["New"]
    assert statuses_of(IncidentStateFilter(tested_id=shop.ids["orders"])) == ["Assigned", "New"]
    assert statuses_of(IncidentStateFilter(tested_id="")) == []
    first = log.page(IncidentStateFilter(), ReportWindow(limit=1))
    assert first.total == 2
    assert statuses_of(IncidentStateFilter(), ReportWindow(limit=1, after=first.after)) == ["New"]


def test_a_hard_delete_takes_the_incidents_along(shop: Company, store_engine: Engine) -> None:
    _fail(shop, 1)
    shop.writes.delete("testCase", Key.by_name(_CASE), actor=JANE, hard=True)
    assert IncidentLog(store_engine).page(IncidentStateFilter(), ReportWindow()).total == 0


def test_a_step_after_the_last_one_begins_another_incident(shop: Company) -> None:
    first = _fail(shop, 1).document["incidentId"]
    _resolve(shop)
    again = _take(shop, "Ack").document
    assert again["stateId"] != first
