"""Incidents of alerts as JSON, with the names that the caller may see.

Next: ``server/routes/alerts/alert_incidents.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tocsin.model.alert_incident import AlertIncident, AlertIncidentStep, StepKind
from tocsin.model.entity import Document
from tocsin.server.http.request import Caller

_SHOWN = ("name", "fullyQualifiedName", "displayName", "deleted")


def subjects_of(incident: AlertIncident) -> tuple[Document, Document]:
    """Return references, by id and type, to the alert and the asset of an incident."""
    alert = {"id": incident.subscription_id, "type": "eventsubscription"}
    return alert, {"id": incident.entity_id, "type": incident.entity_type}


def incidents_on_wire(incidents: Sequence[AlertIncident], caller: Caller) -> list[Document]:
    """Return incidents for an answer."""
    held = [one.assignee for one in incidents if one.assignee]
    named = _named([*(each for one in incidents for each in subjects_of(one)), *held], caller)
    return [_on_wire(one, named) for one in incidents]


def timeline(incident: AlertIncident, steps: Sequence[AlertIncidentStep], caller: Caller) -> list[Document]:
    """Return what happened to an incident, in order: who, when, what."""
    named = _named([one.assignee for one in steps if one.assignee], caller)
    return sorted(_moments(incident, steps, named), key=lambda one: one["timestamp"])


def _moments(
    incident: AlertIncident, steps: Sequence[AlertIncidentStep], named: dict[str, Document]
) -> Iterator[Document]:
    yield _moment(StepKind.OPENED, incident.opened_at_ms, incident.opened_event_id)
    for step in steps:
        more: Document = {"user": {"id": step.user_id, "type": "user", "name": step.user_name}}
        if step.kind is StepKind.ASSIGNED and step.assignee:
            more["assignee"] = named.get(step.assignee["id"], step.assignee)
        if step.comment:
            more["comment"] = step.comment
        yield _moment(step.kind, step.at_ms, step.event_id) | more
    if incident.recovered_event_id is not None and incident.resolved_at_ms is not None:
        yield _moment(StepKind.RECOVERED, incident.resolved_at_ms, incident.recovered_event_id)


def _moment(kind: StepKind, at_ms: int, event_id: str | None) -> Document:
    return {"kind": kind.value, "timestamp": at_ms, "eventId": event_id}


def _on_wire(one: AlertIncident, named: dict[str, Document]) -> Document:
    alert, asset = subjects_of(one)
    resolved_by = StepKind.RECOVERED if one.recovered_event_id is not None else StepKind.RESOLVED
    return {
        "id": one.id,
        "name": one.name,
        "status": one.status.value,
        "alert": named.get(alert["id"], alert),
        "entity": named.get(asset["id"], asset),
        "assignee": named.get(one.assignee["id"], one.assignee) if one.assignee else None,
        "openedAt": one.opened_at_ms,
        "resolvedAt": one.resolved_at_ms,
        "resolvedBy": None if one.is_open else resolved_by.value,
        "updatedAt": one.updated_at_ms,
    }


def _named(references: Sequence[Document], caller: Caller) -> dict[str, Document]:
    """Return these references with names, those of the deleted as well; without names where they may not be seen."""
    seen = caller.visibility.sees(references)
    known = caller.parts.standing.of({one["id"] for one in references if one["id"] in seen})
    return {
        one["id"]: one | {key: document[key] for key in _SHOWN if document.get(key)}
        for one in references
        for document in (known.get(one["id"], ("", {}))[1],)
    }
