"""What people do to incidents: acknowledge, assign, resolve, once for all alerts that watch them.

Each is stored as a step and makes an event of the asset, ``alertIncidentUpdated``, in the field ``alertIncident``, and
no version. What an incident is already changes nothing. Incidents of test cases: ``catalogue/quality/incidents.py``.
Next: ``server/routes/alerts/alert_incidents.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tocsin.errors import Conflict, InvalidInput, NotFound
from tocsin.flow.capture.write import Record
from tocsin.model.alert_incident import AlertIncident, AlertIncidentStep, IncidentStatus, StepKind
from tocsin.model.change import ALERT_INCIDENT, ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Written

_LONGEST_COMMENT = 4_000
_PEOPLE = ("user", "team")


@dataclass(frozen=True)
class Handling:
    """What a person does to an incident: the kind of step, a comment, and whom it is assigned to."""

    kind: StepKind
    comment: str | None = None
    assignee: Document | None = None


def handling_of(kind: StepKind, request: Document) -> Handling:
    """Return what a request asks for.

    Raises
    ------
    InvalidInput : it has an unknown key, or a value of the wrong form
    """
    valid_keys = {"comment", "assignee"} if kind is StepKind.ASSIGNED else {"comment"}
    for key in sorted(request.keys() - valid_keys):
        raise InvalidInput(f"unknown key; valid are {', '.join(sorted(valid_keys))}", field=key)
    comment, assignee = request.get("comment"), request.get("assignee")
    if comment is not None and not (isinstance(comment, str) and 0 < len(comment) <= _LONGEST_COMMENT):
        raise InvalidInput(f"must be a text of 1 to {_LONGEST_COMMENT} characters", field="comment")
    if kind is StepKind.ASSIGNED:
        is_person = isinstance(assignee, dict) and assignee.get("type", "user") in _PEOPLE
        if not is_person:
            raise InvalidInput("must be a reference to a user or a team: its type and its id or name", field="assignee")
    return Handling(kind, comment, assignee)


def handle(record: Record, incident_id: str, handling: Handling) -> Written:
    """Do it to an incident, or to the one into which it was merged; return the event.

    Raises
    ------
    NotFound : there is no such incident, or nobody by the name of the assignee
    Conflict : it is resolved
    """
    before = record.transaction.alert_incidents.hold(incident_id)
    if before is None:
        raise NotFound(f"incident {incident_id} not found")
    after = _CHANGES[handling.kind](record, before, handling)
    if after == before and handling.comment is None:
        return Written({}, None)
    if not before.is_open:
        raise Conflict(f"{before.name} is resolved; the next failure opens a new incident")
    after = replace(after, updated_at_ms=record.at_ms)
    event = _note_event(record, before, after, handling.comment)
    step = AlertIncidentStep(
        id=record.ids.entity(),
        incident_id=before.id,
        kind=handling.kind,
        at_ms=record.at_ms,
        user_id=record.actor.id,
        user_name=record.actor.name,
        event_id=event.id if event else None,
        comment=handling.comment,
        assignee=after.assignee,
    )
    record.transaction.alert_incidents.take(after, step)
    return Written({}, event)


def _acknowledge(_record: Record, before: AlertIncident, _handling: Handling) -> AlertIncident:
    return replace(before, status=IncidentStatus.ACKNOWLEDGED) if before.is_open else before


def _assign(record: Record, before: AlertIncident, handling: Handling) -> AlertIncident:
    reference = handling.assignee or {}
    assignee = record.resolver().one(reference.get("type", "user"), reference)
    return replace(before, assignee={"id": assignee["id"], "type": assignee["type"]})


def _resolve(record: Record, before: AlertIncident, _handling: Handling) -> AlertIncident:
    if not before.is_open:
        return before
    return replace(before, status=IncidentStatus.RESOLVED, resolved_at_ms=record.at_ms)


_CHANGES: dict[StepKind, Callable[[Record, AlertIncident, Handling], AlertIncident]] = {
    StepKind.ACKNOWLEDGED: _acknowledge,
    StepKind.ASSIGNED: _assign,
    StepKind.RESOLVED: _resolve,
}


def _note_event(record: Record, before: AlertIncident, after: AlertIncident, comment: str | None) -> ChangeEvent | None:
    """Add the event of the asset; none if it is deleted for good."""
    asset = record.transaction.find(before.entity_type, Key.by_id(before.entity_id))
    if asset is None:
        return None
    old, new = _event_value(record, before, None), _event_value(record, after, comment)
    change = FieldChange(name=ALERT_INCIDENT, old_value=old, new_value=new)
    description = ChangeDescription(fields_updated=(change,))
    return record.note(asset, description, event_type=EventType.ALERT_INCIDENT_UPDATED).event


def _event_value(record: Record, incident: AlertIncident, comment: str | None) -> Document:
    """Return an incident as the event shows it."""
    assignee_key = incident.assignee
    assignee = assignee_key and record.transaction.reference(assignee_key["type"], Key.by_id(assignee_key["id"]))
    return {
        "id": incident.id,
        "name": incident.name,
        "status": incident.status.value,
        **({"assignee": assignee} if assignee else {}),
        **({"comment": comment} if comment else {}),
    }
