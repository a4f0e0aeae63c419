"""Incidents of alerts: who sees one, who may change it, and JSON with the names that the caller may see.

Next: ``server/routes/alerts/alert_incidents.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tocsin.errors import Forbidden, NotFound
from tocsin.model.access import Operation
from tocsin.model.alert_incident import AlertIncident, AlertIncidentStep, IncidentStatus, StepKind
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.access.permissions import require
from tocsin.server.http.answer_shapes import Shape, json_of
from tocsin.server.http.json_schema import ID, OPEN, TIME, either, nullable
from tocsin.server.request import Caller

ROW = ENTITY_TYPES["eventsubscription"]
_SHOWN = ("name", "fullyQualifiedName", "displayName", "deleted")


def subjects_of(incident: AlertIncident) -> tuple[Document, Document]:
    """Return references, by id and type, to the alert and the asset of an incident."""
    alert = {"id": incident.subscription_id, "type": "eventsubscription"}
    return alert, {"id": incident.entity_id, "type": incident.entity_type}


def incidents_json(incidents: Sequence[AlertIncident], caller: Caller) -> list[Document]:
    """Return incidents for an answer."""
    assignees = [one.assignee for one in incidents if one.assignee]
    references = _with_names([*(each for one in incidents for each in subjects_of(one)), *assignees], caller)
    return [json_of(INCIDENT, NamedIncident(one, references)) for one in incidents]


def timeline(incident: AlertIncident, steps: Sequence[AlertIncidentStep], caller: Caller) -> list[Document]:
    """Return what happened to an incident, in order: who, when, what."""
    references = _with_names([one.assignee for one in steps if one.assignee], caller)
    return sorted(_moments(incident, steps, references), key=lambda one: one["timestamp"])


def _moments(
    incident: AlertIncident, steps: Sequence[AlertIncidentStep], references: dict[str, Document]
) -> Iterator[Document]:
    yield _moment(StepKind.OPENED, incident.opened_at_ms, incident.opened_event_id)
    for step in steps:
        details: Document = {"user": {"id": step.user_id, "type": "user", "name": step.user_name}}
        if step.kind is StepKind.ASSIGNED and step.assignee:
            details["assignee"] = references.get(step.assignee["id"], step.assignee)
        if step.comment:
            details["comment"] = step.comment
        yield _moment(step.kind, step.at_ms, step.event_id) | details
    if incident.recovered_event_id is not None and incident.resolved_at_ms is not None:
        yield _moment(StepKind.RECOVERED, incident.resolved_at_ms, incident.recovered_event_id)


def _moment(kind: StepKind, at_ms: int, event_id: str | None) -> Document:
    return {"kind": kind.value, "timestamp": at_ms, "eventId": event_id}


class NamedIncident(NamedTuple):
    """An incident, and the references, by id, that it names."""

    incident: AlertIncident
    references: Mapping[str, Document]

    def reference(self, reference: Document | None) -> Document | None:
        """Return a reference with the names that may be seen."""
        return reference and self.references.get(reference["id"], reference)


INCIDENT: Shape[NamedIncident] = {
    "id": (ID, lambda named: named.incident.id),
    "name": ({"type": "string", "examples": ["INC-7"]}, lambda named: named.incident.name),
    "status": (either(*IncidentStatus), lambda named: named.incident.status.value),
    "alert": (OPEN, lambda named: named.reference(subjects_of(named.incident)[0])),
    "entity": (OPEN, lambda named: named.reference(subjects_of(named.incident)[1])),
    "assignee": (nullable(OPEN), lambda named: named.reference(named.incident.assignee)),
    "openedAt": (TIME, lambda named: named.incident.opened_at_ms),
    "resolvedAt": (nullable(TIME), lambda named: named.incident.resolved_at_ms),
    "resolvedBy": (
        nullable(either(StepKind.RECOVERED, StepKind.RESOLVED)),
        lambda named: None if named.incident.is_open else _ending_of(named.incident).value,
    ),
    "updatedAt": (TIME, lambda named: named.incident.updated_at_ms),
}
"""An incident of an alert, without its timeline."""


def _ending_of(incident: AlertIncident) -> StepKind:
    return StepKind.RESOLVED if incident.recovered_event_id is None else StepKind.RECOVERED


def _with_names(references: Sequence[Document], caller: Caller) -> dict[str, Document]:
    """Return these references with names, those of the deleted as well; without names where they may not be seen."""
    visible_ids = caller.visibility.sees(references)
    documents = caller.parts.access.standing.of(
        {reference["id"] for reference in references if reference["id"] in visible_ids}
    )
    return {
        reference["id"]: reference | {key: document[key] for key in _SHOWN if document.get(key)}
        for reference in references
        for document in (documents.get(reference["id"], ("", {}))[1],)
    }


def found_incident(name: str, caller: Caller) -> AlertIncident:
    """Return an incident whose alert and asset the caller may see; to others it does not exist.

    Raises
    ------
    NotFound : there is none that the caller may see
    """
    require(caller, Operation.VIEW_BASIC, ROW)
    incident = caller.parts.alert_stores.incidents.find(name)
    if incident is None or as_shown(caller, [incident]) == [None]:
        raise NotFound(f"incident {name} not found")
    return incident


def as_shown(caller: Caller, incidents: Sequence[AlertIncident]) -> list[AlertIncident | None]:
    """Return each of these incidents whose alert and asset the caller may see."""
    visible_ids = caller.visibility.sees(reference for one in incidents for reference in subjects_of(one))
    return [one if all(each["id"] in visible_ids for each in subjects_of(one)) else None for one in incidents]


def check_may_change(incident: AlertIncident, caller: Caller) -> None:
    """Refuse who is neither assigned to it nor may edit its alert or asset; who made an alert is one of its owners.

    Raises
    ------
    Forbidden : the caller may not
    """
    permissions, assignee = caller.permissions, incident.assignee
    if caller.actor.is_admin or (assignee and assignee["id"] in {caller.actor.id, *permissions.subject.teams}):
        return
    documents = caller.parts.access.standing.of([incident.subscription_id, incident.entity_id])
    maker = caller.parts.alert_stores.events.creator_of(incident.subscription_id)
    for entity_id, operations in (
        (incident.subscription_id, (Operation.EDIT_ALL,)),
        (incident.entity_id, (Operation.EDIT_ALL, Operation.EDIT_TESTS)),
    ):
        kind, document = documents.get(entity_id, ("", {}))
        if maker and entity_id == incident.subscription_id:
            document = {**document, "owners": [*(document.get("owners") or ()), {"id": maker, "type": "user"}]}
        if any(permissions.may(operation, kind, document) for operation in operations):
            return
    raise Forbidden(f"Only the assignee of {incident.name} and editors of its alert or asset may change it.")
