"""Merging of incidents by hand, and its undoing: several failures with one cause are handled as one.

Each keeps its asset, its watchers and its end; what people do to the one that others are part of is done to these as
well, but not the reverse. A probable cause that is none can be dismissed instead, and restored. All this takes turns.
Next: ``alerts/incidents.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tocsin.alerts.incidents import Handling, handle, note_step
from tocsin.errors import Conflict, NotFound
from tocsin.flow.capture.write import Record
from tocsin.model.alert_incident import ABOUT_CAUSES, AlertIncident, AlertIncidentStep, IncidentStatus, StepKind
from tocsin.model.people import Actor
from tocsin.model.stored import Key, Written

_UNCHANGED = Written({}, None)


def merge(record: Record, part_id: str, target_id: str, *, comment: str | None = None) -> Written:
    """Make an incident part of another one, or of that which the other one is part of; return the event.

    Its own parts become parts of the target. An acknowledgement and an assignee of the target hold for it from now on.

    Raises
    ------
    NotFound : there is no such incident
    Conflict : one of them is resolved, or it is the target's own, or another one's part
    """
    record.transaction.alert_incidents.take_turn()
    part, target = _hold_pair(record, part_id, target_id)
    if part.part_of == target.id:
        return _UNCHANGED
    _check_may_be_joined(part, target)
    written = _join(record, part, target, comment)
    for inner_part in record.transaction.alert_incidents.parts_of(part.id):
        _join(record, inner_part, target, None)
    return written


def split(record: Record, part_id: str, *, comment: str | None = None) -> Written:
    """Let an incident stand for itself again; return the event. One that is no part of another stays as it is.

    Raises
    ------
    NotFound : there is no such incident
    Conflict : it is resolved
    """
    record.transaction.alert_incidents.take_turn()
    part = _hold(record, part_id)
    if part.part_of is None:
        return _UNCHANGED
    if not part.is_open:
        raise Conflict(f"{part.name} is resolved")
    handling = Handling(StepKind.SPLIT, comment, other_id=part.part_of)
    return note_step(record, part, replace(part, part_of=None), handling)


def dismiss_cause(record: Record, incident_id: str, cause_id: str, *, comment: str | None = None) -> Written:
    """Note that another incident is not the cause of one; return the event. What is noted already stays as it is.

    Raises
    ------
    NotFound : there is no such incident
    Conflict : it is resolved, or is the other one
    """
    return _judge_cause(record, incident_id, Handling(StepKind.NOT_CAUSED, comment, other_id=cause_id))


def restore_cause(record: Record, incident_id: str, cause_id: str, *, comment: str | None = None) -> Written:
    """Note that a dismissed cause may be that of an incident after all; one that is not dismissed stays as it is.

    Raises as ``dismiss_cause``.
    """
    return _judge_cause(record, incident_id, Handling(StepKind.CAUSE_RESTORED, comment, other_id=cause_id))


def _judge_cause(record: Record, incident_id: str, handling: Handling) -> Written:
    incidents = record.transaction.alert_incidents
    incidents.take_turn()
    if (place := incidents.place_of(incident_id)) is not None:  # before the incident, as by who handles one
        record.transaction.find(place.entity_type, Key.by_id(place.entity_id))
    incident = _hold(record, incident_id)
    if incident.id == handling.other_id:
        raise Conflict(f"{incident.name} cannot be its own cause")
    is_dismissed = handling.other_id in dismissed_causes(incidents.steps(incident.id), incident.id)
    if is_dismissed is (handling.kind is StepKind.NOT_CAUSED):
        return _UNCHANGED
    if not incident.is_open:
        raise Conflict(f"{incident.name} is resolved")
    return note_step(record, incident, incident, handling)


def dismissed_causes(steps: Iterable[AlertIncidentStep], incident_id: str) -> list[str]:
    """Return the ids of the incidents of which people said last, in these steps, that they did not cause one."""
    judgements = [step for step in steps if step.incident_id == incident_id and step.kind in ABOUT_CAUSES]
    last_kinds = {step.other_id: step.kind for step in judgements if step.other_id}
    return [other_id for other_id, kind in last_kinds.items() if kind is StepKind.NOT_CAUSED]


def _join(record: Record, part: AlertIncident, target: AlertIncident, comment: str | None) -> Written:
    """Make an incident part of the target, with what people have done to that one, in their names."""
    handling = Handling(StepKind.MERGED, comment, other_id=target.id)
    written = note_step(record, part, replace(part, part_of=target.id), handling)
    steps = record.transaction.alert_incidents.steps(target.id)
    if target.status is IncidentStatus.ACKNOWLEDGED and part.status is IncidentStatus.OPEN:
        acknowledgements = [step for step in steps if step.kind is StepKind.ACKNOWLEDGED]
        handle(_in_the_name(record, acknowledgements[:1]), part.id, Handling(StepKind.ACKNOWLEDGED))
    if target.assignee is not None and target.assignee != part.assignee:
        assignments = [step for step in steps if step.kind is StepKind.ASSIGNED]
        handling = Handling(StepKind.ASSIGNED, assignee=target.assignee)
        handle(_in_the_name(record, assignments[-1:]), part.id, handling)
    return written


def _in_the_name(record: Record, steps: Sequence[AlertIncidentStep]) -> Record:
    """Return a record of who took the step of another incident: who merges has done nothing to that."""
    return next((replace(record, actor=Actor(step.user_id, step.user_name)) for step in steps), record)


def _check_may_be_joined(part: AlertIncident, target: AlertIncident) -> None:
    for incident in (part, target):
        if not incident.is_open:
            raise Conflict(f"{incident.name} is resolved; only incidents that are not can be merged")
    if part.part_of is not None:
        raise Conflict(f"{part.name} is part of another incident; split it first")


def _hold_pair(record: Record, part_id: str, target_id: str) -> tuple[AlertIncident, AlertIncident]:
    """Return an incident and the one that stands for the target, both held, their assets in order before."""
    incidents = record.transaction.alert_incidents
    for place in sorted(filter(None, map(incidents.place_of, (part_id, target_id)))):
        record.transaction.find(place.entity_type, Key.by_id(place.entity_id))
    part, target = _hold(record, part_id), _hold(record, target_id)
    if target.part_of is not None:
        target = _hold(record, target.part_of)
    if part.id == target.id:
        raise Conflict(f"{part.name} cannot become part of itself or of its own part")
    return part, target


def _hold(record: Record, incident_id: str) -> AlertIncident:
    incident = record.transaction.alert_incidents.hold(incident_id)
    if incident is None:
        raise NotFound(f"incident {incident_id} not found")
    return incident
