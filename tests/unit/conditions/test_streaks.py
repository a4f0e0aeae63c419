"""Tests of conditions on earlier reports, and of their value without any report."""

from __future__ import annotations

import pytest
from tests.parity.logged import event_at_offset

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.evaluate import holds
from tocsin.conditions.streaks import asks_of_streaks, duration_ms, durations_asked, without_reports
from tocsin.errors import InvalidCondition
from tocsin.logic import ALWAYS
from tocsin.model.change import LoggedEvent

_RUN = {"fieldsUpdated": [{"name": "pipelineStatus", "newValue": {"executionStatus": "Failed", "timestamp": 5}}]}


def failure_with(**facts: object) -> LoggedEvent:
    """Return a failed run after which these facts hold."""
    notified = event_at_offset(1, eventType="entityUpdated", entityType="pipeline", changeDescription=_RUN)
    return LoggedEvent(1, notified.event, {**notified.derived, **facts})


@pytest.mark.parametrize(
    ("condition", "facts"),
    [
        ("matchStatusTransition('Success','Failed')", {"previousStatus": "success"}),
        ("matchStatusTransition('Successful',{'Aborted','failed'})", {"previousStatus": "success"}),
        ("previousStatus == 'Successful'", {"previousStatus": "success"}),
        ("matchStatusInARow('Failed', 3)", {"streak": 3}),
        ("matchStatusInARow({'Failed','Aborted'}, {3, 10})", {"streak": 10}),
        ("matchStatusInARow('Failed', '3')", {"streak": 3}),
        ("firstFailure()", {"failures": 1}),
        ("noSuccessFor('6h')", {"withoutSuccess": 21_600_000, "withoutSuccessBefore": 21_599_999}),
        ("noSuccessFor({'30m','7d'})", {"withoutSuccess": 1_900_000, "withoutSuccessBefore": 0}),
        ("!resolved()", {}),
        ("streak > 2 && failures == null", {"streak": 3}),
    ],
)
def test_what_holds(condition: str, facts: dict[str, object]) -> None:
    assert holds(parse_and_check(condition), failure_with(**facts))


@pytest.mark.parametrize(
    ("condition", "facts"),
    [
        ("matchStatusTransition('Success','Failed')", {}),
        ("matchStatusTransition('Success','Failed')", {"previousStatus": "failed"}),
        ("matchStatusTransition('Failed','Success')", {"previousStatus": "failed"}),
        ("matchStatusInARow('Failed', 3)", {"streak": 4}),
        ("matchStatusInARow('Success', 3)", {"streak": 3}),
        ("firstFailure()", {"failures": 2}),
        ("resolved()", {"failuresBefore": 0}),
        ("noSuccessFor('6h')", {"withoutSuccess": 21_600_000, "withoutSuccessBefore": 21_600_000}),
    ],
)
def test_what_does_not_hold(condition: str, facts: dict[str, object]) -> None:
    assert not holds(parse_and_check(condition), failure_with(**facts))


@pytest.mark.parametrize(
    ("condition", "column", "notified"),
    [
        ("noSuccessFor('6 hours')", 16, "invalid duration"),
        ("noSuccessFor({'6h','0h'})", 22, "invalid duration"),
        ("noSuccessFor(6)", 16, "takes texts"),
        ("olderThan('a week')", 13, "invalid duration"),
        ("matchStatusInARow('Failed', 0)", 31, "not a valid number of times"),
        ("matchStatusInARow('Failed', 1.5)", 31, "not a valid number of times"),
        ("matchStatusInARow('Failed', -1)", 31, "not a valid number of times"),
        ("matchStatusInARow('Failed', '²')", 31, "not a valid number of times"),
        ("matchStatusInARow('Failed', 1e300)", 31, "not a valid number of times"),
        ("matchStatusInARow('Failed', true)", 31, "not a valid number of times"),
        ("matchStatusInARow('Failed')", 3, "statuses and times"),
        ("matchStatusTransition('Success','Running')", 35, "not a verdict"),
        ("matchStatusTransition({'Success','Queued'},'Failed')", 36, "not a verdict"),
        ("matchStatusInARow('queued', 2)", 21, "not a verdict"),
    ],
)
def test_what_can_never_be_meant_is_refused_with_its_place(condition: str, column: int, notified: str) -> None:
    with pytest.raises(InvalidCondition, match=notified) as refusal:
        parse_and_check(f"isBot() ||\n  {condition}")
    assert (refusal.value.line, refusal.value.column) == (2, column)


def test_durations_are_numbers_with_a_unit() -> None:
    assert [duration_ms(one) for one in ("45s", "30m", "6h", "7d")] == [45_000, 1_800_000, 21_600_000, 604_800_000]


def test_it_is_known_which_times_without_success_are_asked_for() -> None:
    node = parse_and_check("noSuccessFor({'6h','7d'}) && isBot() || withoutSuccess >= 1000 || streak > 5")
    assert sorted(durations_asked(node)) == [1_000, 21_600_000, 604_800_000]


@pytest.mark.parametrize(
    ("condition", "between"),
    [
        ("resolved()", "false"),
        ("firstFailure() && tags == 'a'", "false"),
        ("firstFailure() || tags == 'a'", "tags == 'a'"),
        ("!resolved() && tags == 'a'", "tags == 'a'"),
        ("previousStatus == null", "true"),
        ("previousStatus.toLowerCase().startsWith('s') || isBot()", "isBot()"),
        ("tags == 'a'", "tags == 'a'"),
    ],
)
def test_between_reports_nothing_is_known_of_them(condition: str, between: str) -> None:
    assert without_reports(parse_and_check(condition)) == parse_and_check(between)


def test_what_depends_on_earlier_reports_is_distinguished_from_what_does_not() -> None:
    assert asks_of_streaks(parse_and_check("isBot() || streak == null"))
    assert not asks_of_streaks(parse_and_check("testStatus == 'Failed' && reportedAt > 5"))
    assert without_reports(parse_and_check("true")) == ALWAYS
