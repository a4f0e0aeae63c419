"""Text of reports for recipients: test results, runs, incidents, refused accesses and failing destinations.

``test failed``, with what was found and expected as facts; ``ann was not allowed to edit tags``; a
destination that fails.
Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping

from tocsin.clock import LATEST_MS
from tocsin.delivery.lines import SHOWN_LIMIT, ChangeLine, Rank, advice_line, clean_line, command_line, moment_text
from tocsin.delivery.wording.assets import ChangedAsset
from tocsin.delivery.wording.change_requests import change_request_lines
from tocsin.delivery.wording.facts import (
    Value,
    fact_lines,
    found_text,
    moment_lines,
    names_text,
    object_in,
    objects_in,
    result_facts,
    run_facts,
)
from tocsin.delivery.wording.findings import (
    expiry_lines,
    finding_lines,
    name_in_command,
    narrowing_lines,
)
from tocsin.delivery.wording.incidents import (
    INCIDENT,
    alert_incident_lines,
    incident_line,
    tells_of_incident,
)
from tocsin.model.change import (
    ALERT_INCIDENT,
    CHANGE_REQUEST,
    DESTINATION,
    EDITOR_VIEW,
    EXPIRY,
    FINDING,
    INCIDENT_REMINDER,
    IS_CUT,
    LAG,
    RETENTION,
    SILENCE,
    STILL_FAILING,
    STILL_STALE,
    STILL_WITHOUT_OWNER,
    SUITE_SUMMARY,
    VIOLATION,
    ChangeEvent,
    EventType,
)
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text, in_words, ordinal_text
from tocsin.model.status import is_failure, is_status_recovery, verdict_of

RESULT, RUN = "testCaseResult", "pipelineStatus"
WITHOUT_OWNER = "still without an owner"
ReportLines = Callable[[Document, Document, Document, str], Iterable[ChangeLine]]
"""Yields what says a report in words, from the one before (empty if there is none), it, the entity, and the zone."""

_COUNTS = {"failed": "failed", "aborted": "aborted", "success": "passed"}
_STATUSES = {RESULT: "testCaseStatus", RUN: "executionStatus", SUITE_SUMMARY: "status"}
_FOUND = frozenset({RESULT, RUN, SUITE_SUMMARY, DESTINATION, LAG, SILENCE, VIOLATION})
_REPORTING = frozenset(
    {
        *(EventType.FRESHNESS_VIOLATION, EventType.SLA_VIOLATION, EventType.PROFILE_ANOMALY, EventType.USAGE_DROP),
        *(EventType.QUERY_PATTERN_CHANGE, EventType.AUDIT_FINDING, EventType.ALERT_NARROWED),
        *(EventType.ALERT_EXPIRING, EventType.ALERT_EXPIRED),
        EventType.RETENTION_APPLIED,
        EventType.SCHEDULED_CHECK,
        EventType.INCIDENT_REMINDER,
    }
)
"""Types of events that only tell what was noticed."""

_REPORTED = (*_STATUSES.items(), (RUN, "pipelineState"))
"""Fields that hold reports, and the keys of their statuses; a run of an ingestion pipeline has a key of its own."""

_REMOVED = (
    ("log", "events from the log"),
    ("lake", "events from the lake"),
    ("notifications", "notifications"),
    ("deadLetters", "dead letters"),
)
"""What a run of retention counts, and as what people know it."""

_OF_INCIDENTS = frozenset({EventType.SLA_VIOLATION, EventType.INCIDENT_REMINDER})
_WHOLE_TIME = 100
_MOMENTS = range(LATEST_MS + 1)
_PASSED, _SUCCEEDED = "passed", "succeeded"
_IN_PART = "succeeded in part"
_STATUS_WORDS = {
    **{"Success": _PASSED, "Successful": _SUCCEEDED, "PartialSuccess": _IN_PART},
    **{"success": _SUCCEEDED, "partialSuccess": _IN_PART},
}
_AGAIN = {_PASSED: "passes again", _SUCCEEDED: "succeeds again"}
_TEST = "test "
_WAITS = "messages wait until it is resumed"


def is_recovery(event: ChangeEvent) -> bool:
    """Return whether the event reports a success after something else than that."""
    described = event.change_description
    changes = described.fields_updated if described else ()
    return any(
        isinstance(change.old_value, dict)
        and isinstance(change.new_value, dict)
        and is_status_recovery(change.old_value.get(key), change.new_value.get(key))
        for change in changes
        for field, key in _REPORTED
        if change.name == field
    )


def is_report(event: ChangeEvent) -> bool:
    """Return whether the event reports what was found, such as a result or a refusal: nobody has changed anything."""
    described = event.change_description
    changes = (*described.fields_updated, *described.fields_added) if described else ()
    return event.event_type in _REPORTING or any(change.name in _FOUND for change in changes)


def reported_at_ms(event: ChangeEvent) -> int:
    """Return the time of the result or run that an event reports, epoch milliseconds; else that of the event."""
    described = event.change_description
    changes = (*described.fields_updated, *described.fields_added) if described else ()
    reports = (one.new_value for one in changes if one.name in _STATUSES and isinstance(one.new_value, dict))
    return next((at for report in reports for at in _moments(report.get("timestamp"))), event.timestamp)


def is_failure_report(event: ChangeEvent) -> bool:
    """Return whether the event reports a failed test or run."""
    described = event.change_description
    changes = (*described.fields_updated, *described.fields_added) if described else ()
    return any(
        isinstance(change.new_value, dict) and is_failure(change.new_value.get(key))
        for change in changes
        for field, key in _REPORTED
        if change.name == field
    )


def status_text(status: object) -> str:
    """Return the status of a test or run as people say it: ``failed``, ``passed``, ``succeeded in part``."""
    return _STATUS_WORDS.get(str(status)) or in_words(str(status or "reported"))


def report_text(asset: ChangedAsset, summary: str) -> str:
    """Return the headline of a report: of a test with what it checks, ``orders.total: not negative failed``."""
    if asset.checks and summary.startswith(_TEST):
        return f"{asset.checks}: {asset.name} {summary.removeprefix(_TEST)}"
    return f"{asset.title}: {summary}"


def _status_line(noun: str, before: object, after: object, details: str = "") -> ChangeLine:
    """Return what a test or run came to: ``test failed``, or ``test passes again`` after a failure."""
    verb = status_text(after)
    verb = _AGAIN.get(verb, verb) if is_status_recovery(before, after) else verb
    return ChangeLine(clean_line(f"{noun} {verb}{details}", limit=SHOWN_LIMIT), rank=Rank.REPORTED)


def _result_lines(old: Document, new: Document, test: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield the result of a test: what was found against what was expected, failing rows, and the result before."""
    yield _status_line("test", old.get("testCaseStatus"), new.get("testCaseStatus"))
    yield from result_facts(new, test)
    yield from _earlier_lines(old, "testCaseStatus", zone, found_text(old))


