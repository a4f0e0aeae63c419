"""Tests of completed runs of test suites: which results complete one, and what its event says."""

from __future__ import annotations

from functools import partial
from itertools import permutations
from threading import Barrier, Thread

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, Company, company

from tocsin.catalogue.quality.results import patch_result, remove_result
from tocsin.catalogue.quality.suite_runs import MOST_CAUGHT_UP
from tocsin.catalogue.quality.suites import add_cases, remove_case
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.stored import Key

HOUR_MS = 3_600_000


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    shop = company(store_engine)
    for name in ("first", "second", "third"):
        add_test(shop, name)
    return shop


def add_test(shop: Company, name: str) -> None:
    request = {"name": name, "entityLink": f"<#E::table::{ORDERS}>", "testDefinition": "hasRows"}
    shop.ids[name] = shop.writes.create("testCase", request, actor=JANE).document["id"]


def report(shop: Company, name: str, at: int, status: str = "Success") -> None:
    """Report a result of a test, so many hours after the epoch."""
    result = {"timestamp": at * HOUR_MS, "testCaseStatus": status}
    shop.writes.add_test_result(f"{ORDERS}.{name}", result, actor=JANE)


def report_all(shop: Company, *reports: tuple[str, int]) -> None:
    for name, at in reports:
        report(shop, name, at)


def run_events(shop: Company) -> list[LoggedEvent]:
    return [one for one in shop.log.read(0, 10_000) if one.event.event_type == "testSuiteRunCompleted"]


