"""Tests of alerts about tables whose conditions ask for test results."""

from __future__ import annotations

import pytest
from tests.unit.flow.match.test_plan import rule, subscription

from tocsin.conditions.fields import derive
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.remarks import of_alert
from tocsin.model.change import ChangeEvent, LoggedEvent

FQN = "pg.store.public.orders"
LINK = f"<#E::table::{FQN}>"
SEED = "testCase.testCaseResult.testCaseStatus == 'Failed' && testCase.name == 'revenue_threshold_check'"


def event(entity_type: str, change: str, value: object, **entity: object) -> LoggedEvent:
    change_description = {"fieldsUpdated": [{"name": change, "newValue": value}]}
    document = {"name": FQN.rpartition(".")[2], **entity}
    event = ChangeEvent.model_validate(
        {
            "id": "1",
            "eventType": "entityUpdated",
            "entityType": entity_type,
            "entityId": "2",
            "entityFullyQualifiedName": FQN if entity_type == "table" else f"{FQN}.{document['name']}",
            "timestamp": 1000,
            "changeDescription": change_description,
            "entity": document,
        }
    )
    return LoggedEvent(1, event, derive(event, actor_is_bot=False))


def result(status: str, name: str = "revenue_threshold_check") -> LoggedEvent:
    reported = {"testCaseStatus": status, "timestamp": 1000}
    suites = [{"type": "testSuite", "fullyQualifiedName": "nightly"}]
    stored = {"name": name, "testCaseResult": reported, "entityLink": LINK, "testSuites": suites}
    return event("testCase", "testCaseResult", reported, **stored)


FAILED, PASSED, OTHER = result("Failed"), result("Success"), result("Failed", "other")
RESULT = {"testCaseStatus": "Failed", "timestamp": 900}
REWORDED = event("testCase", "description", "x", name="revenue_threshold_check", entityLink=LINK, testCaseResult=RESULT)
RENAMED = event("testCase", "displayName", "x", name="revenue_threshold_check", tags=[{"tagFQN": "PII.Sensitive"}])
COLUMNS = event("table", "columns", [], tags=[{"tagFQN": "PII.Sensitive"}])
RUN = event("pipeline", "pipelineStatus", {"executionStatus": "Failed", "timestamp": 1000})
EVENTS = {
    **{"failed": FAILED, "passed": PASSED, "other": OTHER, "renamed": RENAMED, "reworded": REWORDED},
    **{"columns": COLUMNS, "run": RUN},
}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (SEED, {"failed"}),
        ("testStatus == 'Failed'", {"failed", "other"}),
        ("matchTestResult({'Failed','Success'})", {"failed", "other", "passed"}),
        ("entity.testCaseResult.testCaseStatus == 'Success'", {"passed"}),
        ("oldValue('testCaseResult') != null || newValue('testCaseResult') != null", {"failed", "other", "passed"}),
        ("fieldChanged == 'testCaseResult'", {"failed", "other", "passed"}),
        ("testStatus == 'Failed' || fieldChanged == 'columns'", {"failed", "other", "columns"}),
        ("testStatus == 'Failed' && matchAnyEntityFqn('pg.store.public')", {"failed", "other"}),
        ("testStatus == 'Failed' && matchAnyEntityFqn('pg.store.hidden')", set()),
        ("filterByTableNameTestCaseBelongsTo('orders') && testStatus == 'Failed'", {"failed", "other"}),
        ("matchAnySchema('public') && testStatus == 'Failed'", {"failed", "other"}),
        ("matchAnySchema('public') || testStatus == 'Failed'", {"failed", "other", "columns"}),
        ("tags == 'PII.Sensitive' || eventType in {'entityUpdated','testCaseFailure'}", {"columns"}),
        ("firstFailure() || entityType == 'testCase'", set()),
        ("tags == 'PII.Sensitive'", {"columns"}),
        ("testStatus != 'Success'", {"columns"}),
        ("!(testStatus == 'Success' || isBot())", {"columns"}),
        ("tags == 'PII.Sensitive' || testStatus == 'Success'", {"columns", "passed"}),
        ("pipelineStatus == 'Failed'", set()),
    ],
)
def test_the_results_of_their_tests_match_and_nothing_else_of_tests(condition: str, expected: set[str]) -> None:
    plan = plan_of(subscription([rule(condition)]))
    assert {name for name, logged in EVENTS.items() if matches(plan, logged)} == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("matchAnySchema('public')", {"columns"}),
        ("matchAnySchema('pg.store.public') && isBot == false", {"columns"}),
        ("matchAnyDatabase('store')", {"columns"}),
        ("matchAnyEntityFqn({'pg.store','nightly'})", {"columns"}),
        ("matchAnyEntityFqn('nightly')", set()),
        ("testSuites == 'nightly'", set()),
        (f"testedEntityFqn == '{FQN}'", set()),
        (f"testedEntityFqn != '{FQN}'", {"columns"}),
        ("testedEntityFqn.startsWith('pg.') || fieldChanged == 'columns'", {"columns"}),
        ("filterByTableNameTestCaseBelongsTo('orders')", set()),
        ("entityType == 'testCase'", set()),
        ("entityType in {'table','testCase'}", {"columns"}),
        ("testCase.name == 'revenue_threshold_check'", set()),
        ("testCase != null", set()),
        ("testSuites.size() == 0", {"columns"}),
    ],
)
def test_a_place_or_a_kind_of_entity_is_no_result(condition: str, expected: set[str]) -> None:
    plan = plan_of(subscription([rule(condition)]))
    assert {name for name, logged in EVENTS.items() if matches(plan, logged)} == expected


def test_what_excludes_results_makes_no_alert_about_tests() -> None:
    plan = plan_of(subscription([rule("testStatus == 'Success'", effect="exclude")]))
    assert {name for name, logged in EVENTS.items() if matches(plan, logged)} == {"columns"}


def test_alerts_about_other_things_too_keep_what_these_report() -> None:
    filtering = {"resources": ["table", "pipeline"], "rules": [rule("testStatus == 'Failed' || reportedAt > 1")]}
    plan = plan_of(subscription(filteringRules=filtering))
    assert {name for name, logged in EVENTS.items() if matches(plan, logged)} == {"failed", "other", "passed", "run"}


def test_an_alert_that_names_tests_asks_for_nothing_more() -> None:
    filtering = {"resources": ["table", "testCase"], "rules": [rule("tags == 'PII.Sensitive'")]}
    plan = plan_of(subscription(filteringRules=filtering))
    assert {name for name, logged in EVENTS.items() if matches(plan, logged)} == {"columns", "renamed"}
    assert plan.resources == ("table", "testCase")


def test_the_seeds_condition_needs_no_remark() -> None:
    alert = subscription([rule(SEED)])
    kinds = {one.kind for one in of_alert(alert, plan_of(alert))}
    assert kinds == {"noDestinations"}


@pytest.mark.parametrize("condition", ["filterByTableNameTestCaseBelongsTo('orders')", "entityType == 'testCase'"])
def test_what_only_tests_have_is_outside_of_tables(condition: str) -> None:
    alert = subscription([rule(condition)])
    kinds = {one.kind for one in of_alert(alert, plan_of(alert))}
    assert kinds == {"noDestinations", "outsideResources"}
