"""Text of reports for recipients: test results, runs, incidents, refused accesses and failing destinations.

``test failed``, with the result before and after in words; ``ann was refused EditTags on table acme.shop.orders``;
a destination that fails.
Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tocsin.clock import to_datetime
from tocsin.delivery.dispatch import FailureContext
from tocsin.delivery.lines import SHOWN_LIMIT, ChangeLine, clean_line
from tocsin.model import fqn
from tocsin.model.change import SUITE_SUMMARY, VIOLATION, ChangeEvent
from tocsin.model.phrases import count_text
from tocsin.model.status import SUCCESS, is_failure, verdict_of

RESULT, RUN, INCIDENT = "testCaseResult", "pipelineStatus", "incidentStatus"
HEADS = frozenset({RESULT, RUN})
"""Fields whose report heads a message: the other changes of its event follow from it."""

REPORTS = frozenset({RESULT, RUN, INCIDENT, SUITE_SUMMARY, VIOLATION, "alertIncident", "destination"})
"""Fields that hold reports."""

_COUNTS = {"failed": "failed", "aborted": "aborted", "success": "passed"}
_STEPS = {"New": "incident opened", "Ack": "incident acknowledged", "Resolved": "incident resolved"}
_STATUSES = {RESULT: "testCaseStatus", RUN: "executionStatus", SUITE_SUMMARY: "status"}
_REPORTED = (*_STATUSES.items(), (RUN, "pipelineState"))
_FAILED_TASKS = frozenset({"Failed", "Aborted"})
_MOST_NAMED = 5
_WHOLE_TIME = 100
Value = Any  # Any: a JSON value of a report


def report_line(field: str, old: Value, new: Value) -> ChangeLine | None:
    """Return what a report in this field says; None if the field holds none, or its report was removed."""
    if not isinstance(new, dict):
        return None
    before = old if isinstance(old, dict) else {}
    match field:
        case "testCaseResult":
            return _status_line(_StatusReport("test", "testCaseStatus", _result), before, new)
        case "pipelineStatus":
            return _status_line(_StatusReport("run", "executionStatus", _run), before, new)
        case "summary":
            return _suite_line(before, new)
        case "incidentStatus":
            return ChangeLine(_incident(new))
        case "alertIncident":
            return ChangeLine(_alert_incident(before, new))
        case "destination":
            return ChangeLine(_failing(new)) if "failingSince" in new else None
        case _:
            return ChangeLine(_violation(new)) if field == VIOLATION else None


def is_recovery(event: ChangeEvent) -> bool:
    """Say whether the event reports a success after something else than that."""
    described = event.change_description
    changes = described.fields_updated if described else ()
    return any(
        isinstance(change.old_value, dict)
        and isinstance(change.new_value, dict)
        and _recovers(change.old_value, change.new_value, key)
        for change in changes
        for field, key in _STATUSES.items()
        if change.name == field
    )


def is_failure_report(event: ChangeEvent) -> bool:
    """Say whether the event reports a failed test or run."""
    described = event.change_description
    changes = (*described.fields_updated, *described.fields_added) if described else ()
    return any(
        isinstance(change.new_value, dict) and _fails(change.new_value, key)
        for change in changes
        for field, key in _REPORTED
        if change.name == field
    )


def failure_lines(context: FailureContext) -> Iterator[ChangeLine]:
    """Yield since when something fails, and what lies downstream of it."""
    if context.since_ms is not None:
        since = to_datetime(context.since_ms).strftime("%Y-%m-%d %H:%M UTC")
        yield ChangeLine(f"failing since {since}, {count_text(context.count, 'time')} in a row")
    if context.downstream:
        names = [clean_line(fqn.split(one)[-1]) for one in context.downstream[:_MOST_NAMED]]
        left_count = len(context.downstream) - len(names)
        yield ChangeLine(f"downstream: {', '.join(names)}{f' and {left_count:,} more' if left_count else ''}")


def _fails(report: Value, key: str) -> bool:
    verdict = verdict_of(str(report[key])) if report.get(key) else None
    return verdict is not None and is_failure(verdict)


def _recovers(old: Value, new: Value, key: str) -> bool:
    before, after = (verdict_of(str(one[key])) if one.get(key) else None for one in (old, new))
    return after == SUCCESS and before is not None and is_failure(before)


class _StatusReport(NamedTuple):
    """A kind of report with a status: its noun, the key of the status, and what else it says."""

    noun: str
    key: str
    details: Callable[[Value], Iterator[str]]


def _status_line(kind: _StatusReport, old: Value, new: Value) -> ChangeLine:
    status = _in_words(str(new.get(kind.key) or "reported"))
    resolved = "resolved: " if _recovers(old, new, kind.key) else ""
    return ChangeLine(f"{resolved}{kind.noun} {status}", old=_summary(kind, old), new=_summary(kind, new))


def _summary(kind: _StatusReport, report: Value) -> str | None:
    """Return a report in words: ``failed at 2026-01-02 03:04 UTC: 3 rows of 10 are null; nullCount 3``."""
    if not report:
        return None
    at = report.get("timestamp")
    when = f" at {to_datetime(at).strftime('%Y-%m-%d %H:%M UTC')}" if _is_moment(at) else ""
    details = "; ".join(kind.details(report))
    sentence = f"{_in_words(str(report.get(kind.key) or 'reported'))}{when}{': ' if details else ''}{details}"
    return clean_line(sentence, limit=SHOWN_LIMIT)


def _result(report: Value) -> Iterator[str]:
    if report.get("result"):
        yield str(report["result"])
    values = [one for one in _objects(report.get("testResultValue")) if one.get("value") is not None]
    if values:
        yield ", ".join(f"{one.get('name', 'value')} {one['value']}" for one in values[:_MOST_NAMED])
    if report.get("failedRows") is not None:
        yield f"{report['failedRows']} rows failed"


def _run(report: Value) -> Iterator[str]:
    failed = [one for one in _objects(report.get("taskStatus")) if one.get("executionStatus") in _FAILED_TASKS]
    if failed:
        names = ", ".join(str(one.get("name", "?")) for one in failed[:_MOST_NAMED])
        yield f"failed tasks: {names}{f' and {len(failed) - _MOST_NAMED} more' if len(failed) > _MOST_NAMED else ''}"


def _suite_line(old: Value, new: Value) -> ChangeLine:
    """Return the line of a suite's run: ``test run failed: 1 failed, 9 passed (not_null of orders)``."""
    resolved = "resolved: " if _recovers(old, new, "status") else ""
    details = "".join(_suite_details(new))
    text = f"{resolved}test run {_in_words(str(new.get('status') or 'reported'))}{details}"
    return ChangeLine(clean_line(text, limit=SHOWN_LIMIT))


