"""Table of all writes outside documents (reports, incidents, usage) with their events, in the form of ``paths.py``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.store.catalogues import JANE, ORDERS, Company
from tests.store.paths import Row, Step

from tocsin.alerts.incidents import take_step_for_all
from tocsin.catalogue.observations.joins import put_joins
from tocsin.catalogue.observations.pipeline_observability import put_entries
from tocsin.catalogue.observations.profiles import TABLE_PROFILE, put_profile, remove_profile
from tocsin.catalogue.observations.runs import add_runs, remove_run
from tocsin.catalogue.observations.samples import put_sample
from tocsin.catalogue.observations.table_details import put_config, put_metric, put_model, remove_metric
from tocsin.catalogue.observations.usage import report_usage
from tocsin.catalogue.quality.results import patch_result, remove_result
from tocsin.catalogue.quality.suites import add_cases, remove_case
from tocsin.flow.capture.write import Record
from tocsin.model.stored import Key, Stored, Written

_CASE, _PIPELINE = f"{ORDERS}.fresh", "airflow.nightly"
_RUNS = [{"timestamp": at_ms, "executionStatus": "Successful"} for at_ms in (2, 1)]
_PROFILE = {"tableProfile": {"timestamp": 1, "rowCount": 2}, "columnProfile": [{"name": "id", "timestamp": 1}]}
_USE = {"date": "2024-01-15", "count": 3}
_NAMED = {"type": "pipeline", "fullyQualifiedName": _PIPELINE}
_METRIC = {"name": "rows", "expression": "count(*)"}


def _work_on(entity_type: str, fqn: str, work: Callable[[Record, Stored], Written]) -> Step:
    return lambda shop: shop.writes.on_entity(entity_type, Key.by_name(fqn), work, actor=JANE)


def _on_orders(work: Callable[[Record, Stored], Written]) -> Step:
    return _work_on("table", ORDERS, work)


def _with_test_case(*further: Step) -> Step:
    """Return the step that makes a test case of orders and a logical suite, and then does what follows."""

    def step(shop: Company) -> None:
        request = {"name": "fresh", "entityLink": f"<#E::table::{ORDERS}>", "testDefinition": "hasRows"}
        shop.ids["fresh"] = shop.writes.create("testCase", request, actor=JANE).document["id"]
        shop.ids["nightly checks"] = shop.writes.create("testSuite", {"name": "checks"}, actor=JANE).document["id"]
        for further_step in further:
            further_step(shop)

    return step


def _result(status: str, at_ms: int = 1) -> Step:
    return lambda shop: shop.writes.add_test_result(_CASE, {"timestamp": at_ms, "testCaseStatus": status}, actor=JANE)


def _take(status: str) -> Step:
    request = {"testCaseReference": _CASE, "testCaseResolutionStatusType": status}
    return _work_on("testCase", _CASE, partial(take_step_for_all, request=request))


def _join_suite(shop: Company) -> None:
    work = partial(add_cases, case_ids=[shop.ids["fresh"]])
    shop.writes.on_entity("testSuite", Key.by_name("checks"), work, actor=JANE)


def _leave_suite(shop: Company) -> None:
    work = partial(remove_case, case_id=shop.ids["fresh"])
    shop.writes.on_entity("testSuite", Key.by_name("checks"), work, actor=JANE)


_CORRECT = partial(patch_result, at_ms=1, operations=[{"op": "replace", "path": "/testCaseStatus", "value": "Failed"}])
_BULK = _work_on("pipeline", _PIPELINE, partial(add_runs, statuses=_RUNS))
_RUN_REPORTED = f"entityUpdated pipeline {_PIPELINE} [pipelineStatus] 0.1"
_PROFILE_REPORTED = f"entityUpdated table {ORDERS} [profile] 0.2"
_RESULT_REPORTED = f"entityUpdated testCase {_CASE} [testCaseResult] 0.1"
_RUN_COMPLETED = f"testSuiteRunCompleted testSuite {ORDERS}.testSuite [summary] 0.1"
_METRIC_REPORTED = f"entityUpdated table {ORDERS} [customMetrics] 0.2"

QUALITY_ROWS: tuple[Row, ...] = (
    Row("runs in bulk", _BULK, (_RUN_REPORTED, _RUN_REPORTED)),
    Row("runs in bulk again", _BULK, (), before=_BULK),
    Row(
        "run taken back", _work_on("pipeline", _PIPELINE, partial(remove_run, at_ms=2)), (_RUN_REPORTED,), before=_BULK
    ),
    Row("test result", _result("Success"), (_RESULT_REPORTED, _RUN_COMPLETED), before=_with_test_case()),
    Row("test result again", _result("Success"), (), before=_with_test_case(_result("Success"))),
    Row(
        "failed test",
        _result("Failed"),
        (f"testCaseFailure testCase {_CASE} [incidentStatus testCaseResult] 0.1", _RUN_COMPLETED),
        before=_with_test_case(),
    ),
    Row(
        "failed again",
        _result("Failed", 2),
        (f"testCaseFailure testCase {_CASE} [testCaseResult] 0.1", _RUN_COMPLETED),
        before=_with_test_case(_result("Failed")),
    ),
    Row(
        "result corrected to a failure",
        _work_on("testCase", _CASE, _CORRECT),
        (f"testCaseFailure testCase {_CASE} [incidentStatus testCaseResult] 0.1",),
        before=_with_test_case(_result("Success")),
    ),
    Row(
        "result taken back",
        _work_on("testCase", _CASE, partial(remove_result, at_ms=1)),
        (_RESULT_REPORTED,),
        before=_with_test_case(_result("Success")),
    ),
    Row(
        "incident acknowledged",
        _take("Ack"),
        (f"entityUpdated testCase {_CASE} [incidentStatus] 0.1",),
        before=_with_test_case(_result("Failed")),
    ),
    Row("incident acknowledged again", _take("Ack"), (), before=_with_test_case(_result("Failed"), _take("Ack"))),
    Row(
        "test joins a suite",
        _join_suite,
        ("logicalTestCaseAdded testSuite checks [tests] 0.1",),
        before=_with_test_case(),
    ),
    Row("test joins a suite again", _join_suite, (), before=_with_test_case(_join_suite)),
    Row(
        "test leaves a suite",
        _leave_suite,
        ("entityUpdated testSuite checks [tests] 0.1",),
        before=_with_test_case(_join_suite),
    ),
    Row("profile", _on_orders(partial(put_profile, request=_PROFILE)), (_PROFILE_REPORTED,)),
    Row(
        "profile again",
        _on_orders(partial(put_profile, request=_PROFILE)),
        (),
        before=_on_orders(partial(put_profile, request=_PROFILE)),
    ),
    Row(
        "profile taken back",
        _on_orders(partial(remove_profile, kind=TABLE_PROFILE, at_ms=1)),
        (_PROFILE_REPORTED,),
        before=_on_orders(partial(put_profile, request=_PROFILE)),
    ),
    Row("sample", _on_orders(partial(put_sample, sample={"columns": ["id"], "rows": [[1]]})), ()),
    Row("joins", _on_orders(partial(put_joins, request={"startDate": "2024-01-15"})), ()),
    Row("profiler configuration", _on_orders(partial(put_config, config={"profileSample": 5.0})), ()),
    Row("pipeline observability", _on_orders(partial(put_entries, request=[{"pipeline": _NAMED}])), ()),
    Row("custom metric", _on_orders(partial(put_metric, metric=_METRIC)), (_METRIC_REPORTED,)),
    Row(
        "custom metric taken away",
        _on_orders(partial(remove_metric, name="rows")),
        (_METRIC_REPORTED,),
        before=_on_orders(partial(put_metric, metric=_METRIC)),
    ),
    Row(
        "data model",
        _on_orders(partial(put_model, model={"modelType": "DBT", "sql": "SELECT 1"})),
        (f"entityUpdated table {ORDERS} [dataModel] 0.2>0.3",),
    ),
    Row(
        "use",
        _on_orders(partial(report_usage, request=_USE, add=False)),
        (f"entityUpdated table {ORDERS} [usageSummary] 0.2",),
    ),
    Row(
        "the same use",
        _on_orders(partial(report_usage, request=_USE, add=False)),
        (),
        before=_on_orders(partial(report_usage, request=_USE, add=False)),
    ),
)
"""All writes outside documents."""
