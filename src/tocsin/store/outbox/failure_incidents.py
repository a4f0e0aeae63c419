"""Incidents that failures belong to, as messages about these show them: how bad, and who acknowledged.

Next: ``store/outbox/failure_messages.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, ScalarSelect, select

from tocsin.delivery.dispatch import FailureIncident
from tocsin.flow.resolve.directory import NO_END
from tocsin.model.alert_incident import IncidentStatus, StepKind, name_of
from tocsin.model.severity import severity_named
from tocsin.store.catalogue.alerts.incidents import ended_offset
from tocsin.store.database.alert_tables import alert_incident, alert_incident_step
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import person

_ROW, _STEP = alert_incident.c, alert_incident_step.c


class ReportPlace(NamedTuple):
    """The asset that reports something, and the place of the report in the log."""

    entity_id: str
    offset: int


def incidents_at(connection: Connection, places: Collection[ReportPlace]) -> dict[ReportPlace, FailureIncident]:
    """Return the incident that the report at each of these places belongs to, as it is now; of some there is none.

    That is the one of a failure, or of the success that has resolved it.
    """
    first_to_acknowledge = (_acknowledgement(one) for one in (_STEP.user_name, person.c.display_name, _STEP.user_id))
    span = (_ROW.opened_offset, ended_offset(), _ROW.recovered_offset)
    columns = (_ROW.number, _ROW.severity, _ROW.status, *first_to_acknowledge, _ROW.entity_id, *span)
    query = select(*columns).where(_ROW.merged_into.is_(None)).order_by(_ROW.number)
    places_by_entity: dict[str, list[ReportPlace]] = defaultdict(list)
    for place in places:
        places_by_entity[place.entity_id].append(place)
    incident_by_place: dict[ReportPlace, FailureIncident] = {}
    for (
        number,
        severity,
        status,
        name,
        display_name,
        user_id,
        entity_id,
        since_offset,
        end_offset,
        recovered_offset,
    ) in rows_by_key(connection, query, _ROW.entity_id, places_by_entity.keys()):
        incident = FailureIncident(name_of(number), severity_named(severity), name)
        incident = incident._replace(acknowledger=display_name, acknowledger_id=user_id)
        for place in places_by_entity[entity_id]:
            if since_offset <= place.offset <= (end_offset or NO_END):
                is_resolved = place.offset == recovered_offset
                is_over = status == IncidentStatus.RESOLVED.value and not is_resolved
                incident_by_place[place] = incident._replace(is_resolved=is_resolved, is_over=is_over)
    return incident_by_place


def _acknowledgement(column: ColumnElement[str]) -> ScalarSelect[str]:
    """Return a column of the first acknowledgement of an incident, or of who made it."""
    query = select(column).select_from(alert_incident_step).outerjoin(person, person.c.user_id == _STEP.user_id)
    query = query.where(_STEP.incident_id == _ROW.id, _STEP.kind == StepKind.ACKNOWLEDGED.value)
    return query.order_by(_STEP.at_ms, _STEP.id).limit(1).correlate(alert_incident).scalar_subquery()