def last_failure_lines(entity: Document) -> Iterator[ChangeLine]:
    """Yield what failed, by the last result or run of a test or pipeline; nothing if that is no failure."""
    result, run = object_in(entity.get(RESULT)), object_in(entity.get(RUN))
    if is_failure(result.get("testCaseStatus")):
        yield from result_facts(result, entity)
    elif is_failure(run.get("executionStatus")):
        yield from run_facts(run)


def _run_lines(old: Document, new: Document, _pipeline: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield the end of a run: its error, the tasks that failed, how long it took, and the run before.

    An earlier report of the same run, which it is known by if it is one of an ingestion pipeline, is no run before.
    """
    key = "pipelineState" if "pipelineState" in new else "executionStatus"
    yield _status_line("run", old.get(key), new.get(key))
    yield from run_facts(new)
    if (took_ms := took_ms_of(new)) is not None:
        yield from fact_lines("took", span_text(took_ms))
    if "runId" not in new or old.get("runId") != new["runId"]:
        yield from _earlier_lines(old, key, zone)


def _silence_lines(_old: Document, silence: Document, _entity: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield for how long an entity has reported no success, and since when."""
    for asked_ms in _moments(silence.get("withoutSuccess")):
        yield ChangeLine(f"no success for {span_text(asked_ms)}", rank=Rank.REPORTED)
    for since_ms in _moments(silence.get("since")):
        yield from moment_lines("since", since_ms, zone)


def _state_lines(of_state: ReportLines) -> ReportLines:
    """Return the lines of a state, and one that its check found more assets than it names."""

    def lines(old: Document, state: Document, entity: Document, zone: str) -> Iterator[ChangeLine]:
        yield from of_state(old, state, entity, zone)
        if state.get(IS_CUT):
            yield from fact_lines("not all", "the check found more assets than it names")

    return lines


def _still_failing_lines(_old: Document, state: Document, entity: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield that a test or run fails at a time of a schedule, how often in a row, and since when nothing succeeded."""
    noun = _TEST if "entityLink" in entity else ""
    yield ChangeLine(f"{noun}still failing", rank=Rank.REPORTED)
    count = state.get("failures")
    row_text = f"failed {count_text(count, 'time')} in a row" if type(count) is int and count > 1 else ""
    moments = [(moment_text(since_ms, zone), since_ms) for since_ms in _moments(state.get("since"))]
    state_text = ", ".join(filter(None, (*dict(moments), row_text)))
    yield from fact_lines("no success since" if moments else "so far", state_text, *moments)


def _reminder_lines(_old: Document, reminder: Document, entity: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield since when a test or run has been failing, and that nobody has acknowledged its incident."""
    noun = _TEST if "entityLink" in entity else ""
    moments = tuple((moment_text(since_ms, zone), since_ms) for since_ms in _moments(reminder.get("since")))
    since_text = f" since {moments[0][0]}" if moments else ""
    number = reminder.get("number")
    number_text = f" ({ordinal_text(number)} reminder)" if type(number) is int else ""
    text = f"{noun}has been failing{since_text}, nobody has acknowledged it{number_text}"
    yield ChangeLine(clean_line(text), rank=Rank.REPORTED, moments=moments)


def belongs_to_incident(event: ChangeEvent) -> bool:
    """Return whether the event tells of an incident, or of what it may be open for: a failure, or a silence."""
    if is_failure_report(event) or tells_of_incident(event) or event.event_type in _OF_INCIDENTS:
        return True
    paths = event.change_description.paths() if event.change_description else ()
    return event.event_type is EventType.SCHEDULED_CHECK and not {STILL_FAILING, STILL_STALE}.isdisjoint(paths)


def is_reminder(event: ChangeEvent) -> bool:
    """Return whether the event reminds of an incident that nobody has acknowledged."""
    return event.event_type is EventType.INCIDENT_REMINDER


def _without_owner_lines(_old: Document, _state: Document, _entity: Document, _zone: str) -> Iterator[ChangeLine]:
    """Yield that an asset has no owner at a time of a schedule."""
    yield ChangeLine(WITHOUT_OWNER, rank=Rank.REPORTED)


def took_ms_of(run: Document) -> int | None:
    """Return how long a run took, by its own times or those of its tasks, in milliseconds; None where none says.

    The ``timestamp`` of a run of an ingestion pipeline is that of its report.
    """
    tasks = objects_in(run.get("taskStatus"))
    begin = run.get("startDate" if "pipelineState" in run else "timestamp")
    starts = _moments(begin, *(task.get("startTime") for task in tasks))
    ends = _moments(run.get("endTime"), run.get("endDate"), *(task.get("endTime") for task in tasks))
    return max(ends) - min(starts) if starts and ends and max(ends) >= min(starts) else None


def span_text(span_ms: int) -> str:
    """Return a span of time in words: ``40 s``, ``12 min``, ``1 h 4 min``, ``3 d 2 h``."""
    seconds = span_ms // 1_000
    for size, unit, smaller_size, smaller in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min")):
        if seconds >= size:
            remainder = seconds % size // smaller_size
            return f"{seconds // size} {unit}{f' {remainder} {smaller}' if remainder else ''}"
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds} s"


def _earlier_lines(report: Document, key: str, zone: str, details: str = "") -> Iterator[ChangeLine]:
    """Yield when the last report came and what it said, as the last success where it was one."""
    if not report:
        return
    status, at = str(report.get(key) or ""), report.get("timestamp")
    is_success = verdict_of(status) == "success"
    moments = [(moment_text(at_ms, zone), at_ms) for at_ms in _moments(at)]
    parts = ("" if is_success else status_text(status), *dict(moments), details if is_success else "")
    yield from fact_lines("last success" if is_success else "before", ", ".join(filter(None, parts)), *moments)


def _moments(*values: object) -> list[int]:
    return [one for one in values if isinstance(one, int) and type(one) is int and one in _MOMENTS]


def _suite_lines(old: Document, new: Document, _suite: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield what a suite's run came to: ``test run failed: 2 failed, 9 passed (1 new failure)``.

    Beside how many tests failed, were aborted and passed, it names those that did not pass: first those that the run
    before did not find failing, then the others with their times. Runs of earlier releases do not say since when.
    """
    counts = {verb: new.get(key) for key, verb in _COUNTS.items()}
    count_texts = [f"{count:,} {verb}" for verb, count in counts.items() if isinstance(count, int) and count]
    details = f": {', '.join(count_texts)}" if count_texts else ""
    results = objects_in(new.get("testCaseResultSummary"))
    failing = [one for status in ("Failed", "Aborted") for one in results if one.get("status") == status]
    dated_tests = [(since_ms, one) for one in failing for since_ms in _moments(one.get("failingSince"))]
    new_names = [_test_name(one) for since_ms, one in dated_tests if _is_new(since_ms, one, old)]
    lasting = sorted((pair for pair in dated_tests if not _is_new(*pair, old)), key=lambda pair: -pair[0])
    if dated_tests:
        details += f" ({count_text(len(new_names), 'new failure')})" if new_names else " (none new)"
    elif failing:
        details += f" ({names_text([_test_name(one) for one in failing])})"
    yield _status_line("test run", old.get("status"), new.get("status"), details)
    yield from fact_lines("new failures", names_text(new_names))
    moments = [(moment_text(since_ms, zone), since_ms) for since_ms, _ in lasting]
    still_texts = [f"{_test_name(one)} since {moment}" for (_, one), (moment, _) in zip(lasting, moments, strict=True)]
    yield from fact_lines("still failing", names_text(still_texts), *moments)


def _is_new(since_ms: int, result: Document, before: Document) -> bool:
    """Return whether a failing test did not fail at the end of the run ``before``; without one, before this result."""
    ended_ms = before.get("timestamp")
    return since_ms > ended_ms if isinstance(ended_ms, int) else since_ms == result.get("timestamp")


def _test_name(result: Value) -> str:
    """Return a test with its table: ``not_null of orders``."""
    references = (result.get("testCase"), result.get("table"))
    test, table = (one if isinstance(one, dict) else {} for one in references)
    name = str(test.get("displayName") or test.get("name") or result.get("testCaseName") or "?")
    return f"{name} of {table.get('displayName') or table.get('name')}" if table else name


def _violation_lines(_old: Document, details: Document, policy: Document, _zone: str) -> Iterator[ChangeLine]:
    """Yield who was refused what on which asset, of those that were only counted how many, and by which policy."""
    repeat_count = details.get("repeated")
    user, asset = details.get("user"), details.get("entity")
    if not (isinstance(user, dict) and isinstance(asset, dict)):
        yield ChangeLine(
            f"{repeat_count} more {'request' if repeat_count == 1 else 'requests'} refused"
            if repeat_count
            else "a request was refused"
        )
        return
    name = asset.get("fullyQualifiedName") or asset.get("name") or ""
    place = "" if asset.get("id") else f"{asset.get('type', '')} {name}".strip()  # the title says which asset
    repeats = f", {repeat_count} more {'time' if repeat_count == 1 else 'times'}" if repeat_count else ""
    who = user.get("displayName") or user.get("name") or "a person"
    operation = details.get("operation")
    refusal = f"{who} was {_refused_act(operation, place)}{repeats}"
    yield ChangeLine(clean_line(refusal, limit=SHOWN_LIMIT), rank=Rank.REPORTED)
    policy_name = str(policy.get("displayName") or policy.get("name") or "")
    rule = f", rule {details['rule']}" if isinstance(details.get("rule"), str) else ""
    yield from fact_lines("by policy", f"{policy_name}{rule}" if policy_name else "")
    allowance = operation or "this"
    yield advice_line(
        clean_line(f"nothing, if that is as it should be; else give {who} a role that allows {allowance}")
    )


def _refused_act(operation: Value, place: str) -> str:
    """Return what a person was refused: ``not allowed to edit tags``, ``… to edit it``; ``place``: on which asset."""
    words = in_words(str(operation)) if operation else ""
    if verb := words.removesuffix(" all") if words.endswith(" all") else "":
        return f"not allowed to {verb} {place or 'it'}"
    act = f"not allowed to {words}" if words else "refused access"
    return f"{act} on {place}" if place else act


def _destination_lines(_old: Document, failure: Document, alert: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield which destination fails, since when and why, and what becomes of it; nothing where it fails no more."""
    if "failingSince" not in failure:
        return
    where = " ".join(str(failure[key]) for key in ("name", "type", "endpoint") if failure.get(key)) or "a destination"
    is_stopped = failure.get("percent") == _WHOLE_TIME
    yield ChangeLine(clean_line(f"{where} {'stopped' if is_stopped else 'fails'}"), rank=Rank.REPORTED)
    code = failure.get("lastFailedStatusCode")
    why = f"{in_words(str(failure.get('lastFailedReason') or 'failure'))}{f' {code}' if code else ''}"
    for since_ms in _moments(failure.get("failingSince")):
        yield from moment_lines("failing since", since_ms, zone)
    yield from fact_lines("failed attempts", f"{failure.get('failureCount')}, the last with {why}")
    over_text = f"{failure.get('percent')} % of the time until then is over"
    yield from fact_lines(
        "what follows", _WAITS if is_stopped else f"it is stopped unless an attempt succeeds; {over_text}"
    )
    command = f"tocsin alerts {'resume' if is_stopped else 'status'} {name_in_command(alert)}"
    yield advice_line(f"correct it, then {command}" if is_stopped else f"correct it; {command} shows why", command)


def _lag_lines(_old: Value, lag: Value, _entity: Document, _zone: str) -> Iterator[ChangeLine]:
    """Yield which reader of the log lags, or has recovered; nothing where that is not what the field says."""
    count, limit = lag.get("lagEvents"), lag.get("limit")
    if type(count) is not int or type(limit) is not int:
        return
    about = f"{'about ' if lag.get('isEstimate') else ''}{count:,}"
    reader, reference = str(lag.get("reader")), lag.get("alert")
    alert = f" (alert {reference.get('name')})" if isinstance(reference, dict) else ""
    verb = "lags" if count > limit else "has recovered"
    text = f"{reader}{alert} {verb}: {about} events to read"
    yield ChangeLine(clean_line(text, limit=SHOWN_LIMIT), rank=Rank.REPORTED)
    if count and type(seconds := lag.get("lagSeconds")) is int:
        yield from fact_lines("oldest", f"{span_text(seconds * 1_000)} old")
    yield from fact_lines("limit", f"{limit:,} events")
    if count > limit:
        yield from fact_lines("what follows", "what it has not read waits for it")
        command = f"tocsin lag {clean_line(shlex.quote(reader), limit=SHOWN_LIMIT)}"
        yield advice_line(f"see whether it still reads: {command}", command)


def _retention_lines(_old: Document, facts: Document, _organization: Document, _zone: str) -> Iterator[ChangeLine]:
    """Yield what a run of retention has removed, or what was done to a hold or consumer; nothing of the settings."""
    if hold := facts.get("legalHold"):
        yield ChangeLine(clean_line(f"legal hold {hold} {'lifted' if facts.get('isLifted') else 'set'}"))
    elif consumer := facts.get("consumer"):
        yield ChangeLine(clean_line(f"consumer {consumer} {'removed' if facts.get('isRemoved') else 'registered'}"))
    elif "run" in facts:
        counts = [(facts.get(key), what) for key, what in _REMOVED if isinstance(facts.get(key), int)]
        texts = [f"{count:,} {what}" for count, what in counts if count]
        yield ChangeLine(f"retention removed {', '.join(texts) or 'nothing'}", rank=Rank.REPORTED)
        if isinstance(passed := facts.get("readersPassed"), int) and passed:
            yield from fact_lines("what follows", f"{count_text(passed, 'reader')} of the log will miss events")
        yield command_line("tocsin retention show", label="to see what is kept for how long", rank=Rank.REPORTED)


REPORT_LINES: Mapping[str, ReportLines] = {
    RESULT: _result_lines,
    RUN: _run_lines,
    SUITE_SUMMARY: _suite_lines,
    INCIDENT: lambda old, new, _entity, zone: (incident_line(old, new, zone),),
    ALERT_INCIDENT: alert_incident_lines,
    CHANGE_REQUEST: change_request_lines,
    DESTINATION: _destination_lines,
    EDITOR_VIEW: narrowing_lines,
    EXPIRY: expiry_lines,
    FINDING: finding_lines,
    INCIDENT_REMINDER: _reminder_lines,
    LAG: _lag_lines,
    RETENTION: _retention_lines,
    SILENCE: _silence_lines,
    STILL_FAILING: _state_lines(_still_failing_lines),
    STILL_STALE: _state_lines(_silence_lines),
    STILL_WITHOUT_OWNER: _state_lines(_without_owner_lines),
    VIOLATION: _violation_lines,
}
"""What says a report in words, by the field that holds it."""
