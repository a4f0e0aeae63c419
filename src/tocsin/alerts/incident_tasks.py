"""Incidents of test cases as tasks of OpenMetadata 2: their ids are the ``stateId``, and they say what may come next.

Only their form is another: what is done to a task is a step of the incident (``alerts/incidents.py``).
Source: OpenMetadata 2.0, ``entity/tasks/task.json`` and the transitions of its incident workflow.
Next: ``server/entities/incident_tasks.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tocsin.alerts.incidents import take_step_for_all
from tocsin.catalogue.quality.incidents import DETAILS, KIND, is_at, with_test_case
from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture.references import reference_to
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.stored import Stored, Written
from tocsin.model.substitute import StandIn

CATEGORY, TYPE = "Incident", "TestCaseResolution"

STATUSES: Mapping[str, tuple[str, ...]] = {
    "Open": ("New",),
    "InProgress": ("Ack", "Assigned"),
    "Completed": ("Resolved",),
}
"""The statuses of such tasks, with those of incidents that each stands for."""

GROUPS: Mapping[str, tuple[str, ...]] = {"open": ("New", "Ack", "Assigned"), "closed": ("Resolved",)}
"""Groups of statuses by which tasks are listed."""

PRIORITIES = ("Critical", "High", "Medium", "Low")
_PRIORITY_BY_SEVERITY = dict(zip((f"Severity{number}" for number in range(1, 6)), (*PRIORITIES, "Low"), strict=True))


class _Stage(NamedTuple):
    """Where an incident is: by its id and name, and which transitions lead on."""

    id: str
    name: str
    transitions: tuple[str, ...] = ()


_STAGES: Mapping[str, _Stage] = {
    "New": _Stage("new", "New", ("ack", "assign", "resolve")),
    "Ack": _Stage("ack", "Acknowledged", ("assign", "resolve")),
    "Assigned": _Stage("assigned", "Assigned", ("reassign", "resolve")),
    "Resolved": _Stage("resolved", "Resolved"),
}
_TARGETS = {"ack": "Ack", "assign": "Assigned", "reassign": "Assigned", "resolve": "Resolved"}
_LABELS = {"ack": "Acknowledge", "assign": "Assign", "reassign": "Reassign", "resolve": "Resolve"}
_ENDS: Document = {"resolutionType": "Completed", "formRef": "resolve", "requiresComment": True}
_STATUS_BY_STEP = {step: status for status, steps in STATUSES.items() for step in steps}


def task_of(steps: Sequence[Document]) -> Document:
    """Return the task for an incident, from its steps, newest first."""
    newest, first = steps[0], steps[-1]
    case, details, severity = newest["testCaseReference"], newest.get(DETAILS) or {}, newest.get("severity")
    stage = _STAGES[newest[KIND]]
    assignee = next((one[DETAILS]["assignee"] for one in steps if one[KIND] == "Assigned"), None)
    reason = details.get("testCaseFailureReason")
    task: Document = {
        "id": newest["stateId"],
        "name": f"Incident: {case['name']}"[:256],
        "category": CATEGORY,
        "type": TYPE,
        "status": _STATUS_BY_STEP[newest[KIND]],
        "priority": _PRIORITY_BY_SEVERITY.get(severity or "", "Medium"),
        "about": case,
        "createdBy": first.get("updatedBy"),
        "assignees": [assignee] if assignee else [],
        "payload": _without_missing(
            {
                "testCaseResolutionStatusId": newest["stateId"],
                "testCaseResult": case,
                "severity": severity,
                "failureReason": reason,
            }
        ),
        "resolution": _resolution(newest, details) if newest[KIND] == "Resolved" else None,
        "workflowStageId": stage.id,
        "workflowStageDisplayName": stage.name,
        "availableTransitions": [_transition(name) for name in stage.transitions],
        "createdAt": first["timestamp"],
        "updatedAt": newest["timestamp"],
        "updatedBy": (newest.get("updatedBy") or {}).get("name"),
    }
    return _without_missing(task)


def _without_missing(document: Document) -> Document:
    return {key: value for key, value in document.items() if value is not None}


def _resolution(step: Document, details: Document) -> Document:
    return _without_missing(
        {
            "type": "Completed",
            "resolvedBy": details.get("resolvedBy"),
            "resolvedAt": step["timestamp"],
            "comment": details.get("testCaseFailureComment"),
            "payload": {"testCaseFailureReason": details.get("testCaseFailureReason")},
        }
    )


def _transition(name: str) -> Document:
    stage = _STAGES[_TARGETS[name]]
    target: Document = {"targetStageId": stage.id, "targetTaskStatus": _STATUS_BY_STEP[_TARGETS[name]]}
    return {"id": name, "label": _LABELS[name], **target, **(_ENDS if name == "resolve" else {})}


def asked_assignee(request: Document) -> Document | None:
    """Return whom a request assigns an incident to; None for another transition. Raises as ``take_transition``."""
    return (_details_of(_transition_asked(request), request) or {}).get("assignee")


def take_transition(
    record: Record, case: Stored, state_id: str, request: Document, *, stand_in: StandIn | None = None
) -> Written:
    """Take an incident, by its task, one step further; the step that it has just taken changes nothing.

    ``stand_in``: the person whom it is meant to be assigned to is away.

    Raises
    ------
    InvalidInput : the request names no transition, or lacks what its transition needs
    Conflict : the incident is over, or this transition does not lead on from where it is
    """
    latest = record.transaction.incidents.latest(case.id)
    transition = _transition_asked(request)
    details = {"assignee": stand_in.assignee} if stand_in else _details_of(transition, request)
    step: Document = {"testCaseReference": case.fqn, KIND: _TARGETS[transition]}
    step |= {DETAILS: details} if details else {}
    if latest is None or latest.state_id != state_id:
        raise _conflict(_STAGES["Resolved"])
    if is_at(record, latest, step):
        return Written(with_test_case(latest.document, reference_to(case)), None)
    if transition not in _STAGES[latest.status].transitions:
        raise _conflict(_STAGES[latest.status])
    return take_step_for_all(record, case, step, stand_in=stand_in)


def _conflict(stage: _Stage) -> Conflict:
    leads_on = ", ".join(stage.transitions) or "nothing"
    return Conflict(f"the incident is {stage.name.lower()}; what leads on from there: {leads_on}")


def _transition_asked(request: Document) -> str:
    """Return the transition that a request names; one that says how the task ends resolves it."""
    name = request.get("transitionId") or ("resolve" if request.get("resolutionType") == "Completed" else None)
    if not isinstance(name, str) or name not in _TARGETS:
        raise InvalidInput(f"must be one of {', '.join(_TARGETS)}", field="transitionId")
    return name


def _details_of(transition: str, request: Document) -> Document | None:
    payload = request.get("payload")
    values = payload if isinstance(payload, dict) else {}
    if transition in ("assign", "reassign"):
        assignees = values.get("assignees")
        assignee = assignees[0] if isinstance(assignees, list) and len(assignees) == 1 else values.get("assignee")
        if not isinstance(assignee, dict):
            raise InvalidInput("must hold one reference to a user or team, as assignees", field="payload")
        return {"assignee": assignee}
    if transition == "resolve":
        comment = request.get("comment") or values.get("testCaseFailureComment")
        if not comment:
            raise InvalidInput("is needed to resolve an incident", field="comment")
        reason = values.get("testCaseFailureReason") or "Other"
        return {"testCaseFailureReason": reason, "testCaseFailureComment": comment}
    return None
