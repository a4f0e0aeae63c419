"""What people do to incidents: acknowledge, assign, resolve, comment, once for all alerts that watch them.

Each is stored as a step and makes an event of the asset, ``alertIncidentUpdated``, in the field ``alertIncident``, and
no version. What an incident is already changes nothing. The incident of a test case in OpenMetadata's sense goes the
same way (``catalogue/quality/incidents.py``), whichever of the two a person handles.
Next: ``server/routes/alerts/alert_incidents.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tocsin.catalogue.quality import incidents as quality_incidents
from tocsin.conditions.test_results import TEST_CASE
from tocsin.errors import Conflict, InvalidInput, NotFound
from tocsin.flow.capture.write import Record
from tocsin.model.alert_incident import REASONS, AlertIncident, AlertIncidentStep, IncidentStatus, StepKind
from tocsin.model.change import (
    ALERT_INCIDENT,
    AWAY_UNTIL,
    IS_REMARK,
    IS_RESTORED,
    MEANT_FOR,
    OTHER_INCIDENT,
    ChangeDescription,
    ChangeEvent,
    EventType,
    FieldChange,
)
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Stored, Written
from tocsin.model.substitute import StandIn

_LONGEST_COMMENT = 4_000
_PEOPLE = ("user", "team")
_KEYS = {StepKind.ASSIGNED: ("assignee",), StepKind.RESOLVED: ("reason",)}
"""Keys of requests besides the comment."""

_KINDS_BY_STATUS = {"Ack": StepKind.ACKNOWLEDGED, "Assigned": StepKind.ASSIGNED, "Resolved": StepKind.RESOLVED}


@dataclass(frozen=True)
class Handling:
    """What a person does to an incident: the kind of step, a comment, whom it is assigned to, why it failed.

    ``other_id`` is the incident into which it is merged, from which it is split, or which is not its cause.
    ``stand_in``: the person it is meant for is away. ``case_step`` is the step that was taken of the test case's own
    before, so that both are one event.
    """

    kind: StepKind
    comment: str | None = None
    assignee: Document | None = None
    reason: str | None = None
    other_id: str | None = None
    stand_in: StandIn | None = None
    case_step: quality_incidents.Advance | None = None


def handling_of(kind: StepKind, request: Document) -> Handling:
    """Return what a request asks for.

    Raises
    ------
    InvalidInput : it has an unknown key, or a value of the wrong form
    """
    valid_keys = {"comment", *_KEYS.get(kind, ())}
    for key in sorted(request.keys() - valid_keys):
        raise InvalidInput(f"unknown key; valid are {', '.join(sorted(valid_keys))}", field=key)
    comment, assignee = request.get("comment"), request.get("assignee")
    if comment is not None and not (isinstance(comment, str) and 0 < len(comment) <= _LONGEST_COMMENT):
        raise InvalidInput(f"must be a text of 1 to {_LONGEST_COMMENT} characters", field="comment")
    if kind is StepKind.ASSIGNED:
        is_person = isinstance(assignee, dict) and assignee.get("type", "user") in _PEOPLE
        if not is_person:
            raise InvalidInput("must be a reference to a user or a team: its type and its id or name", field="assignee")
    reason = request.get("reason")
    if reason is not None and reason not in REASONS:
        raise InvalidInput(f"must be one of {', '.join(REASONS)}", field="reason")
    if kind is StepKind.COMMENTED and comment is None:
        raise InvalidInput("is missing", field="comment")
    return Handling(kind, comment, assignee, reason)


def handle(record: Record, incident_id: str, handling: Handling) -> Written:
    """Do it to an incident and its parts, or to the one into which a migration merged it; return its event.

    Raises
    ------
    NotFound : there is no such incident, or nobody by the name of the assignee
    Conflict : it is resolved
    """
    incidents = record.transaction.alert_incidents
    place = incidents.place_of(incident_id)
    # The asset is held before the incident, as by who handles the incident of a test case. Openings are held off
    # before it, too: who opens incidents waits for those that a success ends afterwards, and for no asset.
    if place is not None:
        record.transaction.find(place.entity_type, Key.by_id(place.entity_id))
    incidents.hold_off_openings()
    before = incidents.hold(incident_id)
    if before is None:
        raise NotFound(f"incident {incident_id} not found")
    after = _CHANGES[handling.kind](record, before, handling)
    if after == before and (handling.comment is None or _has_just_said(record, before, handling)):
        return Written({}, None)
    if not before.is_open:
        raise Conflict(f"{before.name} is resolved; the next failure opens a new incident")
    result = note_step(record, before, after, handling)
    for part in incidents.parts_of(before.id):
        handle(record, part.id, replace(handling, comment=None, case_step=None))
    return result


def _has_just_said(record: Record, incident: AlertIncident, handling: Handling) -> bool:
    """Return whether the newest step of an incident is this one, by the same person: the request was sent again."""
    return is_last_step(handling, record.actor.id, record.transaction.alert_incidents.steps(incident.id))


def is_last_step(handling: Handling, actor_id: str, steps: Sequence[AlertIncidentStep]) -> bool:
    """Return whether the newest step of an incident is this one, by this person; whom it is assigned to aside."""
    step = (handling.kind, actor_id, handling.comment, handling.reason)
    return any(step == (last.kind, last.user_id, last.comment, last.reason) for last in steps[-1:])


def note_step(record: Record, before: AlertIncident, after: AlertIncident, handling: Handling) -> Written:
    """Store what a person did to an incident that is held; return the event."""
    asset = record.transaction.find(before.entity_type, Key.by_id(before.entity_id))
    after = replace(after, updated_at_ms=record.at_ms)
    event = _note_event(record, asset, (before, after), handling) if asset else None
    step = AlertIncidentStep(
        id=record.ids.entity(),
        incident_id=before.id,
        kind=handling.kind,
        at_ms=record.at_ms,
        user_id=record.actor.id,
        user_name=record.actor.name,
        event_id=event.id if event else None,
        comment=handling.comment,
        reason=handling.reason,
        assignee=after.assignee,
        other_id=handling.other_id,
        for_id=handling.stand_in.user_id if handling.stand_in else None,
        away_until_ms=handling.stand_in.away_until_ms if handling.stand_in else None,
    )
    record.transaction.alert_incidents.take(after, step)
    return Written({}, event)


def take_step_for_all(record: Record, case: Stored, request: Document, *, stand_in: StandIn | None = None) -> Written:
    """Bring a test case's incident to a status, and the incident that alerts watch with it.

    ``stand_in``: the person whom it is meant to be assigned to is away.

    Raises
    ------
    InvalidInput : the details are not those of the status
    NotFound : nobody is there by the name of the assignee
    """
    record.transaction.alert_incidents.hold_off_openings()
    state, case_step = quality_incidents.add_step(record, case, request)
    if case_step is None:
        return Written(state, None)
    kind = _KINDS_BY_STATUS.get(request[quality_incidents.KIND])
    incident = record.transaction.alert_incidents.hold_unresolved(case.id) if kind else None
    # A success may have ended this one already, and the pipeline not yet have noticed.
    if incident is not None and kind is not None and incident.state_id in (None, state["stateId"]):
        details = request.get(quality_incidents.DETAILS) or {}
        comment = details.get("testCaseFailureComment") or None
        assignee, reason = details.get("assignee"), details.get("testCaseFailureReason")
        handling = Handling(kind, comment, assignee, reason, stand_in=stand_in, case_step=case_step)
        if event := handle(record, incident.id, handling).event:
            return Written(state, event)
    absence = _absence_of(record, stand_in)
    change = case_step.change.model_copy(update={"new_value": case_step.change.new_value | absence})
    event = quality_incidents.note_advance(record, case, case_step._replace(change=change)).event
    return Written(state, event)


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


def _comment(_record: Record, before: AlertIncident, _handling: Handling) -> AlertIncident:
    return before


_CHANGES: dict[StepKind, Callable[[Record, AlertIncident, Handling], AlertIncident]] = {
    StepKind.ACKNOWLEDGED: _acknowledge,
    StepKind.ASSIGNED: _assign,
    StepKind.RESOLVED: _resolve,
    StepKind.COMMENTED: _comment,
}
_KINDS_OF_CASES = frozenset(_KINDS_BY_STATUS.values())
"""What people do to incidents that the test case's own incident can say as well."""