def _suite_details(summary: Value) -> Iterator[str]:
    """Yield how many tests failed, were aborted and passed, and the first that did not pass by name."""
    counts = {verb: summary.get(key) for key, verb in _COUNTS.items()}
    texts = [f"{count:,} {verb}" for verb, count in counts.items() if isinstance(count, int) and count]
    if texts:
        yield f": {', '.join(texts)}"
    results = _objects(summary.get("testCaseResultSummary"))
    names = [_test_name(one) for status in ("Failed", "Aborted") for one in results if one.get("status") == status]
    if names:
        more_text = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield f" ({', '.join(names[:_MOST_NAMED])}{more_text})"


def _test_name(result: Value) -> str:
    """Return a test with its table: ``not_null of orders``."""
    test, table = _object(result.get("testCase")), _object(result.get("table"))
    name = str(test.get("displayName") or test.get("name") or result.get("testCaseName") or "?")
    return f"{name} of {table.get('displayName') or table.get('name')}" if table else name


def _incident(step: Value) -> str:
    details = step.get("testCaseResolutionStatusDetails")
    details = details if isinstance(details, dict) else {}
    kind = str(step.get("testCaseResolutionStatusType") or "changed")
    assignee = details.get("assignee")
    if kind == "Assigned" and isinstance(assignee, dict):
        return clean_line(f"incident assigned to {assignee.get('displayName') or assignee.get('name')}")
    reason = details.get("testCaseFailureReason")
    why = f": {_in_words(str(reason))}" if kind == "Resolved" and reason else ""
    return clean_line(f"{_STEPS.get(kind, f'incident {_in_words(kind)}')}{why}")


def _alert_incident(before: Value, after: Value) -> str:
    """Return what somebody did to an incident of an alert: ``INC-7 assigned to Ana (alert Late): looking``."""
    who, status = _object(after.get("assignee")), str(after.get("status") or "changed")
    is_assigned = who and who.get("id") != _object(before.get("assignee")).get("id")
    action = f"assigned to {who.get('displayName') or who.get('name')}" if is_assigned else status
    alert = _object(after.get("alert"))
    of_alert = f" (alert {alert.get('displayName') or alert.get('name')})" if alert else ""
    comment = f": {after['comment']}" if after.get("comment") else ""
    return clean_line(f"{after.get('name') or 'incident'} {action}{of_alert}{comment}", limit=SHOWN_LIMIT)


def _object(value: Value) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _violation(details: Value) -> str:
    """Return who was refused what on which asset; of those that were only counted, how many."""
    repeated = details.get("repeated")
    user, asset = details.get("user"), details.get("entity")
    if not (isinstance(user, dict) and isinstance(asset, dict)):
        return f"{repeated} more requests refused" if repeated else "a request was refused"
    name = asset.get("fullyQualifiedName") or asset.get("name") or ""
    where = f"{asset.get('type', '')} {name}".strip()
    repeats = f", {repeated} more times" if repeated else ""
    who = user.get("displayName") or user.get("name") or "somebody"
    return clean_line(f"{who} was refused {details.get('operation', 'access')} on {where}{repeats}", limit=SHOWN_LIMIT)


def _failing(failure: Value) -> str:
    """Return which destination fails, since when and why, and what becomes of it."""
    where = " ".join(str(failure[key]) for key in ("type", "endpoint") if failure.get(key)) or "a destination"
    since = failure["failingSince"]
    when = f" since {to_datetime(since).strftime('%Y-%m-%d %H:%M UTC')}" if _is_moment(since) else ""
    code = failure.get("lastFailedStatusCode")
    why = f"{_in_words(str(failure.get('lastFailedReason') or 'failure'))}{f' {code}' if code else ''}"
    tried = f"{failure.get('failureCount')} failed attempts, the last with {why}"
    if failure.get("percent") == _WHOLE_TIME:
        end = "stopped; messages wait until somebody resumes it"
        return clean_line(f"{where} {end} ({tried}{when})", limit=SHOWN_LIMIT)
    end = f"{failure.get('percent')} % of the time is over after which it is stopped"
    return clean_line(f"{where} fails{when}: {tried}; {end}", limit=SHOWN_LIMIT)


def _objects(value: Value) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _is_moment(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 253_402_300_800_000


def _in_words(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
