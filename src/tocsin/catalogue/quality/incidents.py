"""Incidents of failed tests and their states: New, Ack, Assigned, Resolved.

Each transition is stored and makes a change event of the test case, in the field ``incidentStatus``. A failure opens
an incident unless one is open; the first failure after a resolution opens a new one. Upstream leaves an acknowledged
one as it is when the test fails again after a success; here it is ``New`` again, so that people acknowledge the new
failure, too. What people do to it and to the incident that alerts watch is one act (``alerts/incidents.py``).
Source: OpenMetadata's ``TestCaseResolutionStatusRepository``. Next: ``store/catalogue/quality/incidents.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from tocsin.catalogue.observations.field_checks import checked_document, mapping, name, shape_of
from tocsin.catalogue.observations.profiles import place_of
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture import json_patch
from tocsin.flow.capture.diff import is_same
from tocsin.flow.capture.references import reference_to
from tocsin.flow.capture.write import Record
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity import Document
from tocsin.model.report import IncidentStep
from tocsin.model.stored import Key, Stored, Written

FIELD = "incidentStatus"

KIND = "testCaseResolutionStatusType"
DETAILS = "testCaseResolutionStatusDetails"
_REQUEST = shape_of("createTestCaseResolutionStatus", {"testCaseReference": name, DETAILS: mapping})
_RESOLVED = shape_of("resolved")
_STEP = shape_of(
    "testCaseResolutionStatus",
    {DETAILS: mapping, "metrics": None},
    required=("id", "stateId", "timestamp", KIND),
)
_CHANGEABLE = frozenset({"severity", "updatedAt", "updatedBy"})


class Advance(NamedTuple):
    """What a step changes: the field of the event, and the document of the test case if that changes, too."""

    change: FieldChange
    document: Document | None


def open_incident(record: Record, case: Stored, was_well: Callable[[], bool]) -> tuple[str, FieldChange | None]:
    """Return the id of the test case's open incident; and, if that made a step, the change that says so.

    An acknowledged incident that is still open after a success is ``New`` again when the test fails: it was
    acknowledged for another failure. Its assignee stays. ``was_well`` searches for that success; it is called for an
    acknowledged one alone.
    """
    latest = record.transaction.incidents.latest(case.id)
    if latest is not None and latest.is_open and not (latest.status == "Ack" and was_well()):
        return latest.state_id, None
    step = _add_step(record, case, latest, {KIND: "New"})
    return step.state_id, _change(case, latest, step)


def add_step(record: Record, case: Stored, request: Document) -> tuple[Document, Advance | None]:
    """Bring a test case's incident to a status; return its state, and what that changes; leave the event to the caller.

    It changes nothing (None) if it has that status already, just so, also if another person resolved it.

    Raises
    ------
    InvalidInput : the details are not those of the status.
    NotFound : nobody is there by the name of the assignee.
    """
    fields = _fields_of(record, request)
    latest = record.transaction.incidents.latest(case.id)
    if latest is not None and _says_nothing_new(latest, fields, request):
        return with_test_case(latest.document, reference_to(case)), None
    step = _add_step(record, case, latest, fields)
    change = _change(case, latest, step)
    return change.new_value, Advance(change, _document_after(case, step))


def is_at(record: Record, latest: IncidentStep, request: Document) -> bool:
    """Return whether the latest step of a test case's incident is what a request asks for.

    Raises
    ------
    InvalidInput, NotFound : as ``add_step``
    """
    return latest.status == request[KIND] and _says_nothing_new(latest, _fields_of(record, request), request)


def note_advance(record: Record, case: Stored, advance: Advance) -> Written:
    """Add the event of a step that is no part of another one."""
    described = ChangeDescription().with_changes(advance.change)
    return Written(advance.change.new_value, record.note(case, described, document=advance.document).event)


def advance_incident(
    record: Record, case: Stored, aim: tuple[str | None, str], details: Document | None
) -> Advance | None:
    """Bring the open incident of a test case, by its id or whichever it is, to a status; leave the event to the caller.

    None: it is not open, or that far. What is assigned is not acknowledged afterwards.
    """
    state_id, status = aim
    latest = record.transaction.incidents.latest(case.id)
    if latest is None or not latest.is_open or state_id not in (None, latest.state_id):
        return None
    full_details = _details(record, status, details)
    fields = {KIND: status} | ({DETAILS: full_details} if full_details else {})
    if _says_nothing_new(latest, fields, fields) or (status, latest.document[KIND]) == ("Ack", "Assigned"):
        return None
    step = _add_step(record, case, latest, fields)
    return Advance(_change(case, latest, step), _document_after(case, step))


def correct_step(
    record: Record, case: Stored, step_id: str, operations: Sequence[json_patch.PatchOperation]
) -> Written:
    """Correct the severity of a step; all else of it is history.

    Raises
    ------
    NotFound : there is no such step.
    InvalidInput : the patch changes something else.
    """
    step = record.transaction.incidents.get(step_id)
    if step is None or step.test_case_id != case.id:
        raise NotFound(f"incident status {step_id} not found")
    before = with_test_case(step.document, reference_to(case))
    after = checked_document(_STEP, json_patch.apply_to_copy(before, operations, record.bounds))
    changed_keys = sorted(key for key in {*before, *after} if not is_same(before.get(key), after.get(key)))
    if fixed_keys := [key for key in changed_keys if key not in _CHANGEABLE]:
        raise InvalidInput(
            f"only the severity of an incident step can be changed, not {fixed_keys[0]}", field=fixed_keys[0]
        )
    if "severity" not in changed_keys:
        return Written(before, None)
    step_document = {key: value for key, value in after.items() if key != "testCaseReference"}
    new_step = replace(step, document=step_document | _stamp(record))
    record.transaction.incidents.correct(new_step)
    return note_advance(record, case, Advance(_change(case, step, new_step), None))


def with_test_case(document: Document, case: Document) -> Document:
    """Return an incident's state for responses and events: with the reference to its test case."""
    return document | {"testCaseReference": case}


