"""Events that must stay although they have expired, and why.

Next: ``store/upkeep/retention/events.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from tocsin.model.change import EventType
from tocsin.model.message import MessageStatus
from tocsin.model.retention import LegalHold, is_held
from tocsin.store.catalogue.alerts.subscriptions import ENTITY_TYPE
from tocsin.store.database.alert_tables import alert_held_back, alert_incident, alert_incident_step
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.tables import change_event, entity, message, notification

MOST_REPORTS = 1_000
"""Reports of each entity that are kept, the newest: streaks are counted from them."""

_EVENT = change_event.c
_SOFT_DELETED, _RESTORED = EventType.ENTITY_SOFT_DELETED.value, EventType.ENTITY_RESTORED.value


class Protection(StrEnum):
    """Why an expired event stays."""

    LEGAL_HOLD = "legalHold"
    READER = "reader"
    UNDELIVERED = "undelivered"
    ALERT = "alert"
    INCIDENT = "incident"
    REPORT = "report"
    PRESENT_STATE = "presentState"


class ExpiredEvent(NamedTuple):
    """An event that has expired: its columns, without its text."""

    log_offset: int
    id: str
    event_type: str
    entity_type: str
    entity_id: str
    user_name: str | None
    timestamp_ms: int


def protections(
    connection: Connection, events: Sequence[ExpiredEvent], holds: Iterable[LegalHold], *, unread: Collection[int] = ()
) -> dict[int, Protection]:
    """Return why each of these events that must stay does, by its offset; ``unread`` are those that readers need."""
    in_force = list(holds)
    offsets_of = {event.id: event.log_offset for event in events}
    reasons = dict.fromkeys(unread, Protection.READER)
    sources = (
        (Protection.REPORT, _newest_reports(connection, offsets_of.values())),
        (Protection.INCIDENT, _of_incidents(connection, offsets_of)),
        (Protection.ALERT, [event.log_offset for event in events if event.entity_type == ENTITY_TYPE]),
        (Protection.UNDELIVERED, _of_open_messages(connection, offsets_of.values())),
    )
    for protection, offsets in sources:
        reasons |= dict.fromkeys(offsets, protection)
    for event in events if in_force else ():
        if is_held(in_force, event.entity_id, event.user_name, event.timestamp_ms):
            reasons[event.log_offset] = Protection.LEGAL_HOLD
    removable = [event for event in events if event.log_offset not in reasons]
    return reasons | dict.fromkeys(_present_states(connection, removable), Protection.PRESENT_STATE)


def _of_open_messages(connection: Connection, offsets: Collection[int]) -> set[int]:
    """Return the events of messages that wait, or that were given up and may be sent again."""
    query = select(notification.c.log_offset).join(message, message.c.id == notification.c.message_id)
    query = query.where(message.c.status != MessageStatus.DELIVERED.value).distinct()
    return {row.log_offset for row in rows_by_key(connection, query, notification.c.log_offset, offsets)}


def _of_incidents(connection: Connection, offsets_of: dict[str, int]) -> set[int]:
    """Return the events that incidents of alerts name."""
    columns = (alert_incident.c.opened_event_id, alert_incident.c.recovered_event_id, alert_incident_step.c.event_id)
    named_ids = {row[0] for column in columns for row in rows_by_key(connection, select(column), column, offsets_of)}
    offset = alert_held_back.c.log_offset
    held_back = {row.log_offset for row in rows_by_key(connection, select(offset), offset, offsets_of.values())}
    return {offsets_of[event_id] for event_id in named_ids} | held_back


def _newest_reports(connection: Connection, offsets: Collection[int]) -> set[int]:
    """Return the reports that are among the newest of their entity."""
    report, later = status_report.c, status_report.alias("later")
    after_it = (
        select(later.c.log_offset)
        .where(later.c.entity_id == report.entity_id, later.c.log_offset > report.log_offset)
        .order_by(later.c.log_offset)
        .limit(1)
        .offset(MOST_REPORTS - 1)
        .scalar_subquery()
    )
    query = select(report.log_offset).where(after_it.is_(None))
    return {row.log_offset for row in rows_by_key(connection, query, report.log_offset, offsets)}


def _present_states(connection: Connection, events: Sequence[ExpiredEvent]) -> set[int]:
    """Return the events that say since when an entity is soft-deleted, and restorations whose deletion is kept."""
    turns = [event for event in events if event.event_type in (_SOFT_DELETED, _RESTORED)]
    if not turns:
        return set()
    entity_ids = {event.entity_id for event in turns}
    is_turn = _EVENT.event_type.in_((_SOFT_DELETED, _RESTORED))
    query = select(_EVENT.entity_id, _EVENT.event_type, _EVENT.log_offset).where(is_turn)
    history: dict[str, list[tuple[int, str]]] = {entity_id: [] for entity_id in entity_ids}
    for row in rows_by_key(connection, query, _EVENT.entity_id, entity_ids):
        history[row.entity_id].append((row.log_offset, row.event_type))
    deleted_ids = _soft_deleted(connection, entity_ids)
    expired_offsets = {event.log_offset for event in turns}
    offsets: set[int] = set()
    for entity_id, states in history.items():
        offsets |= _needed_turns(sorted(states), expired_offsets, is_deleted=entity_id in deleted_ids)
    return offsets & expired_offsets


def _needed_turns(turns: Sequence[tuple[int, str]], expired: Collection[int], *, is_deleted: bool) -> set[int]:
    """Return which of an entity's turns are needed: the deletion that lasts, and what ends a deletion that stays."""
    offsets: set[int] = set()
    is_open = False
    for place, (offset, event_type) in enumerate(turns):
        if event_type == _SOFT_DELETED:
            is_last = is_deleted and all(later != _SOFT_DELETED for _, later in turns[place + 1 :])
            is_open = is_last or offset not in expired
            offsets |= {offset} if is_open else set()
        elif is_open:
            offsets.add(offset)
    return offsets


def _soft_deleted(connection: Connection, entity_ids: Collection[str]) -> set[str]:
    column = entity.c.id
    query = select(column).where(entity.c.deleted)
    return {row.id for row in rows_by_key(connection, query, column, entity_ids)}


def columns() -> tuple[Any, ...]:  # Any: SQLAlchemy's columns
    """Return the columns of which ``ExpiredEvent`` is made."""
    return tuple(_EVENT[name] for name in ExpiredEvent._fields)
