"""Notifications about an incident: of the reports between its failure and its end, and of what people did to it.

Next: ``server/alerts/incident_messages.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, Select, func, or_, select, union_all

from tocsin.flow.resolve.directory import NO_END
from tocsin.model.notification_record import NotificationRecord
from tocsin.store.catalogue.alerts.incidents import ended_offset
from tocsin.store.database.alert_tables import alert_incident, alert_incident_step
from tocsin.store.database.engine import is_sqlite, reading
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox.records import records_of

MOST_MESSAGES = 500
"""Notifications about an incident that are shown, the earliest first."""

_ROW, _STEP, _NOTE = alert_incident.c, alert_incident_step.c, notification.c


class MessageReader(NamedTuple):
    """Who reads: a person, who may see all that any of these alerts sent."""

    user_id: str
    alert_ids: Collection[str]


class IncidentMessages:
    """The notifications about the incidents of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, incident_id: str, reader: MessageReader | None = None) -> tuple[list[NotificationRecord], bool]:
        """Return the notifications about an incident in the order of the log, and whether these are all there are.

        Without a ``reader`` those of everybody are meant.
        """
        with reading(self._engine) as connection:
            offsets = union_all(_reports(incident_id), _steps(incident_id)).subquery()
            query = select(notification).where(_NOTE.log_offset.in_(select(offsets.c.log_offset)))
            if reader is not None:
                query = query.where(_is_for(connection, reader))
            page = query.order_by(_NOTE.log_offset, _NOTE.id).limit(MOST_MESSAGES + 1)
            notifications = connection.execute(page).all()
            records = records_of(connection, notifications[:MOST_MESSAGES])
        return list(records.values()), len(notifications) <= MOST_MESSAGES


def _reports(incident_id: str) -> Select[int]:
    """Return the query of the places of what its asset reported from its failure on: to its end, or until now."""
    report = status_report.c
    query = select(report.log_offset).join(alert_incident, _ROW.entity_id == report.entity_id)
    lasts = report.log_offset.between(_ROW.opened_offset, func.coalesce(ended_offset(), NO_END))
    return query.where(_ROW.id == incident_id, lasts)


def _steps(incident_id: str) -> Select[int]:
    """Return the query of the places of the events that say what people did to it."""
    query = select(change_event.c.log_offset).join(alert_incident_step, _STEP.event_id == change_event.c.id)
    return query.where(_STEP.incident_id == incident_id)


def _is_for(connection: Connection, reader: MessageReader) -> ColumnElement[bool]:
    position = func.instr if is_sqlite(connection) else func.strpos
    sent_by = (position(_NOTE.reasons, alert_id) > 0 for alert_id in sorted(reader.alert_ids))
    return or_(_NOTE.recipient_id == reader.user_id, *sent_by)
