"""Rows that the audit compares: match results, notifications, messages and reports of a part of the log, incidents.

Next: ``spark/audit.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine, and_, case, exists, func, or_, select

from tocsin.conditions.test_results import TEST_SUITE
from tocsin.model.alert_incident import name_of
from tocsin.model.change import LATE, OF_ALERTS, EventType
from tocsin.model.match_result import Pair
from tocsin.model.message import Delivered
from tocsin.model.preferences import Layer
from tocsin.model.status import SUCCESS, is_failure
from tocsin.store.catalogue.alerts.incidents import ended_offset, is_out_of_order
from tocsin.store.catalogue.alerts.subscriptions import ENTITY_TYPE
from tocsin.store.database.alert_tables import alert_incident, incident_watcher, match_result
from tocsin.store.database.engine import fetch_rows, fetch_value
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.tables import (
    OPEN_BREAKER,
    attempt,
    change_event,
    destination_status,
    message,
    notification,
    tombstone,
)

_NEVER_MS = 2**62
_DELIVERED = Delivered.__name__.lower()
Rows = Sequence[tuple[Any, ...]]  # Any: a column's value


class AuditRows:
    """What one store has to say to the audit."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def first_offset(self, since_ms: int) -> int | None:
        """Return the offset of the first event that happened at that moment or later; None when there is none."""
        event = change_event.c
        return fetch_value(self._engine, select(func.min(event.log_offset)).where(event.timestamp_ms >= since_ms))

    def alerts_changed_at(self) -> dict[str, int]:
        """Return the offset at which each alert was last written, by its id."""
        event = change_event.c
        written = event.event_type.not_in(OF_ALERTS)
        query = select(event.entity_id, func.max(event.log_offset)).where(event.entity_type == ENTITY_TYPE, written)
        return {row[0]: int(row[1]) for row in fetch_rows(self._engine, query.group_by(event.entity_id))}

    def match_results(self, after: int, through: int) -> Rows:
        """Return (offset, alert, count, relations, missing, trigger, time) of every match processed between offsets.

        What was withheld is left out (``withheld``). The last column is when it was processed (epoch milliseconds).
        Of a hard delete, ``relations`` is how many relations the entity had, ``missing`` how many were gone by then.
        """
        row = match_result.c
        expected = func.coalesce(tombstone.c.relation_count, row.missing_count)
        counts = (row.notified_count, expected, row.missing_count)
        query = select(row.log_offset, row.subscription_id, *counts, row.triggered_by, row.resolved_at_ms)
        query = query.outerjoin(tombstone, tombstone.c.log_offset == row.log_offset)
        query = query.where(row.withheld_for.is_(None))
        return self._rows(query.where(row.log_offset > after, row.log_offset <= through))

    def withheld(self, after: int, through: int) -> list[Pair]:
        """Return what was withheld between two offsets, which need not have matched."""
        row = match_result.c
        query = select(row.log_offset, row.subscription_id).where(row.withheld_for.is_not(None))
        query = query.where(row.log_offset > after, row.log_offset <= through)
        return [(offset, alert) for offset, alert in self._rows(query)]

    def notifications(self, after: int, through: int) -> Rows:
        """Return (id, offset, event, channel, recipient, reasons, message, whether a mute keeps it back) of these.

        They are the notifications between two offsets. What a mute keeps back counts for no alert
        (docs/decisions/0210-mutes-of-assets-and-alerts-are-choices-of-never.md).
        """
        row = notification.c
        query = select(row.id, row.log_offset, row.event_id, row.channel, row.recipient, row.reasons, row.message_id)
        query = query.add_columns(case((row.preferred.startswith(f"{Layer.MUTE.value} "), 1), else_=0))
        return self._rows(query.where(row.log_offset > after, row.log_offset <= through))

    def reports(self, after: int, through: int) -> Rows:
        """Return (offset, asset, whether it failed, time of the event) of the verdicts reported between two offsets.

        Left out is what opens and resolves no incident: runs of test suites, what is older than a report before it, and
        what is history or dated ahead.
        """
        report, event = status_report.alias("of"), change_event.c
        query = select(report.c.log_offset, report.c.entity_id, report.c.verdict, event.event_type, event.timestamp_ms)
        query = query.join(change_event, event.log_offset == report.c.log_offset).where(event.entity_type != TEST_SUITE)
        query = query.where(~event.derived.contains(f'"{LATE}":true'))
        query = query.where(report.c.log_offset > after, report.c.log_offset <= through)
        verdicts = self._rows(query.where(~is_out_of_order(report, status_report.alias("newer"))))
        return [
            (offset, entity_id, int(verdict != SUCCESS), at_ms)
            for offset, entity_id, verdict, event_type, at_ms in verdicts
            if verdict == SUCCESS or is_failure(verdict) or event_type == EventType.SLA_VIOLATION.value
        ]

    def watched_incidents(self, after: int, through: int) -> Rows:
        """Return (asset, alert, name, first offset, last offset) of what alerts watched between two offsets.

        The first is that of a failure which the alert matched, the last of what ended the incident; null: it lasts.
        """
        row, watcher, ended = alert_incident.c, incident_watcher.c, ended_offset()
        query = select(row.entity_id, watcher.subscription_id, row.number, watcher.opened_offset, ended)
        query = query.join(incident_watcher, watcher.incident_id == row.id).where(watcher.opened_offset <= through)
        query = query.where(row.merged_into.is_(None), or_(ended.is_(None), ended > after))
        return [(asset, alert, name_of(number), *offsets) for asset, alert, number, *offsets in self._rows(query)]

    def messages(self, after: int, through: int) -> Rows:
        """Return (id, status, due, how often delivered) of every message that carries one of those notifications.

        Messages for a paused destination are not due. What was delivered before a replay does not count.
        """
        row, note, status = message.c, notification.c, destination_status.c
        is_same_destination = and_(
            status.subscription_id == row.subscription_id, status.destination_id == row.destination_id
        )
        due = case((exists().where(is_same_destination, OPEN_BREAKER), _NEVER_MS), else_=row.due_at_ms)
        delivered = select(func.count()).where(attempt.c.message_id == row.id, attempt.c.outcome == _DELIVERED)
        delivered = delivered.where(attempt.c.number > row.attempts_before)
        carry = select(note.message_id).where(note.log_offset > after, note.log_offset <= through)
        query = select(row.id, row.status, due, delivered.scalar_subquery())
        return self._rows(query.where(row.id.in_(carry)))

    def _rows(self, query: Any) -> Rows:  # Any: SQLAlchemy's select
        return [tuple(row) for row in fetch_rows(self._engine, query)]
