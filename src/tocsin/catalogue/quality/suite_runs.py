"""Completed runs of test suites: one event of the suite for each, with the newest result of every test.

A run ends at the earliest time at which every live test of the suite has a result, not ``Queued``, that is newer than
the last run's end. Results come in any order; the one without which the run was incomplete writes the event, in its
transaction. Next: ``store/catalogue/quality/suite_runs.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice

from tocsin.clock import FUTURE_MS
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.write import Record
from tocsin.model.change import SUITE_SUMMARY, EventType, describe
from tocsin.model.entity import Document
from tocsin.model.report import SuiteResult, SuiteRun
from tocsin.model.stored import Key, Stored

MOST_CAUGHT_UP = 100
"""Runs that one result may complete: more of them are history, and the suite starts anew with that result."""

_STATUS_KEYS = {"Failed": "failed", "Aborted": "aborted", "Success": "success"}
"""What results say, the worst first, and what the summary of a suite calls it."""


def complete_runs(record: Record, case: Stored, at_ms: int) -> None:
    """Write an event for each suite of which the result of a test at ``at_ms`` completes a run.

    One dated ahead, by a clock that is wrong, is part of no run. Must come last in its transaction: other results of
    the same suites wait for the transaction's end.
    """
    if record.is_ahead(at_ms):
        return
    for run in record.transaction.suite_runs.hold(case.id):
        _complete(record, run, at_ms)


def _complete(record: Record, last: SuiteRun, at_ms: int) -> None:
    """Tell of the newest run that is complete, if it includes the result at ``at_ms``.

    Several are complete only if a test went that had no results, or the suite has none of its runs stored yet. All but
    the newest are over; one without the result that is being written is over, too.
    """
    runs = record.transaction.suite_runs
    ends = list(islice(_ends(record, last), MOST_CAUGHT_UP + 1))
    if len(ends) > MOST_CAUGHT_UP:
        newest_ms = runs.newest_before(last.suite_id, at_ms)
        runs.end(SuiteRun(last.suite_id, max(newest_ms, last.ended_at_ms)))
    elif ends and ends[-1] < at_ms:
        runs.end(SuiteRun(last.suite_id, ends[-1]))
    elif ends:
        results = runs.results(last.suite_id, ends[-1])
        run = SuiteRun(last.suite_id, ends[-1], _status_of({one.status for one in results}))
        runs.end(run)
        _append_event(record, last, run, results)


def _ends(record: Record, last: SuiteRun) -> Iterator[int]:
    """Yield when each complete run after the ``last`` one ended, in order."""
    end_ms: int | None = last.ended_at_ms
    before_ms = record.at_ms + FUTURE_MS + 1
    while end_ms is not None:
        end_ms = record.transaction.suite_runs.next_end(last.suite_id, after_ms=end_ms, before_ms=before_ms)
        if end_ms is not None:
            yield end_ms


def _append_event(record: Record, before: SuiteRun, run: SuiteRun, results: list[SuiteResult]) -> None:
    suite = record.transaction.find("testSuite", Key.by_id(run.suite_id), Hold.SHARED)
    assert suite is not None, "a suite whose run is held exists"  # noqa: S101
    summary = _summary(run, results)
    old = {"timestamp": before.ended_at_ms, "status": before.status} if before.status else None
    record.note(suite, describe(SUITE_SUMMARY, old=old, new=summary), event_type=EventType.TEST_SUITE_RUN_COMPLETED)


def _summary(run: SuiteRun, results: list[SuiteResult]) -> Document:
    """Return upstream's ``testSummary`` of a run, with its end, its status, and its results."""
    counts = Counter(one.status for one in results)
    return {
        "timestamp": run.ended_at_ms,
        "status": run.status,
        **{key: counts[status] for status, key in _STATUS_KEYS.items()},
        "queued": 0,
        "total": len(results),
        "testCaseResultSummary": [_result(one) for one in results],
    }


def _result(result: SuiteResult) -> Document:
    """Return upstream's ``resultSummary``, with references to the test and its table, and since when it fails."""
    table = {} if result.table is None else {"table": result.table}
    since = {} if result.failing_since_ms is None else {"failingSince": result.failing_since_ms}
    return {
        "testCaseName": result.test_case["fullyQualifiedName"],
        "status": result.status,
        "timestamp": result.at_ms,
        "testCase": result.test_case,
        **table,
        **since,
    }


def _status_of(statuses: Collection[str]) -> str:
    """Return the status of a run: the worst of its results."""
    return next(one for one in _STATUS_KEYS if one in statuses)
