"""Test results; a failure opens an incident unless one is open, a success that is the newest drops the failed rows.

A result that is dated ahead, by a clock that is wrong, is kept, and opens, resolves and drops nothing.
Failed rows sent with a result are stored but never part of an event, because they may hold masked values.
Source: OpenMetadata's ``TestCaseResultRepository``. Next: ``catalogue/quality/incidents.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tocsin.catalogue.observations.failed_rows import forget_failed_rows_until
from tocsin.catalogue.observations.field_checks import checked_document
from tocsin.catalogue.observations.reports import (
    REPORTS,
    append_event,
    append_removal,
    is_newest_report,
    is_unchanged,
    part_for_events,
)
from tocsin.catalogue.quality import incidents
from tocsin.catalogue.quality.suite_runs import complete_runs
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture import json_patch
from tocsin.flow.capture.diff import is_same
from tocsin.flow.capture.write import Record
from tocsin.model.change import EventType, FieldChange
from tocsin.model.entity import Document
from tocsin.model.report import Line, StoredReport
from tocsin.model.stored import Stored, Written

_KIND = REPORTS["testCase"]
_FAILED, _SUCCEEDED = "Failed", "Success"
_RESOLUTION: Document = {"testCaseFailureReason": "Other", "testCaseFailureComment": "AutoResolved"}
_NOT_KEPT = ("fqn", "incidentId", "testCase")


def add_result(record: Record, case: Stored, result: Document) -> Written:
    """Keep the result of one run of a test case; a failure makes a ``testCaseFailure`` and opens an incident."""
    checked_result = checked_document(_KIND.form, result)
    kept_result = {key: value for key, value in checked_result.items() if key not in _NOT_KEPT}
    line = Line(case.id, _KIND.name)
    before = record.transaction.series.at(line, kept_result["timestamp"])
    if before is not None and is_unchanged(_KIND, before, kept_result):
        incident = {"incidentId": before["incidentId"]} if "incidentId" in before else {}
        record.transaction.series.put(line, _report_of(kept_result | incident))
        return Written(case.document, None)
    return _keep(record, case, kept_result)


def patch_result(record: Record, case: Stored, at_ms: int, operations: Sequence[json_patch.PatchOperation]) -> Written:
    """Correct the result of one run; nothing if that changes nothing.

    Raises
    ------
    NotFound : the test case has no result at that time
    InvalidInput : the patch changes the timestamp
    """
    before = record.transaction.series.at(Line(case.id, _KIND.name), at_ms)
    if before is None:
        raise NotFound(f"test case {case.fqn} has no result at {at_ms}")
    after = checked_document(_KIND.form, json_patch.apply_to_copy(before, operations, record.bounds))
    if after["timestamp"] != at_ms:
        raise InvalidInput("the timestamp of a result cannot be changed", field="timestamp")
    if is_same(before, after):
        return Written(case.document, None)
    kept_result = {key: value for key, value in after.items() if key not in _NOT_KEPT}
    return _keep(record, case, kept_result, was_failed=before["testCaseStatus"] == _FAILED)


def remove_result(record: Record, case: Stored, at_ms: int) -> Written:
    """Forget the result that was reported for that moment.

    Raises
    ------
    NotFound : the test case has no result at that time
    """
    removed_result = record.transaction.series.remove(Line(case.id, _KIND.name), at_ms)
    if removed_result is None:
        raise NotFound(f"test case {case.fqn} has no result at {at_ms}")
    return append_removal(record, case, part_for_events(removed_result))


def _keep(record: Record, case: Stored, result: Document, *, was_failed: bool = False) -> Written:
    is_failure, is_ahead = result["testCaseStatus"] == _FAILED, record.is_ahead(result["timestamp"])
    is_recovery = result["testCaseStatus"] == _SUCCEEDED and not is_ahead
    is_recovery = is_recovery and is_newest_report(record, case, _KIND, result)
    step = _resolution(record, case) if is_recovery else None
    if is_failure and not is_ahead:
        incident_id, change = incidents.open_incident(record, case, partial(_was_well, record, case, result))
        result = result | {"incidentId": incident_id}
        step = (change, case.document | {"incidentId": incident_id}) if change else None
    record.transaction.series.put(Line(case.id, _KIND.name), _report_of(result))
    event_type = EventType.TEST_CASE_FAILURE if is_failure and not was_failed else EventType.ENTITY_UPDATED
    newest = {"testCaseStatus": result["testCaseStatus"]}
    result_write = append_event(
        record, case, _KIND, part_for_events(result), event_type=event_type, newest=newest, also=step
    )
    if is_recovery:
        forget_failed_rows_until(record, case, result["timestamp"])
    complete_runs(record, case, result["timestamp"])
    return result_write


def _was_well(record: Record, case: Stored, failure: Document) -> bool:
    """Return whether a failure is the newest result, and before it came a success, but for runs that were cut short."""
    at_ms, newest_ms = failure["timestamp"], case.document.get(_KIND.held_as, {}).get("timestamp", 0)
    if newest_ms > at_ms and not record.is_ahead(newest_ms):
        return False
    line = Line(case.id, _KIND.name)
    before = record.transaction.series.latest(line, before_ms=at_ms, statuses=(_FAILED, _SUCCEEDED))
    return before is not None and before.status == _SUCCEEDED


def _resolution(record: Record, case: Stored) -> tuple[FieldChange, Document] | None:
    """Resolve the open incident of a test with 2.0's ``autoCloseIncident``; return what that changes, None if nothing.

    It is part of the event of the success: who hears of that needs no second message about its incident.
    """
    if not case.document.get("autoCloseIncident"):
        return None
    advance = incidents.advance_incident(record, case, (None, "Resolved"), _RESOLUTION)
    return None if advance is None else (advance.change, advance.document or case.document)


def _report_of(result: Document) -> StoredReport:
    return StoredReport(result["timestamp"], result, result["testCaseStatus"])
