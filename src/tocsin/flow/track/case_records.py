"""What an incident takes over from the test case's own when it is opened: people may have handled that one before.

A failure opens the test case's own incident at once, and ours some seconds later, when alerts are matched. Without
``autoCloseIncident`` the test case's own outlasts successes. Next: ``store/catalogue/alerts/case_records.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.report import IncidentStep


class CaseRecord(NamedTuple):
    """The test case's own incident: its id, and the steps by which it was acknowledged, assigned and resolved."""

    state_id: str
    acknowledgement: IncidentStep | None = None
    assignment: IncidentStep | None = None
    resolution: IncidentStep | None = None


def state_id_in(event: ChangeEvent) -> str | None:
    """Return the id of the test case's own incident that a failure belongs to; None if it names none: a silence."""
    return next((result.get("incidentId") for result in _new_values(event, "testCaseResult")), None)


def says_of(event: ChangeEvent, step: IncidentStep) -> bool:
    """Return whether an event says that a step was taken, or corrected."""
    return any(status.get("id") == step.id for status in _new_values(event, "incidentStatus"))


def _new_values(event: ChangeEvent, field: str) -> list[Document]:
    description = event.change_description
    changes = (*description.fields_added, *description.fields_updated) if description else ()
    return [one.new_value for one in changes if one.name == field and isinstance(one.new_value, dict)]


def record_of(steps: Sequence[IncidentStep]) -> CaseRecord:
    """Return what the steps of one incident of a test case, oldest first and at least one, come to.

    The first acknowledgement since it was ``New`` counts, and the last assignment.
    """
    acknowledgement: IncidentStep | None = None
    assignment: IncidentStep | None = None
    for step in steps:
        if step.status == "New":
            acknowledgement = None
        elif step.status == "Ack":
            acknowledgement = acknowledgement or step
        elif step.status == "Assigned":
            assignment = step
    last = steps[-1]
    return CaseRecord(last.state_id, acknowledgement, assignment, None if last.is_open else last)