def _note_event(
    record: Record, asset: Stored, incidents: tuple[AlertIncident, AlertIncident], handling: Handling
) -> ChangeEvent | None:
    """Add the event of the asset; of a test case, its own incident goes the same way."""
    before, after = incidents
    old, new = _event_value(record, before), _event_value(record, after) | _remarks_of(record, handling)
    changes, document = [FieldChange(name=ALERT_INCIDENT, old_value=old, new_value=new)], None
    case_step = handling.case_step
    if case_step is None and asset.entity_type == TEST_CASE and handling.kind in _KINDS_OF_CASES:
        status, details = _test_case_step(handling, after)
        case_step = quality_incidents.advance_incident(record, asset, (after.state_id, status), details)
    if case_step is not None:
        changes.append(case_step.change)
        document = case_step.document
    description = ChangeDescription().with_changes(*changes)
    return record.note(asset, description, event_type=EventType.ALERT_INCIDENT_UPDATED, document=document).event


def _test_case_step(handling: Handling, after: AlertIncident) -> tuple[str, Document | None]:
    """Return status and details of OpenMetadata's that say the same."""
    match handling.kind:
        case StepKind.ASSIGNED:
            return "Assigned", {"assignee": after.assignee}
        case StepKind.RESOLVED:
            comment = handling.comment or f"{after.name} was resolved"
            return "Resolved", {"testCaseFailureReason": handling.reason or "Other", "testCaseFailureComment": comment}
        case _:
            return "Ack", None


