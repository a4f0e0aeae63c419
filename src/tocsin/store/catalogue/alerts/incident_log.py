"""Reader of alert incidents: pages of them, one by number or id, and its steps.

Next: ``server/routes/alerts/alert_incidents.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, select

from tocsin.model.alert_incident import AlertIncident, AlertIncidentStep, IncidentStatus, number_in
from tocsin.store.catalogue.alerts.incidents import incident_of, steps_of
from tocsin.store.database.alert_tables import alert_incident, alert_incident_step
from tocsin.store.database.engine import fetch_first, fetch_rows
from tocsin.store.database.page_bytes import BoundedList

_ROW = alert_incident.c


@dataclass(frozen=True)
class AlertIncidentFilter:
    """Filters of incidents; None is no filter. ``unresolved`` leaves out those that are over."""

    status: IncidentStatus | None = None
    subscription_id: str | None = None
    entity_id: str | None = None
    assignee_id: str | None = None
    unresolved: bool = False


class AlertIncidentLog:
    """The incidents of the alerts of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(self, name: str) -> AlertIncident | None:
        """Return the incident with that number (``INC-7``) or id."""
        number = number_in(name)
        condition = _ROW.id == name if number is None else _ROW.number == number
        row = fetch_first(self._engine, select(alert_incident).where(condition))
        return None if row is None else incident_of(row)

    def page(
        self, criteria: AlertIncidentFilter, *, limit: int, before: int | None = None
    ) -> BoundedList[AlertIncident]:
        """Return at most ``limit`` incidents, newest first, with numbers below ``before``."""
        comparisons = (
            (_ROW.status, criteria.status and criteria.status.value),
            (_ROW.subscription_id, criteria.subscription_id),
            (_ROW.entity_id, criteria.entity_id),
            (_ROW.assignee_id, criteria.assignee_id),
        )
        query = select(alert_incident).where(*(column == value for column, value in comparisons if value is not None))
        if criteria.unresolved:
            query = query.where(_ROW.status != IncidentStatus.RESOLVED.value)
        if before is not None:
            query = query.where(_ROW.number < before)
        incidents = fetch_rows(self._engine, query.order_by(_ROW.number.desc()).limit(limit))
        return BoundedList(map(incident_of, incidents))

    def steps(self, incident_id: str) -> list[AlertIncidentStep]:
        """Return what was done to an incident, in order."""
        step = alert_incident_step.c
        query = select(alert_incident_step).where(step.incident_id == incident_id).order_by(step.at_ms, step.id)
        return steps_of(fetch_rows(self._engine, query))
