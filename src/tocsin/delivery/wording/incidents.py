"""Text of incidents for recipients: what was done with one, by whom, and to whom it was handed.

Next: ``delivery/wording/reports.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tocsin.delivery.lines import SHOWN_LIMIT, UTC, YOU, ChangeLine, Rank, clean_line, moment_text, quotation_of
from tocsin.delivery.wording.facts import Value, object_in
from tocsin.model.change import (
    ALERT_INCIDENT,
    AWAY_UNTIL,
    IS_REMARK,
    IS_RESTORED,
    MEANT_FOR,
    OTHER_INCIDENT,
    ChangeDescription,
    ChangeEvent,
    FieldChange,
)
from tocsin.model.entity import Document
from tocsin.model.phrases import in_words
from tocsin.model.severity import severity_named

INCIDENT = "incidentStatus"
"""The field that holds the incident of a test; that of an incident that alerts watch is ``ALERT_INCIDENT``."""

INCIDENT_LABEL = "incident"
_ACTS = frozenset({INCIDENT, ALERT_INCIDENT})
_DETAILS = "testCaseResolutionStatusDetails"
STEPS = {"New": "opened", "Ack": "acknowledged", "Resolved": "resolved"}
_NAME, _STEP_KIND = "name", "testCaseResolutionStatusType"
_BY_ITSELF = "AutoResolved"
"""The comment of OpenMetadata where a success has resolved the incident of a test: its reason says nothing."""


def tells_of_incident(event: ChangeEvent) -> bool:
    """Return whether the event tells what was done with an incident: the asset itself has not changed."""
    described = event.change_description
    changes = (*described.fields_updated, *described.fields_added) if described else ()
    return bool(changes) and all(change.name in _ACTS for change in changes)


def tells_of_open_incident(event: ChangeEvent) -> bool:
    """Return whether the event tells what was done with an incident that stays open."""
    described = event.change_description
    changes = (*described.fields_updated, *described.fields_added) if described else ()
    states = (object_in(change.new_value) for change in changes)
    has_ended = any("resolved" in (str(state.get("status")), str(state.get(_STEP_KIND)).lower()) for state in states)
    return tells_of_incident(event) and not has_ended


class AssignedIncident(NamedTuple):
    """An incident by its name, empty where it has none, and what its assignee is called."""

    name: str
    assignee: str

    @property
    def is_to_reader(self) -> bool:
        """Return whether it is assigned to who is told so."""
        return self.assignee == YOU


def assigned_incident(described: ChangeDescription | None) -> AssignedIncident | None:
    """Return the incident that changes assign to a person or team; None if they assign none."""
    changes = (*described.fields_updated, *described.fields_added) if described else ()
    for change in sorted(changes, key=lambda change: change.name != ALERT_INCIDENT):
        assignee = _assignee_in(change.new_value)
        is_assigned = assignee.get("id") != _assignee_in(change.old_value).get("id")
        if change.name in _ACTS and assignee and is_assigned:
            return AssignedIncident(str(object_in(change.new_value).get(_NAME) or ""), _name_of(assignee))
    return None


class HandlingAdvice(NamedTuple):
    """How it goes on after a person has handled an incident, and the command with which to see it; empty for none."""

    text: str
    command: str


def handling_advice(event: ChangeEvent, described: ChangeDescription | None) -> HandlingAdvice | None:
    """Return how it goes on after an incident was acknowledged, commented on or resolved; None after anything else."""
    changes = (*described.fields_updated, *described.fields_added) if described and tells_of_incident(event) else ()
    for change in changes:
        step = object_in(change.new_value)
        if step.get("isMerged") != object_in(change.old_value).get("isMerged") or step.get(OTHER_INCIDENT):
            return None
        status = str(step.get("status") or STEPS.get(str(step.get(_STEP_KIND))))
        incident, who = step.get(_NAME), clean_line(event.user_name or "a person")
        if status == "resolved":
            return HandlingAdvice("nothing: if it fails again, a new incident begins", "")
        if step.get(IS_REMARK) and incident:
            command = f"tocsin incidents comment {incident} TEXT"
            return HandlingAdvice(f"answer if you know more: {command}", command)
        if status == "acknowledged":
            command = f"tocsin incidents show {incident}" if incident else ""
            text = f"nothing: {who} is looking into it, and there are no more reminders"
            return HandlingAdvice(f"{text}; to follow it: {command}" if incident else text, command)
    return None


def _name_of(reference: Document) -> str:
    return clean_line(str(reference.get("displayName") or reference.get("name") or "its assignee"))


def ids_in_assignment(described: ChangeDescription | None) -> list[Value]:
    """Return the ids of those to whom the changes assign an incident, or whose substitute it goes to."""
    changes = (*described.fields_added, *described.fields_updated) if described else ()
    steps = [change.new_value for change in changes if change.name in _ACTS]
    people = [one for step in steps for one in (_assignee_in(step), object_in(object_in(step).get(MEANT_FOR)))]
    return [one.get("id") for one in people]


def _is_meant_for(step: Value, person_id: str | None) -> bool:
    return object_in(object_in(step).get(MEANT_FOR)).get("id") == person_id


def with_incident(described: ChangeDescription | None, name: str, *, is_said: bool) -> ChangeDescription | None:
    """Return changes with the name of their incident, such as ``INC-7``; without its opening if that ``is_said``."""
    if described is None or INCIDENT not in described.paths():
        return described
    added, updated = (
        tuple(_with_name(change, name) for change in changes if not (is_said and change.name == INCIDENT))
        for changes in (described.fields_added, described.fields_updated)
    )
    return described.model_copy(update={"fields_added": added, "fields_updated": updated})


def _with_name(change: FieldChange, name: str) -> FieldChange:
    is_step = change.name == INCIDENT and isinstance(change.new_value, dict)
    return change.model_copy(update={"new_value": change.new_value | {_NAME: name}}) if is_step else change


def with_assignee(described: ChangeDescription | None, reader_id: str | None) -> ChangeDescription | None:
    """Return changes with the reader as "you" where an incident is assigned to them, or to another one for them."""
    if described is None or reader_id is None or reader_id not in ids_in_assignment(described):
        return described
    return described.model_copy(
        update={
            "fields_added": tuple(_to_reader(change, reader_id) for change in described.fields_added),
            "fields_updated": tuple(_to_reader(change, reader_id) for change in described.fields_updated),
        }
    )


def _to_reader(change: FieldChange, reader_id: str) -> FieldChange:
    if change.name not in _ACTS:
        return change
    you, details = {"id": reader_id, "name": YOU}, dict[str, Value]()
    if _assignee_in(change.new_value).get("id") == reader_id:
        details = {_DETAILS: {"assignee": you}} if change.name == INCIDENT else {"assignee": you}
    if _is_meant_for(change.new_value, reader_id):
        details |= {MEANT_FOR: you}
    return change.model_copy(update={"new_value": change.new_value | details}) if details else change


def _assignee_in(step: Value) -> Document:
    report = object_in(step)
    return object_in(object_in(report.get(_DETAILS)).get("assignee")) or object_in(report.get("assignee"))


def incident_line(_old: Document, step: Document, zone: str = UTC) -> ChangeLine:
    """Return what was done with the incident of a test, by its name if that is known: ``INC-7 assigned to you``."""
    subject = step.get(_NAME) or "incident"
    details = object_in(step.get(_DETAILS))
    kind = str(step.get(_STEP_KIND) or "changed")
    assignee = details.get("assignee")
    if kind == "Assigned" and isinstance(assignee, dict):
        return _assignment_line(str(subject), assignee, step, zone)
    reason = details.get("testCaseFailureReason")
    is_told = kind == "Resolved" and reason and details.get("testCaseFailureComment") != _BY_ITSELF
    why = f": {in_words(str(reason))}" if is_told else ""
    return ChangeLine(clean_line(f"{subject} {STEPS.get(kind) or in_words(kind)}{why}"))


def _assignment_line(incident: str, assignee: Document, step: Document, zone: str) -> ChangeLine:
    """Return to whom an incident was assigned, ``INC-7 assigned to Sol (substitute of Dana, who is away until …)``.

    Without a substitute it is assigned to who is away.
    """
    text = f"{incident} assigned to {_name_of(assignee)}"
    person, until_ms = object_in(step.get(MEANT_FOR)), step.get(AWAY_UNTIL)
    if not person or not isinstance(until_ms, int):
        return ChangeLine(clean_line(text, limit=SHOWN_LIMIT))
    until = moment_text(until_ms, zone)
    if person.get("id") == assignee.get("id"):
        absence = "" if _name_of(assignee) == YOU else f", who is away until {until}"
    elif person.get("name") == YOU:
        absence = f" (your substitute, as you are away until {until})"
    else:
        absence = f" (substitute of {_name_of(person)}, who is away until {until})"
    moments = ((until, until_ms),) if absence else ()
    return ChangeLine(clean_line(f"{text}{absence}", limit=SHOWN_LIMIT), moments=moments)


def alert_incident_lines(before: Document, after: Document, _asset: Document, zone: str) -> Iterator[ChangeLine]:
    """Yield what a person did to an incident of an alert, ``INC-7 assigned to Ana (alert Late)``, and how bad it is."""
    who, name = object_in(after.get("assignee")), str(after.get("name") or "incident")
    is_assigned = who and who.get("id") != object_in(before.get("assignee")).get("id")
    action = "commented on" if after.get(IS_REMARK) else str(after.get("status") or "changed")
    is_moved, is_merged = before.get("isMerged") != after.get("isMerged"), after.get("isMerged")
    other_name = object_in(after.get(OTHER_INCIDENT)).get("incident") or "another incident"
    if is_moved:
        action = f"merged into {other_name}" if is_merged else f"split from {other_name}"
    elif after.get(OTHER_INCIDENT):
        is_restored = bool(after.get(IS_RESTORED))
        action = f"may be caused by {other_name} after all" if is_restored else f"has another cause than {other_name}"
    alert = object_in(after.get("alert"))
    comment = f": {quotation_of(str(after['comment']))}" if after.get("comment") else ""
    line = ChangeLine(clean_line(f"{name} {action}", limit=SHOWN_LIMIT))
    line = _assignment_line(name, who, after, zone) if is_assigned and not is_moved else line
    yield line._replace(text=f"{line.text}{comment}", rank=Rank.REPORTED)
    if alert:  # of earlier versions, which kept an incident for each alert
        yield ChangeLine(f"alert {_name_of(alert)}", rank=Rank.REPORTED, label="watched by")
    if (severity := severity_named(after.get("severity"))) is not None:
        incident = f"{after['name']}, {severity.words}" if after.get("name") else severity.words
        yield ChangeLine(clean_line(incident), rank=Rank.REPORTED, label=INCIDENT_LABEL)
    if isinstance(cause := after.get("reason"), str):
        yield ChangeLine(clean_line(in_words(cause)), rank=Rank.REPORTED, label="cause")
    if is_moved:
        follows = (
            f"what is done to {other_name} counts for it as well" if is_merged else "it is handled on its own again"
        )
        yield ChangeLine(clean_line(follows), rank=Rank.REPORTED, label="what follows")