def runs(shop: Company) -> list[tuple[str, int, str]]:
    """Return the suite, the end and the status of each completed run, in the order of the log."""
    summaries = ((one.event.entity_fully_qualified_name or "", summary_of(one)) for one in run_events(shop))
    return [(fqn.rpartition(".")[2], one["timestamp"] // HOUR_MS, one["status"]) for fqn, one in summaries]


def summary_of(logged: LoggedEvent) -> Document:
    described = logged.event.change_description
    assert described is not None
    (change,) = (*described.fields_added, *described.fields_updated)
    assert change.name == "summary"
    summary: Document = change.new_value
    return summary


def delete(shop: Company, name: str, *, hard: bool = False) -> None:
    shop.writes.delete("testCase", Key.by_id(shop.ids[name]), actor=JANE, hard=hard)


def make_suite(shop: Company, *cases: str, name: str = "nightly") -> None:
    shop.ids[name] = shop.writes.create("testSuite", {"name": name}, actor=JANE).document["id"]
    work = partial(add_cases, case_ids=[shop.ids[one] for one in cases])
    shop.writes.on_entity("testSuite", Key.by_name(name), work, actor=JANE)


def test_a_run_is_complete_when_each_test_has_reported_and_its_event_says_what(shop: Company) -> None:
    report(shop, "first", 1)
    report(shop, "second", 2, "Failed")
    assert runs(shop) == []
    report(shop, "third", 3, "Aborted")
    (logged_event,) = run_events(shop)
    event, summary = logged_event.event, summary_of(logged_event)
    assert (event.entity_type, event.entity_fully_qualified_name) == ("testSuite", f"{ORDERS}.testSuite")
    assert event.previous_version == event.current_version
    counts = {key: summary[key] for key in ("success", "failed", "aborted", "queued", "total")}
    assert counts == {"success": 1, "failed": 1, "aborted": 1, "queued": 0, "total": 3}
    assert (summary["status"], summary["timestamp"]) == ("Failed", 3 * HOUR_MS)
    results = [(one["testCaseName"], one["status"], one["timestamp"]) for one in summary["testCaseResultSummary"]]
    assert results == [
        (f"{ORDERS}.first", "Success", HOUR_MS),
        (f"{ORDERS}.second", "Failed", 2 * HOUR_MS),
        (f"{ORDERS}.third", "Aborted", 3 * HOUR_MS),
    ]
    first = summary["testCaseResultSummary"][0]
    assert (first["testCase"]["id"], first["table"]["fullyQualifiedName"]) == (shop.ids["first"], ORDERS)
    assert (logged_event.derived["testStatus"], logged_event.derived["reportedAt"]) == ("Failed", 3 * HOUR_MS)


def test_a_run_says_since_when_a_test_fails(shop: Company) -> None:
    for name, statuses in (("first", "SFFAF"), ("second", "FSSSF"), ("third", "FFQSS")):
        for at, status in enumerate(statuses, 1):
            report(shop, name, at, {"S": "Success", "F": "Failed", "A": "Aborted", "Q": "Queued"}[status])
    last = summary_of(run_events(shop)[-1])
    since = {one["testCase"]["name"]: one.get("failingSince") for one in last["testCaseResultSummary"]}
    assert since == {"first": 2 * HOUR_MS, "second": 5 * HOUR_MS, "third": None}


@pytest.mark.parametrize("order", list(permutations(["first", "second", "third"])))
@pytest.mark.soak_on_postgresql
def test_results_may_come_in_any_order(shop: Company, order: tuple[str, ...]) -> None:
    times = {"first": 1, "second": 2, "third": 3}
    report_all(shop, *((name, times[name]) for name in order))
    assert runs(shop) == [("testSuite", 3, "Success")]


def test_each_run_has_the_newest_result_of_each_test_and_the_next_begins_after_it(shop: Company) -> None:
    report_all(shop, ("first", 1), ("first", 2), ("second", 3), ("third", 4))
    report_all(shop, ("third", 5), ("second", 6), ("third", 7), ("first", 8))
    assert [end for _, end, _ in runs(shop)] == [4, 8]
    last = run_events(shop)[-1]
    assert [one["timestamp"] // HOUR_MS for one in summary_of(last)["testCaseResultSummary"]] == [8, 6, 7]
    described = last.event.change_description
    assert described is not None
    assert described.fields_updated[0].old_value == {"timestamp": 4 * HOUR_MS, "status": "Success"}


def test_repeats_corrections_and_removals_complete_nothing(shop: Company) -> None:
    report_all(shop, ("first", 1), ("second", 2), ("third", 3))
    report(shop, "third", 3)
    report(shop, "third", 3, "Failed")
    report(shop, "second", 1)
    correction = [{"op": "replace", "path": "/testCaseStatus", "value": "Failed"}]
    for work in (
        partial(patch_result, at_ms=2 * HOUR_MS, operations=correction),
        partial(remove_result, at_ms=2 * HOUR_MS),
    ):
        shop.writes.on_entity("testCase", Key.by_name(f"{ORDERS}.second"), work, actor=JANE)
    assert runs(shop) == [("testSuite", 3, "Success")]


def test_a_queued_result_counts_when_it_has_become_another(shop: Company) -> None:
    report_all(shop, ("first", 1), ("second", 2))
    report(shop, "third", 3, "Queued")
    assert runs(shop) == []
    report(shop, "third", 3, "Failed")
    assert runs(shop) == [("testSuite", 3, "Failed")]


def test_a_result_completes_runs_of_all_suites_of_its_test(shop: Company) -> None:
    make_suite(shop, "first", "second")
    report_all(shop, ("second", 1), ("third", 2), ("first", 3))
    assert sorted(runs(shop)) == [("nightly", 3, "Success"), ("testSuite", 3, "Success")]


def test_a_test_that_is_deleted_is_waited_for_no_longer(shop: Company) -> None:
    report_all(shop, ("first", 1), ("second", 2))
    delete(shop, "third")
    assert runs(shop) == []
    report_all(shop, ("first", 3), ("second", 4))
    assert runs(shop) == [("testSuite", 4, "Success")]


@pytest.mark.parametrize("hard", [True, False])
def test_runs_that_a_silent_test_kept_from_being_complete_are_not_told_later(shop: Company, *, hard: bool) -> None:
    for hour in range(1, 7, 2):
        report_all(shop, ("first", hour), ("second", hour + 1))
    delete(shop, "third", hard=hard)
    report_all(shop, ("first", 7), ("second", 8))
    assert runs(shop) == [("testSuite", 8, "Success")]


def test_a_restored_test_is_waited_for_again(shop: Company) -> None:
    delete(shop, "third")
    report_all(shop, ("first", 1), ("second", 2))
    shop.writes.restore("testCase", shop.ids["third"], actor=JANE)
    report_all(shop, ("first", 3), ("second", 4))
    assert runs(shop) == [("testSuite", 2, "Success")]
    report(shop, "third", 5)
    assert runs(shop) == [("testSuite", 2, "Success"), ("testSuite", 5, "Success")]


@pytest.mark.soak_on_postgresql
def test_a_suite_of_tests_with_a_past_starts_with_their_next_results(shop: Company) -> None:
    for hour in range(1, 2 * MOST_CAUGHT_UP + 4, 2):
        report_all(shop, ("first", hour), ("second", hour + 1))
    make_suite(shop, "first", "second")
    last = 2 * MOST_CAUGHT_UP + 10
    report(shop, "first", last)
    assert runs(shop) == []
    report(shop, "second", last + 1)
    assert runs(shop) == [("nightly", last + 1, "Success")]


def test_a_suite_that_is_deleted_completes_no_run(shop: Company) -> None:
    make_suite(shop, "first")
    shop.writes.delete("testSuite", Key.by_name("nightly"), actor=JANE)
    report(shop, "first", 1)
    assert runs(shop) == []
    shop.writes.delete("testSuite", Key.by_name("nightly"), actor=JANE, hard=True)
    report(shop, "first", 2)
    assert runs(shop) == []


def test_a_test_that_leaves_a_suite_is_waited_for_no_longer(shop: Company) -> None:
    make_suite(shop, "first", "second")
    work = partial(remove_case, case_id=shop.ids["second"])
    shop.writes.on_entity("testSuite", Key.by_name("nightly"), work, actor=JANE)
    report(shop, "first", 1)
    assert runs(shop) == [("nightly", 1, "Success")]


@pytest.mark.parametrize("hours_ahead", [3, 48])
def test_a_result_ahead_of_the_clock_is_part_of_no_run_and_holds_back_none(shop: Company, hours_ahead: int) -> None:
    ahead = shop.clock.now_ms() // HOUR_MS + 1 + hours_ahead
    report_all(shop, ("second", 1), ("third", 2), ("first", ahead))
    assert runs(shop) == []
    report(shop, "first", 3)
    report_all(shop, ("first", 4), ("second", 5), ("third", 6))
    assert runs(shop) == [("testSuite", 3, "Success"), ("testSuite", 6, "Success")]


def test_a_result_ahead_of_the_clock_ends_no_run_that_a_deletion_made_complete(shop: Company) -> None:
    report_all(shop, ("first", 1), ("second", 2))
    delete(shop, "third")
    report(shop, "first", shop.clock.now_ms() // HOUR_MS + 3)
    assert runs(shop) == []
    report(shop, "second", 2, "Failed")
    assert runs(shop) == [("testSuite", 2, "Failed")]


def test_of_two_last_results_at_the_same_time_one_completes_the_run(shop: Company) -> None:
    make_suite(shop, "second", "third")
    together = Barrier(2)

    def report_at(name: str, hour: int) -> None:
        together.wait()
        report(shop, name, hour)

    for day in range(0, 100, 10):
        report(shop, "first", day + 1)
        threads = [Thread(target=report_at, args=(name, day + hour)) for name, hour in (("second", 2), ("third", 3))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    expected_runs = [(suite, day + 3, "Success") for day in range(0, 100, 10) for suite in ("nightly", "testSuite")]
    assert sorted(runs(shop)) == sorted(expected_runs)
