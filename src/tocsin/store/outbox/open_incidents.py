"""Incidents that messages about failures belong to, found for all messages of a claim at once.

Asked only where a message for people tells of a failure. Next: ``delivery/links/acknowledge.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.wording.reports import is_failure_report
from tocsin.model.alert_incident import IncidentStatus, OpenIncident
from tocsin.model.channels import WORDED
from tocsin.model.message import Entry
from tocsin.store.database.alert_tables import alert_incident
from tocsin.store.database.keys import rows_by_key

_ROW = alert_incident.c
Opened = tuple[int, OpenIncident]
"""An incident, and the place of its first failure in the log."""


def with_incidents(connection: Connection, dispatches: Sequence[Dispatch]) -> list[Dispatch]:
    """Return these messages, those about failures with the incidents that nobody has acknowledged yet."""
    failing = [
        entry
        for dispatch in dispatches
        if dispatch.message.channel in WORDED
        for entry in dispatch.entries
        if is_failure_report(entry.event)
    ]
    if not failing:
        return list(dispatches)
    opened = _open_incidents(connection, {entry.event.entity_id for entry in failing})
    incidents_by_notification = {entry.notification_id: _of(entry, opened) for entry in failing}
    return [
        replace(
            dispatch,
            entries=tuple(
                replace(entry, incidents=incidents_by_notification.get(entry.notification_id, ()))
                for entry in dispatch.entries
            ),
        )
        for dispatch in dispatches
    ]


def _open_incidents(connection: Connection, entity_ids: set[str]) -> Mapping[str, Sequence[Opened]]:
    """Return the open incidents of these assets, the oldest first."""
    query = select(_ROW.entity_id, _ROW.opened_offset, _ROW.number, _ROW.subscription_id)
    query = query.where(_ROW.status == IncidentStatus.OPEN.value).order_by(_ROW.number)
    opened: dict[str, list[Opened]] = defaultdict(list)
    for row in rows_by_key(connection, query, _ROW.entity_id, entity_ids):
        opened[row.entity_id].append((row.opened_offset, OpenIncident(row.number, row.subscription_id)))
    return opened


def _of(entry: Entry, opened: Mapping[str, Sequence[Opened]]) -> tuple[OpenIncident, ...]:
    alerts = {reason.subscription_id for reason in entry.reasons}
    return tuple(
        incident
        for offset, incident in opened.get(entry.event.entity_id, ())
        if offset <= entry.log_offset and incident.subscription_id in alerts
    )