def _document_after(case: Stored, step: IncidentStep) -> Document:
    """Return a test case's document, which names its incident as long as that is open."""
    new_case = {key: value for key, value in case.document.items() if key != "incidentId"}
    return new_case | ({"incidentId": step.state_id} if step.is_open else {})


def _add_step(record: Record, case: Stored, latest: IncidentStep | None, request: Document) -> IncidentStep:
    goes_on = latest is not None and (latest.is_open or request[KIND] == "Resolved")
    state_id = latest.state_id if latest and goes_on else record.ids.entity()
    at_ms = max(record.at_ms, latest.at_ms + 1) if latest else record.at_ms
    inherited_keys = (
        {"severity": latest.document["severity"]} if latest and goes_on and "severity" in latest.document else {}
    )
    step_id = record.ids.entity()
    document = inherited_keys | request | {"id": step_id, "stateId": state_id, "timestamp": at_ms} | _stamp(record)
    assignee = document.get(DETAILS, {}).get("assignee")
    step = IncidentStep(
        step_id,
        state_id,
        case.id,
        _tested_table_id(record, case),
        at_ms,
        request[KIND],
        document,
        assignee and assignee["id"],
    )
    record.transaction.incidents.add(step)
    return step


def _tested_table_id(record: Record, case: Stored) -> str:
    """Return the id of the table that a test case tests; empty if it is deleted."""
    table, _ = place_of(case.document["entityFQN"])
    reference = record.transaction.reference("table", Key.by_name(table))
    return reference["id"] if reference else ""


def _fields_of(record: Record, request: Document) -> Document:
    """Return what a request says of a step, its references completed."""
    fields = {key: value for key, value in checked_document(_REQUEST, request).items() if key != "testCaseReference"}
    details = _details(record, fields[KIND], fields.pop(DETAILS, None))
    return fields | ({DETAILS: details} if details else {})


def _details(record: Record, status: str, details: Document | None) -> Document | None:
    if status == "Assigned":
        assignee = (details or {}).get("assignee")
        if not assignee or set(details or {}) - {"assignee"}:
            raise InvalidInput(f"{DETAILS} must contain assignee, a reference to a user or team", field=DETAILS)
        return {"assignee": _person(record, assignee)}
    if status == "Resolved":
        resolved = checked_document(_RESOLVED, details or {})
        by = _person(record, resolved["resolvedBy"]) if "resolvedBy" in resolved else _actor(record)
        return resolved | ({"resolvedBy": by} if by else {})
    return None


def _person(record: Record, reference: object) -> Document:
    entity_type = reference.get("type", "user") if isinstance(reference, dict) else "user"
    if entity_type not in ("user", "team"):
        raise InvalidInput("the assignee of an incident must be a user or a team", field=DETAILS)
    return record.resolver().one(entity_type, reference)


def _actor(record: Record) -> Document | None:
    return record.transaction.reference("user", Key.by_id(record.actor.id))


def _stamp(record: Record) -> Document:
    by = _actor(record)
    return {"updatedAt": record.at_ms} | ({"updatedBy": by} if by else {})


def _says_nothing_new(latest: IncidentStep, fields: Document, request: Document) -> bool:
    """Return whether a step says what these fields say; who resolves counts only where the request names them."""
    if fields[KIND] == "New":
        return latest.is_open
    details, latest_details = dict(fields.get(DETAILS) or {}), dict(latest.document.get(DETAILS) or {})
    if "resolvedBy" not in (request.get(DETAILS) or {}):
        details.pop("resolvedBy", None)
        latest_details.pop("resolvedBy", None)
    plain_fields = {key: value for key, value in fields.items() if key != DETAILS}
    return is_same(latest_details, details) and all(
        is_same(latest.document.get(key), value) for key, value in plain_fields.items()
    )


def _change(case: Stored, before: IncidentStep | None, after: IncidentStep) -> FieldChange:
    reference = reference_to(case)
    old = with_test_case(before.document, reference) if before else None
    return FieldChange(name=FIELD, old_value=old, new_value=with_test_case(after.document, reference))
