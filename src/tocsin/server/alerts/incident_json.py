"""Incidents of alerts as JSON, with the names that the caller may see.

Next: ``server/routes/alerts/alert_incidents.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tocsin.model.alert_incident import AlertIncident, AlertIncidentStep, StepKind
from tocsin.model.entity import Document
from tocsin.server.request import Caller

_SHOWN = ("name", "fullyQualifiedName", "displayName", "deleted")


def subjects_of(incident: AlertIncident) -> tuple[Document, Document]:
    """Return references, by id and type, to the alert and the asset of an incident."""
    alert = {"id": incident.subscription_id, "type": "eventsubscription"}
    return alert, {"id": incident.entity_id, "type": incident.entity_type}


def incidents_on_wire(incidents: Sequence[AlertIncident], caller: Caller) -> list[Document]:
    """Return incidents for an answer."""
    assignees = [one.assignee for one in incidents if one.assignee]
    references = _with_names([*(each for one in incidents for each in subjects_of(one)), *assignees], caller)
    return [_on_wire(one, references) for one in incidents]


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


def _on_wire(incident: AlertIncident, references: dict[str, Document]) -> Document:
    alert, asset = subjects_of(incident)
    resolved_by = StepKind.RECOVERED if incident.recovered_event_id is not None else StepKind.RESOLVED
    return {
        "id": incident.id,
        "name": incident.name,
        "status": incident.status.value,
        "alert": references.get(alert["id"], alert),
        "entity": references.get(asset["id"], asset),
        "assignee": references.get(incident.assignee["id"], incident.assignee) if incident.assignee else None,
        "openedAt": incident.opened_at_ms,
        "resolvedAt": incident.resolved_at_ms,
        "resolvedBy": None if incident.is_open else resolved_by.value,
        "updatedAt": incident.updated_at_ms,
    }


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
