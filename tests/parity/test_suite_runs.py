"""Tests of completed runs of test suites on both engines: only alerts that name them match."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from tests.parity.engines import pairs_from_spark
from tests.parity.logged import event_at_offset

from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.subscription import EventSubscription

pytestmark = pytest.mark.spark

RUN, ACTION, OF_TESTS = "testSuiteRunCompleted", "GetTestSuiteStatusUpdates", "GetTestCaseStatusUpdates"


def _run(offset: int, status: str) -> LoggedEvent:
    summary = {"timestamp": 1_700_000_000_000, "status": status, "failed": 2, "total": 3}
    change = {"fieldsAdded": [{"name": "summary", "newValue": summary}]}
    return event_at_offset(offset, eventType=RUN, entityType="testSuite", changeDescription=change)


def _result(offset: int, status: str) -> LoggedEvent:
    result = {"timestamp": 1_700_000_000_000, "testCaseStatus": status}
    change = {"fieldsAdded": [{"name": "testCaseResult", "newValue": result}]}
    return event_at_offset(offset, eventType="entityUpdated", entityType="testCase", changeDescription=change)


EVENTS = [
    _run(1, "Failed"),
    _run(2, "Success"),
    _result(3, "Failed"),
    _result(4, "Success"),
    event_at_offset(5, eventType="entityUpdated", entityType="testSuite"),
]
FAILED = "matchTestResult({'Failed'})"
CASES: list[tuple[tuple[str, ...], Document, set[int]]] = [
    (("all",), {}, {3, 4, 5}),
    (("testSuite",), {}, {5}),
    (("testSuite",), {"rules": [FAILED]}, set()),
    (("all",), {"rules": [FAILED]}, {3}),
    (("testSuite",), {"actions": [(ACTION, FAILED)]}, {1}),
    (("testSuite",), {"actions": [(ACTION, "matchTestResult({'success','Aborted'})")]}, {2}),
    (("testSuite",), {"rules": [f"eventType == '{RUN}'"]}, {1, 2}),
    (("all",), {"rules": [f"matchAnyEventType({{'{RUN}'}})", FAILED]}, {1}),
    (("testCase", "testSuite"), {"actions": [(OF_TESTS, FAILED), (ACTION, FAILED)]}, {1, 3}),
    (("testCase", "testSuite"), {"actions": [(OF_TESTS, FAILED)]}, {3}),
    (("table", "testSuite"), {"actions": [(ACTION, FAILED)]}, {1, 3}),
    (("table", "testSuite"), {"rules": [f"eventType == '{RUN}' || testStatus == 'Success'"]}, {1, 2, 4}),
    (("testSuite",), {"rules": ["newValue('summary').failed > 1"], "actions": [(ACTION, FAILED)]}, {1}),
]


def _plan(number: int, resources: tuple[str, ...], rules: Document) -> Plan:
    filtering = {
        "resources": list(resources),
        "rules": [{"name": "r", "condition": one} for one in rules.get("rules", ())],
        "actions": [{"name": name, "condition": one} for name, one in rules.get("actions", ())],
    }
    wire = {"id": str(number), "name": "a", "fullyQualifiedName": "a", "alertType": "Observability"}
    return plan_of(EventSubscription.model_validate({**wire, "filteringRules": filtering}))


def test_runs_of_suites_match_by_name_only_on_both_engines(spark: SparkSession) -> None:
    plans = [_plan(number, *case[:2]) for number, case in enumerate(CASES)]
    expected = {(number, offset) for number, case in enumerate(CASES) for offset in case[2]}
    assert {(n, one.offset) for n, plan in enumerate(plans) for one in EVENTS if matches(plan, one)} == expected
    assert set(pairs_from_spark(spark, plans, EVENTS)) == expected
