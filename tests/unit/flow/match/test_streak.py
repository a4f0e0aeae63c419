"""Tests of streaks: examples, and a second, slower implementation of the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.parity.logged import event_at_offset

from tocsin.clock import FUTURE_MS
from tocsin.flow.match.streak import Facts, StatusReport, advance, report_of, streak_of_reports, with_facts
from tocsin.model.change import SILENCE, LoggedEvent
from tocsin.model.status import is_failure, one_word, verdict_of

HOUR_MS = 3_600_000

_STATUSES = ["Success", "Successful", "Failed", "failed", "Aborted", "Queued", "running", "Skipped", "partialSuccess"]
reports = st.lists(st.builds(StatusReport, st.sampled_from([*_STATUSES, None]), st.integers(1, 12)), max_size=14)


def facts_of(notified: Sequence[StatusReport]) -> list[Facts]:
    """Fold ``notified`` and return the facts of each."""
    streak, all_facts = None, []
    for report in notified:
        streak, facts = advance(streak, report)
        all_facts.append(facts)
    return all_facts


def one_by_one(*statuses: str) -> list[Facts]:
    return facts_of([StatusReport(status, HOUR_MS * at) for at, status in enumerate(statuses, start=1)])


def test_a_first_report_has_nothing_before_it() -> None:
    assert one_by_one("Failed") == [{"streak": 1, "failures": 1, "withoutSuccess": 0, "withoutSuccessBefore": 0}]


def test_failures_are_counted_until_a_success_ends_them() -> None:
    notified = one_by_one("Success", "Failed", "Aborted", "Aborted", "Successful", "Success")
    assert [one.get("failures") for one in notified] == [None, 1, 2, 3, None, None]
    assert [one["streak"] for one in notified] == [1, 1, 1, 2, 1, 2]
    assert [one.get("failuresBefore") for one in notified] == [0, None, None, None, 3, 0]
    assert [one.get("previousStatus") for one in notified] == [
        None,
        "success",
        "failed",
        "aborted",
        "aborted",
        "success",
    ]


def test_what_is_under_way_changes_nothing() -> None:
    notified = one_by_one("Success", "Running", "Queued", "Failed")
    assert notified[1:3] == [{}, {}]
    assert notified[3]["previousStatus"] == "success"


def test_what_was_skipped_ends_a_row_but_no_run_of_failures() -> None:
    notified = one_by_one("Failed", "Skipped", "Failed")
    assert [one.get("failures") for one in notified] == [1, None, 2]
    assert [one["streak"] for one in notified] == [1, 1, 1]


def test_an_earlier_moment_is_history_and_the_same_report_again_is_no_second_one() -> None:
    facts = facts_of(
        [
            StatusReport("Success", 10),
            StatusReport("Failed", 20),
            StatusReport("Success", 15),
            StatusReport("failed", 20),
        ]
    )
    assert facts[2:] == [{}, {}]
    after = facts_of(
        [
            StatusReport("Success", 10),
            StatusReport("Failed", 20),
            StatusReport("Success", 15),
            StatusReport("Failed", 30),
        ]
    )
    assert (after[3]["failures"], after[3]["streak"]) == (2, 2)
    assert after[3]["withoutSuccess"] == 15, "a success that was notified late was one all the same"


def test_a_correction_of_the_newest_report_counts() -> None:
    notified = facts_of([StatusReport("Failed", 10), StatusReport("Success", 10)])
    assert notified[1] == {"previousStatus": "failed", "streak": 1, "failuresBefore": 1}


def test_a_silence_is_a_look_without_news() -> None:
    notified = facts_of(
        [StatusReport("Success", 10), StatusReport(None, 16), StatusReport("Failed", 18), StatusReport(None, 20)]
    )
    assert notified[1] == {"withoutSuccess": 6, "withoutSuccessBefore": 0}
    assert notified[2] == {"previousStatus": "success", "streak": 1, "failures": 1} | {
        "withoutSuccess": 8,
        "withoutSuccessBefore": 6,
    }
    assert notified[3] == {"withoutSuccess": 10, "withoutSuccessBefore": 8}


@given(reports)
def test_facts_are_what_a_look_back_over_all_reports_finds(notified: list[StatusReport]) -> None:
    assert facts_of(notified) == [_facts_from_all(notified[: at + 1]) for at in range(len(notified))]


@given(reports, st.integers(1, 11))
def test_a_time_without_success_is_crossed_once_until_the_next_success(
    notified: list[StatusReport], limit: int
) -> None:
    crossed = 0
    for report, facts in zip(notified, facts_of(notified), strict=True):
        if "failuresBefore" in facts:
            crossed = 0
        elif one_word(report.status or "") == "success":
            return  # a success reported late moves the start, so the same duration may be exceeded again later
        elif "withoutSuccess" in facts:
            crossed += int(facts["withoutSuccessBefore"]) < limit <= int(facts["withoutSuccess"])
        assert crossed <= 1


@given(reports, st.integers(0, 14))
def test_folding_in_two_parts_is_folding_at_once(notified: list[StatusReport], cut: int) -> None:
    streak = streak_of_reports(notified[:cut])
    for report in notified[cut:]:
        streak, _ = advance(streak, report)
    assert streak == streak_of_reports(notified)


def _event(**keys: Any) -> LoggedEvent:
    return event_at_offset(7, eventType="entityUpdated", entityType="pipeline", **keys)


def test_a_report_says_of_which_moment_it_is_and_that_is_never_later_than_it_was_heard() -> None:
    run = {"executionStatus": "Failed", "timestamp": 1_000}
    notified = _event(changeDescription={"fieldsUpdated": [{"name": "pipelineStatus", "newValue": run}]})
    assert report_of(notified) == StatusReport("Failed", 1_000)
    heard_ms = notified.event.timestamp
    for ahead_ms, is_ahead in ((1, False), (FUTURE_MS, False), (FUTURE_MS + 1, True)):
        later = {"fieldsUpdated": [{"name": "pipelineStatus", "newValue": run | {"timestamp": heard_ms + ahead_ms}}]}
        assert report_of(_event(changeDescription=later)) == StatusReport("Failed", heard_ms, is_ahead=is_ahead)
    unsaid = {"fieldsAdded": [{"name": "pipelineStatus", "newValue": {"executionStatus": "Failed"}}]}
    assert report_of(_event(changeDescription=unsaid)) == StatusReport("Failed", notified.event.timestamp)
    assert report_of(_event(changeDescription={"fieldsAdded": [{"name": "tags"}]})) is None


def test_a_report_ahead_of_the_clock_counts_in_no_streak() -> None:
    ahead = [StatusReport(status, HOUR_MS * 2, is_ahead=True) for status in ("Failed", "Success")]
    failures = [StatusReport("Failed", HOUR_MS * at) for at in (1, 3)]
    first, *between, last = facts_of([failures[0], *ahead, failures[1]])
    assert between == [{}, {}]
    assert [first, last] == facts_of(failures)


def test_a_silence_is_a_report_without_a_status() -> None:
    change = {"fieldsAdded": [{"name": SILENCE, "newValue": {"timestamp": 5_000, "since": 1_000}}]}
    assert report_of(_event(changeDescription=change)) == StatusReport(None, 5_000)


def test_an_event_gets_the_facts_of_those_before_it_and_one_that_is_no_report_none() -> None:
    run = {"executionStatus": "Failed", "timestamp": 1_000}
    notified = _event(changeDescription={"fieldsUpdated": [{"name": "pipelineStatus", "newValue": run}]})
    event = with_facts(notified, [StatusReport("Success", 400), StatusReport("Failed", 600)])
    assert {key: event.derived[key] for key in ("streak", "failures", "withoutSuccess")} == {
        "streak": 2,
        "failures": 2,
        "withoutSuccess": 600,
    }
    plain = _event(changeDescription={"fieldsAdded": [{"name": "tags"}]})
    assert with_facts(plain, [StatusReport("Success", 400)]) is plain


@pytest.mark.parametrize(
    ("status", "verdict", "failed"),
    [("Successful", "success", False), ("Aborted", "aborted", True), ("stopped", "stopped", False)],
)
def test_verdicts(status: str, verdict: str, failed: bool) -> None:
    assert verdict_of(status) == verdict
    assert is_failure(verdict) is failed


def _facts_from_all(notified: Sequence[StatusReport]) -> Facts:
    """Return the facts of the last of ``notified`` by the rules, recomputed from all of them."""
    counted_reports: list[StatusReport] = []
    for report in notified:
        verdict = verdict_of(report.status) if report.status else None
        newest = counted_reports[-1] if counted_reports else None
        is_history = newest is not None and report.at_ms < newest.at_ms
        is_same = newest is not None and (report.at_ms, verdict) == (newest.at_ms, newest.status)
        is_counted = verdict is not None and not is_history and not is_same
        if is_counted:
            counted_reports.append(StatusReport(verdict, report.at_ms))
    last = notified[-1]
    if last.status is not None and not is_counted:
        return {}
    facts: dict[str, str | int] = {}
    if last.status is not None:
        facts = _of_verdict(counted_reports)
        if counted_reports[-1].status == "success":
            return facts
    return facts | _lapse(notified)


def _of_verdict(counted: Sequence[StatusReport]) -> dict[str, str | int]:
    verdict, before = str(counted[-1].status), [str(one.status) for one in counted[:-1]]
    facts: dict[str, str | int] = {"streak": 1}
    for status in reversed(before):
        if status != verdict:
            break
        facts["streak"] = int(facts["streak"]) + 1
    if before:
        facts["previousStatus"] = before[-1]
    since_success = before[len(before) - before[::-1].index("success") :] if "success" in before else before
    failures = sum(map(is_failure, since_success))
    if verdict == "success":
        facts["failuresBefore"] = failures
    elif is_failure(verdict):
        facts["failures"] = failures + 1
    return facts


def _lapse(notified: Sequence[StatusReport]) -> dict[str, str | int]:
    """Return the time without a success; successes count by their timestamps, in whatever order they were reported."""
    since, longest, before = notified[0].at_ms, 0, 0
    for at, report in enumerate(notified):
        verdict = verdict_of(report.status) if report.status else None
        facts_possible = report.status is None or (verdict not in (None, "success") and _counts(notified[: at + 1]))
        if verdict == "success":
            is_new = _counts(notified[: at + 1])
            shift_ms = report.at_ms - since
            if is_new:
                since, longest = report.at_ms, 0
            elif shift_ms > 0:
                since, longest = report.at_ms, max(0, longest - shift_ms)
        elif facts_possible:
            before, longest = longest, max(longest, max(0, report.at_ms - since))
    return {"withoutSuccess": max(0, notified[-1].at_ms - since), "withoutSuccessBefore": before}


def _counts(notified: Sequence[StatusReport]) -> bool:
    """Return whether the last of ``notified`` is a verdict that makes a transition."""
    newest: tuple[int, str] | None = None
    counted = False
    for report in notified:
        verdict = verdict_of(report.status) if report.status else None
        counted = verdict is not None and (
            newest is None or (report.at_ms >= newest[0] and (report.at_ms, verdict) != newest)
        )
        if counted:
            newest = (report.at_ms, str(verdict))
    return counted
