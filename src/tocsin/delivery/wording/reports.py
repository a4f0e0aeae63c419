"""Text of reports for recipients: test results, runs, incidents, refused accesses and failing destinations.

``test failed``, with the result before and after in words; ``ann was refused EditTags on table acme.shop.orders``;
a destination that fails.
Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from time import gmtime, strftime
from typing import Any

from tocsin.clock import LATEST_MS
from tocsin.delivery.dispatch import FailureContext
from tocsin.delivery.lines import CAPITAL, MINUTE, SHOWN_LIMIT, ChangeLine, clean_line, in_words
from tocsin.model import fqn
from tocsin.model.change import ALERT_INCIDENT, DESTINATION, LAG, SUITE_SUMMARY, VIOLATION, ChangeEvent
from tocsin.model.phrases import count_text
from tocsin.model.status import is_failure, is_status_recovery

RESULT, RUN, INCIDENT = "testCaseResult", "pipelineStatus", "incidentStatus"
HEADS = frozenset({RESULT, RUN})
"""Fields whose report heads a message: the other changes of its event follow from it."""

_COUNTS = {"failed": "failed", "aborted": "aborted", "success": "passed"}
_STEPS = {"New": "incident opened", "Ack": "incident acknowledged", "Resolved": "incident resolved"}
_STATUSES = {RESULT: "testCaseStatus", RUN: "executionStatus", SUITE_SUMMARY: "status"}
_REPORTED = (*_STATUSES.items(), (RUN, "pipelineState"))
_FAILED_TASKS = frozenset({"Failed", "Aborted"})
_MOST_NAMED = 5
_WHOLE_TIME = 100
_MOMENTS = range(LATEST_MS + 1)
Value = Any  # Any: a JSON value of a report


def is_recovery(event: ChangeEvent) -> bool:
    """Say whether the event reports a success after something else than that."""
    described = event.change_description
    changes = described.fields_updated if described else ()
    return any(
        isinstance(change.old_value, dict)
        and isinstance(change.new_value, dict)
        and is_status_recovery(change.old_value.get(key), change.new_value.get(key))
        for change in changes
        for field, key in _STATUSES.items()
        if change.name == field
    )


def is_failure_report(event: ChangeEvent) -> bool:
    """Say whether the event reports a failed test or run."""
    described = event.change_description
    changes = (*described.fields_updated, *described.fields_added) if described else ()
    return any(
        isinstance(change.new_value, dict) and is_failure(change.new_value.get(key))
        for change in changes
        for field, key in _REPORTED
        if change.name == field
    )


def failure_lines(context: FailureContext) -> Iterator[ChangeLine]:
    """Yield since when something fails, and what lies downstream of it."""
    if context.since_ms is not None:
        since = strftime(MINUTE, gmtime(context.since_ms / 1_000))
        yield ChangeLine(f"failing since {since}, {count_text(context.count, 'time')} in a row")
    if context.downstream:
        names = [clean_line(fqn.split(one)[-1]) for one in context.downstream[:_MOST_NAMED]]
        left_count = len(context.downstream) - len(names)
        yield ChangeLine(f"downstream: {', '.join(names)}{f' and {left_count:,} more' if left_count else ''}")


def _status_line(
    noun: str, key: str, details_of: Callable[[Value], Iterator[str]], old: Value, new: Value
) -> ChangeLine:
    """Return what a report with a status says, and the reports before and after in words.

    ``failed at 2026-01-02 03:04 UTC: 3 rows of 10 are null; nullCount 3``.
    """
    statuses = [CAPITAL.sub(" ", str(report.get(key) or "reported")).lower() for report in (old, new)]
    summaries: list[str | None] = []
    for report, status in zip((old, new), statuses, strict=True):
        at, details = report.get("timestamp"), "; ".join(details_of(report))
        when = f" at {strftime(MINUTE, gmtime(at / 1_000))}" if type(at) is int and at in _MOMENTS else ""
        sentence = f"{status}{when}{': ' if details else ''}{details}"
        summaries.append(clean_line(sentence, limit=SHOWN_LIMIT) if report else None)
    resolved = "resolved: " if is_status_recovery(old.get(key), new.get(key)) else ""
    return ChangeLine(f"{resolved}{noun} {statuses[1]}", *summaries)


def _result_details(report: Value) -> Iterator[str]:
    if report.get("result"):
        yield str(report["result"])
    results = report.get("testResultValue")
    values = [one for one in results if isinstance(one, dict)] if isinstance(results, list) else []
    texts = [f"{one.get('name', 'value')} {one['value']}" for one in values if one.get("value") is not None]
    if texts:
        yield ", ".join(texts[:_MOST_NAMED])
    if report.get("failedRows") is not None:
        yield f"{report['failedRows']} rows failed"


def _run_details(report: Value) -> Iterator[str]:
    failed = [one for one in _objects(report.get("taskStatus")) if one.get("executionStatus") in _FAILED_TASKS]
    if failed:
        names = ", ".join(str(one.get("name", "?")) for one in failed[:_MOST_NAMED])
        yield f"failed tasks: {names}{f' and {len(failed) - _MOST_NAMED} more' if len(failed) > _MOST_NAMED else ''}"


def _suite_line(old: Value, new: Value) -> ChangeLine:
    """Return the line of a suite's run: ``test run failed: 1 failed, 9 passed (not_null of orders)``.

    It says how many tests failed, were aborted and passed, and names the first that did not pass.
    """
    resolved = "resolved: " if is_status_recovery(old.get("status"), new.get("status")) else ""
    counts = {verb: new.get(key) for key, verb in _COUNTS.items()}
    count_texts = [f"{count:,} {verb}" for verb, count in counts.items() if isinstance(count, int) and count]
    details = f": {', '.join(count_texts)}" if count_texts else ""
    results = _objects(new.get("testCaseResultSummary"))
    names = [_test_name(one) for status in ("Failed", "Aborted") for one in results if one.get("status") == status]
    if names:
        more_text = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        details += f" ({', '.join(names[:_MOST_NAMED])}{more_text})"
    text = f"{resolved}test run {in_words(str(new.get('status') or 'reported'))}{details}"
    return ChangeLine(clean_line(text, limit=SHOWN_LIMIT))


def _test_name(result: Value) -> str:
    """Return a test with its table: ``not_null of orders``."""
    references = (result.get("testCase"), result.get("table"))
    test, table = (one if isinstance(one, dict) else {} for one in references)
    name = str(test.get("displayName") or test.get("name") or result.get("testCaseName") or "?")
    return f"{name} of {table.get('displayName') or table.get('name')}" if table else name


def _incident_line(_old: Value, step: Value) -> ChangeLine:
    details = step.get("testCaseResolutionStatusDetails")
    details = details if isinstance(details, dict) else {}
    kind = str(step.get("testCaseResolutionStatusType") or "changed")
    assignee = details.get("assignee")
    if kind == "Assigned" and isinstance(assignee, dict):
        return ChangeLine(clean_line(f"incident assigned to {assignee.get('displayName') or assignee.get('name')}"))
    reason = details.get("testCaseFailureReason")
    why = f": {in_words(str(reason))}" if kind == "Resolved" and reason else ""
    return ChangeLine(clean_line(f"{_STEPS.get(kind) or f'incident {in_words(kind)}'}{why}"))


def _alert_incident_line(before: Value, after: Value) -> ChangeLine:
    """Return what a person did to an incident of an alert: ``INC-7 assigned to Ana (alert Late): looking``."""
    who, status = _object(after.get("assignee")), str(after.get("status") or "changed")
    is_assigned = who and who.get("id") != _object(before.get("assignee")).get("id")
    action = f"assigned to {who.get('displayName') or who.get('name')}" if is_assigned else status
    alert = _object(after.get("alert"))
    of_alert = f" (alert {alert.get('displayName') or alert.get('name')})" if alert else ""
    comment = f": {after['comment']}" if after.get("comment") else ""
    return ChangeLine(clean_line(f"{after.get('name') or 'incident'} {action}{of_alert}{comment}", limit=SHOWN_LIMIT))


def _violation_line(_old: Value, details: Value) -> ChangeLine:
    """Return who was refused what on which asset; of those that were only counted, how many."""
    repeated = details.get("repeated")
    user, asset = details.get("user"), details.get("entity")
    if not (isinstance(user, dict) and isinstance(asset, dict)):
        return ChangeLine(f"{repeated} more requests refused" if repeated else "a request was refused")
    name = asset.get("fullyQualifiedName") or asset.get("name") or ""
    where = f"{asset.get('type', '')} {name}".strip()
    repeats = f", {repeated} more times" if repeated else ""
    who = user.get("displayName") or user.get("name") or "somebody"
    refusal = f"{who} was refused {details.get('operation', 'access')} on {where}{repeats}"
    return ChangeLine(clean_line(refusal, limit=SHOWN_LIMIT))


def _destination_line(_old: Value, failure: Value) -> ChangeLine | None:
    """Return which destination fails, since when and why, and what becomes of it; None where it fails no more."""
    if "failingSince" not in failure:
        return None
    where = " ".join(str(failure[key]) for key in ("type", "endpoint") if failure.get(key)) or "a destination"
    since = failure["failingSince"]
    when = f" since {strftime(MINUTE, gmtime(since / 1_000))}" if type(since) is int and since in _MOMENTS else ""
    code = failure.get("lastFailedStatusCode")
    why = f"{in_words(str(failure.get('lastFailedReason') or 'failure'))}{f' {code}' if code else ''}"
    tried = f"{failure.get('failureCount')} failed attempts, the last with {why}"
    if failure.get("percent") == _WHOLE_TIME:
        text = f"{where} stopped; messages wait until somebody resumes it ({tried}{when})"
    else:
        text = f"{where} fails{when}: {tried}; {failure.get('percent')} % of the time is over after which it is stopped"
    return ChangeLine(clean_line(text, limit=SHOWN_LIMIT))


def _lag_line(_old: Value, lag: Value) -> ChangeLine | None:
    """Return which reader of the log lags, or has recovered; None where that is not what the field says."""
    count, limit = lag.get("lagEvents"), lag.get("limit")
    if type(count) is not int or type(limit) is not int:
        return None
    about = f"{'about ' if lag.get('isEstimate') else ''}{count:,}"
    reference = lag.get("alert")
    alert = f" (alert {reference.get('name')})" if isinstance(reference, dict) else ""
    age = f", the oldest of {lag.get('lagSeconds')} seconds ago" if count else ""
    verb = "lags" if count > limit else "has recovered"
    text = f"{lag.get('reader')}{alert} {verb}: {about} events to read{age}; the limit is {limit:,}"
    return ChangeLine(clean_line(text, limit=SHOWN_LIMIT))


def _objects(value: Value) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _object(value: Value) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


REPORT_LINES: Mapping[str, Callable[[Value, Value], ChangeLine | None]] = {
    RESULT: partial(_status_line, "test", "testCaseStatus", _result_details),
    RUN: partial(_status_line, "run", "executionStatus", _run_details),
    SUITE_SUMMARY: _suite_line,
    INCIDENT: _incident_line,
    ALERT_INCIDENT: _alert_incident_line,
    DESTINATION: _destination_line,
    LAG: _lag_line,
    VIOLATION: _violation_line,
}
"""What says a report in words, from the one before (empty if there is none) and after, by the field that holds it."""
