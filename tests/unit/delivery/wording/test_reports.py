"""Tests of the text of reports: results, runs, incidents and refused accesses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.delivery.channels.samples import EVENTS, REFUSED
from tests.unit.delivery.events import OWNER, addition_of, change_event, update_of

from tocsin.delivery.dispatch import FailureContext, FailureIncident, ProbableCause, ToldPeople
from tocsin.delivery.lines import ChangeLine
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.incidents import INCIDENT
from tocsin.delivery.wording.reports import (
    RESULT,
    RUN,
    is_failure_report,
    is_report,
    span_text,
)
from tocsin.delivery.wording.surroundings import failure_lines
from tocsin.delivery.wording.tones import Tone, tone_of
from tocsin.model.change import (
    CHANGE_REQUEST,
    EDITOR_VIEW,
    FINDING,
    LAG,
    STILL_FAILING,
    SUITE_SUMMARY,
    VIOLATION,
    ChangeDescription,
    EventType,
    FieldChange,
)
from tocsin.model.notification import ReasonKind
from tocsin.model.severity import Severity


def line_of(field: str, old: Any, new: Any) -> ChangeLine:
    return event_text(change_event(update_of(field, old, new))).all_lines[0]


def test_a_test_that_begins_to_fail_is_a_failure_and_not_an_incident_and_one_more_change() -> None:
    event = EVENTS["test_failure"]
    assert event_text(event).headline == "orders.email: email_not_null failed"
    assert [line.labelled_text for line in event_text(event).lines] == [
        "found: 3 rows of 10 are null",
        "expected: min value 0",
        "last success: 2025-10-09 06:06 UTC, 0 rows of 10 are null",
        "incident opened",
        "what to do: repair it",
    ]
    hidden = event.model_copy(update={"entity": {"name": "email_not_null"}})
    assert event_text(hidden).headline == "email_not_null: test failed"


@pytest.mark.parametrize(
    ("result", "name", "value", "says"),
    [
        ("Found: 3 duplicates", "duplicates", "3", ["3 duplicates"]),
        ("Found 1,200 null values", "nullCount", "1200", ["1,200 null values"]),
        ("Found 3 of 4", "value", "3", ["3 of 4"]),
        ("3 duplicates", "duplicates", "30", ["3 duplicates; duplicates 30"]),
        ("30 duplicates", "duplicates", "3", ["30 duplicates; duplicates 3"]),
        ("mean is 3.5", "mean", "3", ["mean is 3.5; mean 3"]),
        ("3 checks failed", "minimum", "3", ["3 checks failed; minimum 3"]),
        ("", "nullCount", "3", ["nullCount 3"]),
    ],
)
def test_a_value_that_a_result_says_is_said_once(result: str, name: str, value: str, says: list[str]) -> None:
    report = {"testCaseStatus": "Failed", "result": result, "testResultValue": [{"name": name, "value": value}]}
    event = change_event(update_of("testCaseResult", None, report))
    assert [line.text for line in event_text(event).lines if line.label == "found"] == says


def test_how_many_rows_failed_is_said_once() -> None:
    report = {"testCaseStatus": "Failed", "failedRows": 3, "passedRows": 7}
    for result, says in (("3 rows of 10 are null", []), ("3 rows are null", ["3 of 10"]), ("3 of 10", ["3 of 10"])):
        event = change_event(update_of("testCaseResult", None, report | {"result": result}))
        assert [line.text for line in event_text(event).lines if line.label == "failing rows"] == says


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("Found 12 NULL values", "12 NULL values"),
        ("No rows found in orders", "No rows found in orders"),
        ("Value not found: 7", "Value not found: 7"),
        (" found: 12", "12"),
        ("Found", "Found"),
        ("Foundation is missing", "Foundation is missing"),
        ("12 found", "12 found"),
    ],
)
def test_a_line_says_once_that_something_was_found(result: str, text: str) -> None:
    failed = {"testCaseStatus": "Failed", "result": result}
    lines = event_text(change_event(update_of(RESULT, {"testCaseStatus": "Success"}, failed))).lines
    assert f"found: {text}" in [line.labelled_text for line in lines]


_REQUEST = {"name": "CR-12", "kind": "removal", "status": "announced", "date": 1_796_810_400_000, "why": "unused"}


@pytest.mark.parametrize(
    ("before", "fields", "text"),
    [
        (None, {"column": "email"}, "CR-12 announced: column email is to be removed on 2026-12-09 10:00 UTC"),
        (
            None,
            {"kind": "type", "column": "email", "newValue": "INT", "replacement": "customers.email"},
            "CR-12 announced: column email is to become INT on 2026-12-09 10:00 UTC",
        ),
        (
            _REQUEST | {"date": 1},
            {"kind": "deprecation"},
            "CR-12 moved: it is to be deprecated on 2026-12-09 10:00 UTC",
        ),
        (
            _REQUEST | {"date": 1},
            {"column": "email", "comment": "more time"},
            "CR-12 moved: column email is to be removed on 2026-12-09 10:00 UTC",
        ),
        (
            _REQUEST,
            {"status": "withdrawn", "kind": "rename", "column": "email", "newValue": "mail"},
            "CR-12 withdrawn: column email keeps its name",
        ),
        (_REQUEST, {"status": "withdrawn", "column": "email"}, "CR-12 withdrawn: column email stays"),
        (
            _REQUEST,
            {"status": "withdrawn", "kind": "type", "column": "email", "newValue": "INT", "comment": "you are right"},
            "CR-12 withdrawn: column email keeps its type",
        ),
        (
            _REQUEST,
            {"status": "withdrawn", "kind": "deprecation"},
            "CR-12 withdrawn: it is not to be deprecated",
        ),
        (
            _REQUEST | {"status": "due"},
            {"status": "due", "column": "email"},
            "CR-12 is due and not done: column email was to be removed on 2026-12-09 10:00 UTC",
        ),
        (
            _REQUEST,
            {"status": "done", "column": "email"},
            "CR-12 ended, as the asset is deleted permanently: column email was to be removed on 2026-12-09 10:00 UTC",
        ),
    ],
)
def test_a_change_request_says_what_changes_when_and_why(
    before: dict[str, Any] | None, fields: dict[str, Any], text: str
) -> None:
    event = change_event(
        update_of(CHANGE_REQUEST, before, _REQUEST | {"status": "announced"} | fields),
        event_type=EventType.CHANGE_REQUEST_UPDATED,
    )
    first, *further_lines = event_text(event).all_lines
    assert first.text == text
    instead = [f"instead: {fields['replacement']}"] if "replacement" in fields else []
    show = "to look at it: tocsin changes show CR-12"
    due = [
        "what to do: make the change, or move or withdraw the request",
        "to move it: tocsin changes move CR-12 --on DATE",
        "to withdraw it: tocsin changes withdraw CR-12",
    ]
    comment = [f"comment: {fields['comment']}"] if "comment" in fields else []
    advice = {"withdrawn": comment, "done": [], "due": due}.get(
        fields.get("status", ""), [*comment, "reason: unused", *instead, show]
    )
    assert [line.labelled_text for line in further_lines] == advice


@pytest.mark.parametrize("kind", [EventType.CHANGE_REQUEST_UPDATED, EventType.CHANGE_REQUEST_REMINDER])
@pytest.mark.parametrize(
    ("kinds", "reader", "commands"),
    [
        ([ReasonKind.ASKED, ReasonKind.OWNER], "ben", ["to answer for a consumer"]),
        ([ReasonKind.ASKED], "ann", ["to answer for a consumer", "to move it", "to withdraw it"]),
        ([ReasonKind.USER], "ann", ["to move it", "to withdraw it"]),
        ([ReasonKind.USER, ReasonKind.OWNER], "ben", ["to look at it"]),
        ([ReasonKind.EXTERNAL], None, ["to look at it"]),
        ([], None, ["to look at it"]),
    ],
)
def test_only_who_is_asked_is_told_how_to_answer_and_the_author_how_to_move_it(
    kinds: list[ReasonKind], reader: str | None, commands: list[str], kind: EventType
) -> None:
    request = _REQUEST | {"status": "announced", "column": "email"}
    event = change_event(update_of(CHANGE_REQUEST, request, request), event_type=kind, user_id="ann")
    reasons = [OWNER.model_copy(update={"kind": one}) for one in kinds]
    lines = event_text(event, reasons, reader_id=reader).lines
    assert [line.label for line in lines if line.label.startswith("to ")] == commands


@pytest.mark.parametrize(
    ("field", "report", "advice"),
    [
        (FINDING, {"kind": "tooSlow"}, "make its conditions simpler, then tocsin alerts enable 'Late orders'"),
        (FINDING, {"kind": "failing"}, "correct its conditions, then tocsin alerts enable 'Late orders'"),
        (FINDING, {"kind": "unreadable"}, "correct its conditions"),
        (FINDING, {"kind": "deliveryStuck", "eventId": "e-1"}, "see whether everything runs: tocsin health"),
        (FINDING, {"kind": "incidentUnresolved", "about": "INC-7"}, "resolve it: tocsin incidents resolve INC-7"),
        (FINDING, {"kind": "incidentUnresolved", "about": "$(id)"}, "resolve it: tocsin incidents resolve '$(id)'"),
        (FINDING, {"kind": "notifiedTwice"}, "tell an administrator"),
        (
            FINDING,
            {"kind": "notifiedTwice", "eventId": "e-1; id"},
            "tell an administrator; to see what came of the event: tocsin explain 'e-1; id' --alert 'Late orders'",
        ),
        (
            EDITOR_VIEW,
            {"name": "ann", "mayView": "part"},
            "somebody who may view all of it can take it over: tocsin alerts take-over 'Late orders' --yes",
        ),
        (EDITOR_VIEW, {"name": "ann", "mayView": "everything"}, None),
    ],
)
def test_what_is_wrong_with_an_alert_says_what_to_do(field: str, report: dict[str, Any], advice: str | None) -> None:
    event = change_event(addition_of(field, report), entity={"name": "Late orders"})
    lines = [line.text for line in event_text(event).all_lines if line.label == "what to do"]
    assert lines == ([] if advice is None else [advice])


def test_a_lag_that_is_exceeded_reads_otherwise_than_one_that_has_recovered() -> None:
    reference = {"id": "a", "type": "eventsubscription", "name": "Words"}
    report = {"reader": "queue a", "alert": reference, "lagEvents": 12_000, "lagSeconds": 9, "limit": 10_000}
    event = change_event(update_of(LAG, None, report))
    assert [line.labelled_text for line in event_text(event).all_lines] == [
        "queue a (alert Words) lags: 12,000 events to read",
        "oldest: 9 s old",
        "limit: 10,000 events",
        "what follows: what it has not read waits for it",
        "what to do: see whether it still reads: tocsin lag 'queue a'",
    ]
    recovery = change_event(update_of(LAG, None, report | {"lagEvents": 0, "isEstimate": True, "alert": None}))
    assert [line.labelled_text for line in event_text(recovery).all_lines] == [
        "queue a has recovered: about 0 events to read",
        "limit: 10,000 events",
    ]


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        (addition_of(RESULT, {"testCaseStatus": "Failed"}), True),
        (addition_of(RUN, {"executionStatus": "PartialSuccess"}), True),
        (addition_of(RUN, {"pipelineState": "failed"}), True),
        (addition_of(RUN, {"executionStatus": "Pending"}), False),
        (addition_of(RESULT, {"testCaseStatus": "Success"}), False),
        (addition_of(RESULT, {}), False),
        (addition_of(RESULT, "Failed"), False),
        (addition_of("description", {"testCaseStatus": "Failed"}), False),
        (None, False),
    ],
)
def test_a_failure_is_what_a_test_or_run_reports(change: ChangeDescription | None, fails: bool) -> None:
    assert is_failure_report(change_event(change)) is fails


@pytest.mark.parametrize(
    ("field", "new", "text"),
    [
        (RESULT, {"testCaseStatus": "Success"}, "test passed"),
        (RESULT, {}, "test reported"),
        (RUN, {"executionStatus": "PartialSuccess"}, "run succeeded in part"),
        (RUN, {"pipelineState": "success"}, "run succeeded"),
        (RUN, {"pipelineState": "partialSuccess"}, "run succeeded in part"),
        (RUN, {"pipelineState": "stopped"}, "run stopped"),
        (RUN, {"executionStatus": "Failed", "error": "no object"}, "run failed"),
        (INCIDENT, {"testCaseResolutionStatusType": "Ack"}, "incident acknowledged"),
        (
            INCIDENT,
            {
                "testCaseResolutionStatusType": "Assigned",
                "testCaseResolutionStatusDetails": {"assignee": {"name": "ann"}},
            },
            "incident assigned to ann",
        ),
        (
            INCIDENT,
            {
                "testCaseResolutionStatusType": "Resolved",
                "testCaseResolutionStatusDetails": {"testCaseFailureReason": "MissingData"},
            },
            "incident resolved: missing data",
        ),
        (VIOLATION, REFUSED, "ann was not allowed to edit tags"),
        (
            VIOLATION,
            REFUSED | {"repeated": 4},
            "ann was not allowed to edit tags, 4 more times",
        ),
        (VIOLATION, REFUSED | {"repeated": 1}, "ann was not allowed to edit tags, 1 more time"),
        (VIOLATION, REFUSED | {"operation": "EditAll"}, "ann was not allowed to edit it"),
        (
            VIOLATION,
            REFUSED | {"operation": "ViewAll", "entity": {"type": "table", "name": "orders"}},
            "ann was not allowed to view table orders",
        ),
        (VIOLATION, {"repeated": 4, "sinceMs": 0}, "4 more requests refused"),
    ],
)
def test_reports_are_said_in_words(field: str, new: dict[str, Any], text: str) -> None:
    assert line_of(field, None, new).text == text


def _result(number: int, status: str) -> dict[str, Any]:
    return {"status": status, "testCase": {"name": f"t{number}"}, "table": {"name": "orders"}}


def test_a_run_of_a_suite_names_the_tests_that_failed() -> None:
    statuses = [*("Failed",) * 7, "Aborted", "Success"]
    results = [_result(number, status) for number, status in enumerate(statuses)]
    counts = {"failed": 7, "aborted": 1, "success": 1_200}
    failed_summary = {"status": "Failed", **counts, "testCaseResultSummary": results}
    event = change_event(addition_of(SUITE_SUMMARY, failed_summary))
    failed_line, advice = event_text(event).lines
    assert advice.label == "what to do"
    assert failed_line.text == (
        "test run failed: 7 failed, 1 aborted, 1,200 passed"
        " (t0 of orders, t1 of orders, t2 of orders, t3 of orders, t4 of orders and 3 more)"
    )
    headline = event_text(event).headline
    assert headline.startswith("orders: test run failed: 7 failed, 1 aborted, 1,200 passed (t0")
    assert is_failure_report(event)
    passed_line = line_of(SUITE_SUMMARY, {"status": "Failed"}, {"status": "Success", "success": 1})
    assert passed_line.text == "test run passes again: 1 passed"


def test_the_suite_of_a_table_is_called_as_its_table() -> None:
    name = "acme.shop.public.orders.testSuite"
    reference = {"id": "o-1", "type": "table", "fullyQualifiedName": "acme.shop.public.orders"}
    entity = {"id": "s-1", "name": name, "basic": True, "basicEntityReference": reference}
    summary = {"status": "Failed", "failed": 1, "testCaseResultSummary": [_result(0, "Failed")]}
    run = change_event(addition_of(SUITE_SUMMARY, summary), entity_type="testSuite", entity=entity)
    assert event_text(run).headline == "orders: test run failed: 1 failed (t0 of orders)"
    other_run = run.model_copy(update={"entity": {"id": "s-2", "name": "nightly"}})
    assert event_text(other_run).headline.startswith("nightly: test run failed")


@pytest.mark.parametrize(
    ("before", "details", "facts"),
    [
        (None, "(1 new failure)", ["new failures: t0 of orders", "still failing: t1 of orders since {time}"]),
        (
            {"status": "Success", "timestamp": 20},
            "(2 new failures)",
            ["new failures: t1 of orders, t0 of orders"],
        ),
        (
            {"status": "Failed", "timestamp": 150},
            "(none new)",
            ["still failing: t0 of orders since {time}, t1 of orders since {time}"],
        ),
    ],
)
def test_a_run_of_a_suite_names_new_failures_first_and_since_when_the_others_fail(
    before: dict[str, Any] | None, details: str, facts: list[str]
) -> None:
    results = [
        _result(2, "Success"),
        _result(1, "Failed") | {"timestamp": 100, "failingSince": 40},
        _result(0, "Aborted") | {"timestamp": 100, "failingSince": 100},
    ]
    counts = {"failed": 1, "aborted": 1, "success": 1}
    summary = {"status": "Failed", "timestamp": 100, **counts, "testCaseResultSummary": results}
    text = event_text(change_event(update_of(SUITE_SUMMARY, before, summary)))
    assert text.headline == f"orders: test run failed: 1 failed, 1 aborted, 1 passed {details}"
    lines = [line.labelled_text for line in text.lines if line.label != "before"]
    assert lines[: len(facts)] == [fact.format(time="1970-01-01 00:00 UTC") for fact in facts]


def test_a_run_names_the_tasks_that_failed() -> None:
    tasks = [{"name": f"t{number}", "executionStatus": "Failed"} for number in range(7)]
    run = {"executionStatus": "Failed", "taskStatus": tasks, "timestamp": 0, "endTime": 3_840_000}
    run |= {"error": {"errorMessage": "disk full", "failedTask": "t9", "stackTrace": "at Loader.java:7"}}
    lines = event_text(change_event(update_of(RUN, {"executionStatus": "Failed", "timestamp": 0}, run))).lines
    assert [line.labelled_text for line in lines] == [
        "error: disk full",
        "failed tasks: t0, t1, t2, t3, t4 and 3 more",
        "took: 1 h 4 min",
        "before: failed, 1970-01-01 00:00 UTC",
        "what to do: repair it",
    ]
    assert is_report(change_event(addition_of(RUN, run)))
    assert not is_report(change_event(addition_of(INCIDENT, {})))


def test_a_run_of_an_ingestion_pipeline_says_what_it_failed_at_and_how_long_it_took() -> None:
    before = {"runId": "r1", "pipelineState": "success", "timestamp": 0}
    failures = [
        {"name": "orders", "error": "permission denied", "stackTrace": "at line 7"},
        {"name": "o", "error": "e"},
    ]
    steps = [{"name": "Source", "errors": 2, "failures": failures}, {"name": "Sink", "failures": []}]
    run = {"runId": "r2", "pipelineState": "failed", "timestamp": 3_900_000, "status": steps}
    run |= {"startDate": 60_000, "endDate": 3_900_000}
    event = change_event(update_of(RUN, before, run))
    assert event_text(event).headline == "orders: run failed"
    assert [line.labelled_text for line in event_text(event).lines] == [
        "error: orders: permission denied and 1 more",
        "failed tasks: Source",
        "took: 1 h 4 min",
        "last success: 1970-01-01 00:00 UTC",
        "what to do: repair it",
    ]
    assert tone_of(event) is Tone.FAILED


def test_a_run_of_an_ingestion_pipeline_recovers() -> None:
    failed = {"runId": "r1", "pipelineState": "failed", "timestamp": 0}
    event = change_event(update_of(RUN, failed, {"runId": "r2", "pipelineState": "success", "timestamp": 9_000}))
    assert event_text(event).headline == "orders: run succeeds again"
    assert [line.labelled_text for line in event_text(event).lines] == ["before: failed, 1970-01-01 00:00 UTC"]
    assert tone_of(event) is Tone.WELL


def test_an_earlier_report_of_the_same_run_is_no_run_before() -> None:
    running = {"runId": "r1", "pipelineState": "running", "timestamp": 0}
    event = change_event(update_of(RUN, running, running | {"pipelineState": "failed"}))
    assert [line.labelled_text for line in event_text(event).all_lines] == ["run failed", "what to do: repair it"]


@pytest.mark.parametrize(
    ("span_ms", "text"),
    [
        (0, "0 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (3_600_000, "1 h"),
        (3_840_000, "1 h 4 min"),
        (93_600_000, "1 d 2 h"),
    ],
)
def test_spans_of_time_are_said_in_words(span_ms: int, text: str) -> None:
    assert span_text(span_ms) == text


_KEYS = (
    *("testCaseStatus", "timestamp", "testResultValue", "taskStatus", "result", "user", "entity"),
    *("testCaseResultSummary", "testCase", "table", "name", "status", "success"),
    *("pipelineState", "error", "failures", "failedTask", "runId"),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_KEYS),
            inner,
        )
    ),
    max_leaves=8,
)


@example(RESULT, None, -(2**63) - 1)
@given(st.sampled_from([RESULT, RUN, INCIDENT, VIOLATION, SUITE_SUMMARY]), _JSON, _JSON)
def test_whatever_was_reported_can_be_said(field: str, old: Any, new: Any) -> None:
    assert event_text(change_event(addition_of(field, new))).lines is not None
    event_text(change_event(update_of(field, old, new)))


def test_a_failure_says_since_when_and_what_lies_downstream() -> None:
    names = tuple(f"pg.store.public.table{number}" for number in range(7))
    lines = [one.labelled_text for one in failure_lines(FailureContext(1_760_000_000_000, 3, ('a."b.c"', *names)))]
    assert lines == [
        "failing since: 2025-10-09 08:53 UTC, 3 times in a row",
        "downstream: b.c, table0, table1, table2, table3 and 3 more",
    ]
    assert list(failure_lines(FailureContext())) == []
    lineage_context = FailureContext(is_lineage_read=True)
    severe_context = replace(lineage_context, incident=FailureIncident("INC-7", Severity.SEVERITY_2))
    assert [one.labelled_text for one in failure_lines(lineage_context)] == ["downstream: none that may be named here"]
    assert list(failure_lines(lineage_context, is_rated=True)) == []
    assert [one.label for one in failure_lines(severe_context)] == ["incident"], "its severity says how bad it is"
    assert [one.label for one in failure_lines(replace(lineage_context, ended_ms=1))] == []
    for people, text in (
        (ToldPeople((), 0), []),
        (ToldPeople((), 1), ["told: 1 other person"]),
        (ToldPeople(("ana", "ben"), 5), ["told: ana, ben and 3 more"]),
    ):
        assert [line.labelled_text for line in failure_lines(FailureContext(audience=people))] == text
    causes = (ProbableCause("INC-3", "pg.a.raw.orders.not_null", "pg.a.raw.orders"), ProbableCause("INC-2", "x", "x"))
    assert [one.labelled_text for one in failure_lines(FailureContext(causes=causes))] == [
        "probably caused by: INC-3 on raw.orders"
    ]
    incident = FailureIncident("INC-7", Severity.SEVERITY_2, "ben")
    assert [one.labelled_text for one in failure_lines(FailureContext(incident=incident))] == [
        "incident: INC-7, Severity 2 (high), acknowledged by ben"
    ]
    again = FailureContext(1_760_000_000_000, 3, last_success_ms=1_759_990_000_000)
    assert [one.labelled_text for one in failure_lines(again, "Europe/Berlin")] == [
        "failing since: 2025-10-09 10:53 CEST, 3 times in a row",
        "last success: 2025-10-09 08:06 CEST",
    ]
    well = replace(again, ended_ms=1_760_003_840_000)
    assert [one.labelled_text for one in failure_lines(well)] == [
        "failed for: 1 h 4 min, since 2025-10-09 08:53 UTC, 3 times in a row"
    ]


def test_what_fails_still_says_since_when_and_how_often_in_one_line() -> None:
    state = {"since": 1_760_000_000_000, "failures": 3}
    lines = event_text(change_event(addition_of(STILL_FAILING, state)), zone="Europe/Berlin").lines
    assert [line.labelled_text for line in lines if line.label != "what to do"] == [
        "no success since: 2025-10-09 10:53 CEST, failed 3 times in a row"
    ]


@pytest.mark.parametrize(
    ("incident", "advice"),
    [
        (None, ["repair it"]),
        (
            FailureIncident("INC-7"),
            ["repair it, or acknowledge its incident, so that others know who is looking into it"],
        ),
        (FailureIncident("INC-7", acknowledged_by="ben"), ["nothing: ben is looking into it"]),
        (FailureIncident("INC-7", acknowledged_by="ben", acknowledger="Ben A"), ["nothing: Ben A is looking into it"]),
        (FailureIncident("INC-7", acknowledged_by="ben", acknowledger_id="b-1").read_by("b-1"), ["repair it"]),
        (FailureIncident("INC-7", acknowledged_by="ben", is_over=True), ["nothing: its incident is resolved"]),
    ],
)
def test_a_failure_says_what_to_do_and_who_does_it(incident: FailureIncident | None, advice: list[str]) -> None:
    opened = FieldChange(name=INCIDENT, new_value={"testCaseResolutionStatusType": "New"})
    failed = FieldChange(name=RESULT, new_value={"testCaseStatus": "Failed"})
    event = change_event(ChangeDescription(fields_added=(opened, failed)))
    lines = event_text(event, failure=FailureContext(incident=incident)).lines
    assert [line.text for line in lines if line.label == "what to do"] == advice


@pytest.mark.parametrize(
    ("field", "report", "advice"),
    [
        (RUN, {"executionStatus": "Failed"}, ["repair it"]),
        (RUN, {"executionStatus": "PartialSuccess"}, ["repair it"]),
        (RUN, {"pipelineState": "failed"}, ["repair it"]),
        (RESULT, {"testCaseStatus": "Failed"}, ["repair it"]),
        (RESULT, {"testCaseStatus": "Aborted"}, ["repair it"]),
        (RUN, {"executionStatus": "Successful"}, []),
        (RUN, {"executionStatus": "Pending"}, []),
        (RESULT, {"testCaseStatus": "Success"}, []),
        (SUITE_SUMMARY, {"status": "Failed", "failed": 1}, ["open the tests that fail, and repair what they found"]),
    ],
)
@pytest.mark.parametrize("context", [None, FailureContext()])
def test_a_failure_without_an_incident_says_what_to_do(
    field: str, report: dict[str, Any], advice: list[str], context: FailureContext | None
) -> None:
    lines = event_text(change_event(update_of(field, None, report)), failure=context).lines
    assert [line.text for line in lines if line.label == "what to do"] == advice