def _remarks_of(record: Record, handling: Handling) -> Document:
    """Return what was said, who is away, and the other incident: a reference to its asset, so that it is hidden too."""
    place = record.transaction.alert_incidents.place_of(handling.other_id) if handling.other_id else None
    asset = record.transaction.reference(place.entity_type, Key.by_id(place.entity_id)) if place else None
    return {
        **({"comment": handling.comment} if handling.comment else {}),
        **({"reason": handling.reason} if handling.reason else {}),
        **({IS_REMARK: True} if handling.kind is StepKind.COMMENTED else {}),
        **({IS_RESTORED: True} if handling.kind is StepKind.CAUSE_RESTORED else {}),
        **({OTHER_INCIDENT: asset | {"incident": place.name}} if place and asset else {}),
        **_absence_of(record, handling.stand_in),
    }


def _absence_of(record: Record, stand_in: StandIn | None) -> Document:
    """Return the person for whom an incident is assigned, and until when they are away; nothing for who is there."""
    person = record.transaction.reference("user", Key.by_id(stand_in.user_id)) if stand_in else None
    return {MEANT_FOR: person, AWAY_UNTIL: stand_in.away_until_ms} if stand_in and person else {}


def _event_value(record: Record, incident: AlertIncident) -> Document:
    """Return an incident as the event shows it."""
    assignee_key = incident.assignee
    assignee = assignee_key and record.transaction.reference(assignee_key["type"], Key.by_id(assignee_key["id"]))
    return {
        "id": incident.id,
        "name": incident.name,
        "status": incident.status.value,
        **({"assignee": assignee} if assignee else {}),
        **({"isMerged": True} if incident.part_of else {}),
        **({"severity": incident.severity.value} if incident.severity else {}),
    }
