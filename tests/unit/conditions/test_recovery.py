"""Tests of the condition of "resolved" notifications: what an alert on failures asks of the success after them."""

from __future__ import annotations

import pytest
from tests.unit.flow.match.test_plan import rule, subscription
from tests.unit.flow.match.test_test_results import FAILED, OTHER, PASSED

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.evaluate import holds
from tocsin.conditions.recovery import with_recovery
from tocsin.errors import InvalidInput
from tocsin.flow.match.plan import plan_of
from tocsin.model.change import LoggedEvent
from tocsin.model.subscription import Trigger


def success_after(**facts: int) -> LoggedEvent:
    """Return a success after so many failures."""
    return LoggedEvent(2, PASSED.event, {**PASSED.derived, "streak": 1, "previousStatus": "failed", **facts})


@pytest.mark.parametrize(
    ("condition", "failures"),
    [
        ("firstFailure()", 1),
        ("testStatus == 'Failed'", 1),
        ("matchTestResult({'Failed','Aborted'})", 1),
        ("!(testStatus == 'Success')", 1),
        ("eventType == 'testCaseFailure'", 1),
        ("entity.testCaseResult.testCaseStatus == 'Failed'", 1),
        ("testStatus == 'Failed' && newValue('testCaseResult') != null", 1),
        ("matchStatusTransition('Success','Failed')", 1),
        ("matchStatusInARow('Failed', 3)", 3),
        ("failures >= 2 && testStatus == 'Failed'", 2),
        ("testStatus == 'Failed' && entity.name == 'revenue_threshold_check'", 1),
        ("firstFailure() || tags.contains('PII.Sensitive')", 1),
    ],
)
def test_a_success_after_enough_failures_resolves(condition: str, failures: int) -> None:
    node = with_recovery(parse_and_check(condition))
    assert holds(node, success_after(failuresBefore=failures))
    assert not holds(node, success_after(failuresBefore=failures - 1)), "the alert had said nothing"
    assert holds(node, FAILED) == holds(parse_and_check(condition), FAILED)


@pytest.mark.parametrize(
    "condition",
    [
        "testStatus == 'Failed' && entity.name == 'other'",
        "testStatus == 'Failed' && !(entity.name == 'revenue_threshold_check')",
        "firstFailure() && tags.contains('PII.Sensitive')",
        "!(testStatus == 'Success' || entity.name == 'revenue_threshold_check')",
    ],
)
def test_what_the_alert_asks_of_the_asset_it_asks_of_the_success_as_well(condition: str) -> None:
    assert not holds(with_recovery(parse_and_check(condition)), success_after(failuresBefore=5))


def test_an_alert_without_the_option_is_about_failures_only() -> None:
    plain = subscription([rule("testStatus == 'Failed'")])
    with_option = plain.model_copy(update={"trigger": Trigger(send_resolved=True)})
    nodes = [plan_of(one).node for one in (plain, with_option)]
    assert [holds(node, success_after(failuresBefore=1)) for node in nodes if node] == [False, True]
    assert [holds(node, OTHER) for node in nodes if node] == [True, True]


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("true", "needs a condition on the status"),
        ("tags.contains('PII.Sensitive')", "needs a condition on the status"),
        ("noSuccessFor('6h')", "cannot be combined with noSuccessFor"),
        ("firstFailure() || noSuccessFor('6h')", "cannot be combined with noSuccessFor"),
    ],
)
def test_what_cannot_be_resolved_is_refused(condition: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        with_recovery(parse_and_check(condition))
    assert refused.value.field == "trigger.sendResolved"
