"""Tests of test results and pipeline runs: ordinary writes without a version."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, company

from tocsin.alerts.incidents import take_step_for_all
from tocsin.catalogue.observations.runs import add_run, add_runs, remove_run
from tocsin.catalogue.quality.results import patch_result, remove_result
from tocsin.clock import FUTURE_MS
from tocsin.errors import Conflict, InvalidInput, NotFound
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Stored, Written
from tocsin.store.catalogue.observations.reads import ObservationReads
from tocsin.store.catalogue.quality.incidents import IncidentLog
from tocsin.store.database.cursors import ReportWindow

_CASE = f"{ORDERS}.id.not_null"
_REQUEST = {"name": "not_null", "entityLink": f"<#E::table::{ORDERS}::columns::id>", "testDefinition": "notNull"}


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def _event(written: Written) -> tuple[str, str]:
    assert written.event is not None
    wire = written.event.to_wire()
    assert wire["previousVersion"] == wire["currentVersion"] == 0.1
    change = wire["changeDescription"]
    changes = [
        f"{kind} {change_['name']}"
        for kind in ("fieldsUpdated", "fieldsAdded", "fieldsDeleted")
        for change_ in change[kind]
    ]
    return wire["eventType"], ", ".join(changes)


def test_a_test_case_stands_under_what_it_tests_and_in_the_tables_own_suite(shop: Company) -> None:
    written = shop.writes.create("testCase", _REQUEST, actor=JANE)
    case = written.document
    assert (case["fullyQualifiedName"], case["entityFQN"]) == (_CASE, f"{ORDERS}.id")
    assert case["testSuite"]["fullyQualifiedName"] == f"{ORDERS}.testSuite"
    assert case["testDefinition"]["name"] == "notNull"
    suite = shop.get("testSuite", f"{ORDERS}.testSuite")
    assert (suite["basic"], suite["basicEntityReference"]["id"]) == (True, shop.ids["orders"])
    assert [event.entity_type for event in written.cascaded] == ["testSuite"]
    second = shop.writes.create("testCase", _REQUEST | {"name": "unique"}, actor=JANE)
    assert second.document["testSuite"] == case["testSuite"]
    assert second.cascaded == ()


def test_a_test_case_may_test_the_table_itself(shop: Company) -> None:
    about = {"entityLink": f"<#E::table::{ORDERS}>", "testDefinition": "hasRows"}
    written = shop.writes.create("testCase", _REQUEST | about, actor=JANE)
    assert written.document["fullyQualifiedName"] == f"{ORDERS}.not_null"


def test_a_test_case_may_test_a_column_inside_another(shop: Company) -> None:
    inner = {"name": "zip", "dataType": "TEXT"}
    shop.patch(("add", "/columns/-", {"name": "address", "dataType": "STRUCT", "children": [inner]}))
    about = {"entityLink": f"<#E::table::{ORDERS}::columns::address.zip>"}
    written = shop.writes.create("testCase", _REQUEST | about, actor=JANE)
    assert written.document["entityFQN"] == f"{ORDERS}.address.zip"


def test_a_test_case_may_name_its_suite(shop: Company) -> None:
    suite = shop.writes.create("testSuite", {"name": "nightly checks"}, actor=JANE).document
    written = shop.writes.create("testCase", _REQUEST | {"testSuite": "nightly checks"}, actor=JANE)
    assert written.document["testSuite"]["id"] == suite["id"]


@pytest.mark.parametrize(
    ("link", "error"),
    [
        ("orders", InvalidInput),
        ("<#E::dashboard::bi.revenue>", InvalidInput),
        (f"<#E::table::{SCHEMA}.nowhere>", NotFound),
    ],
)
def test_a_test_case_needs_a_table(shop: Company, link: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        shop.writes.create("testCase", _REQUEST | {"entityLink": link}, actor=JANE)


def test_a_put_test_case_stays_where_it_is(shop: Company) -> None:
    test_case = shop.writes.upsert("testCase", _REQUEST, actor=JANE)
    assert shop.writes.upsert("testCase", _REQUEST, actor=JANE).event is None
    again = shop.writes.upsert("testCase", _REQUEST | {"parameterValues": [{"name": "min", "value": "1"}]}, actor=JANE)
    assert (again.document["id"], again.document["entityFQN"]) == (test_case.document["id"], f"{ORDERS}.id")
    assert again.document["version"] == 0.2
    with pytest.raises(Conflict):
        shop.writes.create("testCase", _REQUEST, actor=JANE)


def test_a_failed_test_is_a_failure_and_any_other_result_an_update(shop: Company, store_engine: Engine) -> None:
    shop.writes.create("testCase", _REQUEST, actor=JANE)
    results = [
        {"timestamp": at, "testCaseStatus": status} for at, status in ((1, "Success"), (2, "Failed"), (3, "Aborted"))
    ]
    outcomes = [shop.writes.add_test_result(_CASE, result, actor=JANE) for result in results]
    assert [_event(one) for one in outcomes] == [
        ("entityUpdated", "fieldsAdded testCaseResult"),
        ("testCaseFailure", "fieldsUpdated testCaseResult, fieldsAdded incidentStatus"),
        ("entityUpdated", "fieldsUpdated testCaseResult"),
    ]
    case = shop.get("testCase", _CASE)
    assert (case["testCaseResult"], case["testCaseStatus"], case["version"]) == (results[2], "Aborted", 0.1)
    page = ObservationReads(store_engine).page(case["id"], "testCaseResult", ReportWindow(limit=2))
    assert [one["timestamp"] for one in page.documents] == [3, 2]
    assert (page.total, page.documents[0]) == (3, results[2])


def test_the_same_result_again_is_nothing_and_a_corrected_one_is_an_event(shop: Company) -> None:
    """Fault scenario 34."""
    shop.writes.create("testCase", _REQUEST, actor=JANE)
    result = {"timestamp": 1, "testCaseStatus": "Failed"}
    shop.writes.add_test_result(_CASE, result, actor=JANE)
    assert shop.writes.add_test_result(_CASE, result | {"result": "again"}, actor=JANE).event is None
    corrected = shop.writes.add_test_result(_CASE, result | {"testCaseStatus": "Success"}, actor=JANE)
    assert _event(corrected) == ("entityUpdated", "fieldsUpdated testCaseResult")


def test_a_late_result_is_reported_but_does_not_hide_a_newer_one(shop: Company) -> None:
    shop.writes.create("testCase", _REQUEST, actor=JANE)
    newer = {"timestamp": 9, "testCaseStatus": "Success"}
    shop.writes.add_test_result(_CASE, newer, actor=JANE)
    late = shop.writes.add_test_result(_CASE, {"timestamp": 5, "testCaseStatus": "Failed"}, actor=JANE)
    assert _event(late)[0] == "testCaseFailure"
    assert shop.get("testCase", _CASE)["testCaseResult"] == newer


@pytest.mark.parametrize("is_first", [True, False])
def test_a_result_dated_ahead_is_not_what_later_ones_are_compared_with(shop: Company, *, is_first: bool) -> None:
    shop.writes.create("testCase", _REQUEST, actor=JANE)
    normal = [{"timestamp": at, "testCaseStatus": "Success"} for at in (1, 2)]
    ahead = {"timestamp": shop.clock.now_ms() + 86_400_000, "testCaseStatus": "Failed"}
    for result in normal[is_first:1]:
        shop.writes.add_test_result(_CASE, result, actor=JANE)
    shop.writes.add_test_result(_CASE, ahead, actor=JANE)
    outcome = shop.writes.add_test_result(_CASE, normal[1], actor=JANE)
    assert outcome.event is not None
    description = outcome.event.change_description
    assert description is not None
    changes = (*description.fields_added, *description.fields_updated)
    before = [one.old_value for one in changes if one.name == "testCaseResult"]
    assert before == [None if is_first else normal[0]]
    case = shop.get("testCase", _CASE)
    assert (case["testCaseResult"]["timestamp"], case["testCaseStatus"]) == (2, "Success")


def test_the_newest_result_of_a_clock_that_is_always_ahead_is_kept_and_opens_no_incident(shop: Company) -> None:
    shop.writes.create("testCase", _REQUEST | {"autoCloseIncident": True}, actor=JANE)
    statuses = []
    for status in ("Failed", "Success", "Failed", "Success"):
        result = {"timestamp": shop.clock.now_ms() + 6 * 60_000, "testCaseStatus": status}
        shop.writes.add_test_result(_CASE, result, actor=JANE)
        case = shop.get("testCase", _CASE)
        assert case["testCaseResult"]["timestamp"] == result["timestamp"]
        statuses.append((case["testCaseStatus"], "incidentId" in case))
        shop.clock.advance(3_600_000)
    assert statuses == [("Failed", False), ("Success", False)] * 2


@pytest.mark.parametrize("ahead_ms", [FUTURE_MS, FUTURE_MS + 1])
def test_a_success_dated_ahead_resolves_no_incident(shop: Company, ahead_ms: int) -> None:
    shop.writes.create("testCase", _REQUEST | {"autoCloseIncident": True}, actor=JANE)
    failure = {"timestamp": shop.clock.now_ms(), "testCaseStatus": "Failed"}
    shop.writes.add_test_result(_CASE, failure, actor=JANE)
    ahead = {"timestamp": shop.clock.now_ms() + ahead_ms, "testCaseStatus": "Success"}
    shop.writes.add_test_result(_CASE, ahead, actor=JANE)
    assert ("incidentId" in shop.get("testCase", _CASE)) is (ahead_ms > FUTURE_MS)
    sound = {"timestamp": shop.clock.now_ms() + 1, "testCaseStatus": "Success"}
    shop.writes.add_test_result(_CASE, sound, actor=JANE)
    assert "incidentId" not in shop.get("testCase", _CASE), "a success of now does"


def test_a_failure_after_a_success_is_another_one_whatever_is_dated_ahead(shop: Company, store_engine: Engine) -> None:
    shop.writes.create("testCase", _REQUEST, actor=JANE)

    def report(status: str, at_ms: int) -> None:
        shop.writes.add_test_result(_CASE, {"timestamp": at_ms, "testCaseStatus": status}, actor=JANE)

    def acknowledge(record: Record, case: Stored) -> Written:
        return take_step_for_all(record, case, {"testCaseReference": _CASE, "testCaseResolutionStatusType": "Ack"})

    now_ms = shop.clock.now_ms()
    report("Failed", now_ms)
    shop.writes.on_entity("testCase", Key.by_name(_CASE), acknowledge, actor=JANE)
    report("Success", now_ms + 1)
    report("Failed", now_ms + FUTURE_MS * 2)
    report("Failed", now_ms + 2)
    steps = IncidentLog(store_engine).of_state(shop.get("testCase", _CASE)["incidentId"])
    assert [one["testCaseResolutionStatusType"] for one in steps] == ["New", "Ack", "New"]


def test_a_later_write_keeps_the_latest_result(shop: Company) -> None:
    shop.writes.create("testCase", _REQUEST, actor=JANE)
    result = {"timestamp": 1, "testCaseStatus": "Aborted"}
    shop.writes.add_test_result(_CASE, result, actor=JANE)
    written = shop.patch(("add", "/description", "x"), fqn=_CASE, entity_type="testCase")
    assert written.document["testCaseResult"] == result
    assert written.event is not None
    assert written.event.change_description is not None
    assert written.event.change_description.paths() == ("description",)


def test_a_report_needs_a_time_and_a_status(shop: Company) -> None:
    for status in ({"executionStatus": "Failed"}, {"timestamp": 1}, {"timestamp": "1", "executionStatus": "Failed"}):
        with pytest.raises(InvalidInput):
            shop.writes.add_pipeline_status("airflow.nightly", status, actor=JANE)


def test_a_pipelines_run_is_an_event_and_no_version(shop: Company) -> None:
    status = {"timestamp": 1, "executionStatus": "Pending"}
    report = shop.writes.add_pipeline_status
    assert _event(report("airflow.nightly", status, actor=JANE)) == ("entityUpdated", "fieldsAdded pipelineStatus")
    assert report("airflow.nightly", status, actor=JANE).event is None
    success = report("airflow.nightly", status | {"executionStatus": "Successful"}, actor=JANE)
    assert _event(success) == ("entityUpdated", "fieldsUpdated pipelineStatus")
    assert success.document["pipelineStatus"]["executionStatus"] == "Successful"
    assert shop.catalogue.versions(shop.ids["nightly"])[0]["version"] == 0.1


def test_many_runs_are_reported_in_the_order_of_time_and_only_what_is_new(shop: Company) -> None:
    runs = [{"timestamp": at, "executionStatus": "Successful"} for at in (3, 1, 2)]

    def send(statuses: object) -> Written:
        key = Key.by_name("airflow.nightly")
        return shop.writes.on_entity("pipeline", key, lambda record, one: add_runs(record, one, statuses), actor=JANE)

    end = shop.log.readable_end()
    outcome = send(runs)
    change_descriptions = [event.change_description for event in shop.events_after(end)]
    assert [
        [one.new_value["timestamp"] for one in (*d.fields_added, *d.fields_updated)] for d in change_descriptions if d
    ] == [
        [1],
        [2],
        [3],
    ]
    assert outcome.document["pipelineStatus"] == runs[0]
    end = shop.log.readable_end()
    assert send(runs).event is None
    assert shop.log.readable_end() == end
    changed_runs = [runs[0], runs[1] | {"executionStatus": "Failed"}, {"timestamp": 4, "executionStatus": "Pending"}]
    send(changed_runs)
    assert len(shop.events_after(end)) == 2
    with pytest.raises(InvalidInput, match=r"\[1\]"):
        send([runs[0], {"timestamp": 9}])
    with pytest.raises(InvalidInput):
        send({"no": "list"})


def test_a_task_that_has_ended_is_news_and_when_it_ended_is_not(shop: Company) -> None:
    report = shop.writes.add_pipeline_status
    run = {"timestamp": 1, "executionStatus": "Pending", "taskStatus": [{"name": "load", "executionStatus": "Pending"}]}
    report("airflow.nightly", run, actor=JANE)
    success = run | {"taskStatus": [{"name": "load", "executionStatus": "Successful"}]}
    assert report("airflow.nightly", success, actor=JANE).event is not None
    later = success | {"taskStatus": [{"name": "load", "executionStatus": "Successful", "endTime": 5}], "endTime": 6}
    assert report("airflow.nightly", later, actor=JANE).event is None


def test_a_run_that_is_taken_back_leaves_the_one_before(shop: Company, store_engine: Engine) -> None:
    first, second = ({"timestamp": at, "executionStatus": "Successful"} for at in (1, 2))
    for run in (first, second):
        shop.writes.add_pipeline_status("airflow.nightly", run, actor=JANE)

    def forget(at_ms: int) -> Written:
        key = Key.by_name("airflow.nightly")
        return shop.writes.on_entity("pipeline", key, lambda record, one: remove_run(record, one, at_ms), actor=JANE)

    removal = forget(2)
    assert _event(removal) == ("entityUpdated", "fieldsDeleted pipelineStatus")
    assert removal.document["pipelineStatus"] == first
    assert "pipelineStatus" not in forget(1).document
    assert ObservationReads(store_engine).page(shop.ids["nightly"], "pipelineStatus", ReportWindow()).total == 0
    with pytest.raises(NotFound):
        forget(1)


def test_a_run_of_an_ingestion_pipeline_is_known_by_its_id(shop: Company, store_engine: Engine) -> None:
    request = {"name": "metadata", "service": {"type": "databaseService", "name": "pg"}, "pipelineType": "metadata"}
    pipeline = shop.writes.create("ingestionPipeline", request | {"sourceConfig": {}, "airflowConfig": {}}, actor=JANE)

    def report(status: Document) -> Written:
        key = Key.by_id(pipeline.document["id"])
        return shop.writes.on_entity(
            "ingestionPipeline", key, lambda record, one: add_run(record, one, status), actor=JANE
        )

    running = {"runId": "a", "pipelineState": "running", "timestamp": 1}
    assert _event(report(running)) == ("entityUpdated", "fieldsAdded pipelineStatus")
    assert report(running | {"timestamp": 2}).event is None
    success = report({"runId": "a", "pipelineState": "success", "timestamp": 3})
    assert _event(success) == ("entityUpdated", "fieldsUpdated pipelineStatus")
    assert success.document["pipelineStatuses"]["pipelineState"] == "success"
    assert report({"runId": "b", "pipelineState": "queued", "timestamp": 4}).event is not None
    page = ObservationReads(store_engine).page(pipeline.document["id"], "pipelineStatus", ReportWindow())
    assert [one["runId"] for one in page.documents] == ["b", "a"]


def test_a_result_can_be_corrected_and_taken_back(shop: Company) -> None:
    shop.writes.create("testCase", _REQUEST, actor=JANE)
    shop.writes.add_test_result(_CASE, {"timestamp": 1, "testCaseStatus": "Success"}, actor=JANE)

    def correct(path: str, value: object) -> Written:
        operations = [{"op": "add", "path": path, "value": value}]
        key = Key.by_name(_CASE)
        return shop.writes.on_entity(
            "testCase", key, lambda record, case: patch_result(record, case, 1, operations), actor=JANE
        )

    assert correct("/result", "looked again").event is not None
    assert correct("/result", "looked again").event is None
    assert _event(correct("/testCaseStatus", "Failed"))[0] == "testCaseFailure"
    assert _event(correct("/result", "still so"))[0] == "entityUpdated"
    for path, value in (("/timestamp", 2), ("/testCaseStatus", "Bad"), ("/unknown", 1)):
        with pytest.raises(InvalidInput):
            correct(path, value)
    removal = shop.writes.on_entity(
        "testCase", Key.by_name(_CASE), lambda record, case: remove_result(record, case, 1), actor=JANE
    )
    assert _event(removal) == ("entityUpdated", "fieldsDeleted testCaseResult")
    assert not {"testCaseResult", "testCaseStatus"} & removal.document.keys()


def test_rows_that_a_result_brings_along_are_kept_but_never_reported(shop: Company, store_engine: Engine) -> None:
    shop.writes.create("testCase", _REQUEST, actor=JANE)
    result = {"timestamp": 1, "testCaseStatus": "Failed", "sampleData": "jane@example.org"}
    outcome = shop.writes.add_test_result(_CASE, result, actor=JANE)
    assert outcome.event is not None
    assert "jane@example.org" not in outcome.event.model_dump_json()
    (stored_result,) = (
        ObservationReads(store_engine).page(outcome.document["id"], "testCaseResult", ReportWindow()).documents
    )
    assert stored_result["sampleData"] == "jane@example.org"
    shop.writes.add_test_result(_CASE, {"timestamp": 2, "testCaseStatus": "Success"}, actor=JANE)
    removal = shop.writes.on_entity(
        "testCase", Key.by_name(_CASE), lambda record, case: remove_result(record, case, 2), actor=JANE
    )
    held_result = {key: value for key, value in stored_result.items() if key != "sampleData"}
    assert removal.document["testCaseResult"] == held_result
    for at_ms in (shop.clock.now_ms() + 86_400_000, 3):
        result = {"timestamp": at_ms, "testCaseStatus": "Success"}
        outcome = shop.writes.add_test_result(_CASE, result, actor=JANE)
    assert outcome.event is not None
    assert outcome.event.change_description is not None
    assert outcome.event.change_description.fields_updated[0].old_value == held_result
