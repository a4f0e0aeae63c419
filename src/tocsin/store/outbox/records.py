"""Notification records of an event, with messages and attempts, by key.

Next: ``alerts/explanations/people.py``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Engine, Row, Select, and_, func, or_, select

from tocsin.model.message import DroppedReason
from tocsin.model.notification import Notification, parse_reasons
from tocsin.model.notification_record import AttemptRecord, MessageRecord, NotificationRecord
from tocsin.model.preferences import DEFAULT, FrequencyChoice
from tocsin.store.database.alert_tables import match_result
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import attempt, destination_status, message, notification, person
from tocsin.store.outbox.inbox_marks import SNOOZED_UNREAD_MS

_NO_NAMES = (None, None)
_MADE = tuple(field.name for field in fields(Notification) if field.name != "reasons")
_ADDED = ("attempts", "notification_count", "held_since_ms", "is_stopped")
_SENT = tuple(field.name for field in fields(MessageRecord) if field.name not in _ADDED)
_TRIED = tuple(field.name for field in fields(AttemptRecord) if field.name != "dropped")


class Records:
    """The notifications of one store, for explanations."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def by_id(self, ids: Collection[str]) -> dict[str, NotificationRecord]:
        """Return those of these notifications that are stored."""
        with reading(self._engine) as connection:
            return records_of(connection, list(rows_by_key(connection, select(notification), notification.c.id, ids)))

    def of_same_message(self, notification_id: str) -> list[NotificationRecord]:
        """Return the notifications that go out in the same message as this one, itself first."""
        own_message = select(notification.c.message_id).where(notification.c.id == notification_id)
        together = or_(notification.c.id == notification_id, notification.c.message_id == own_message.scalar_subquery())
        query = select(notification).where(together).order_by(notification.c.id != notification_id, notification.c.id)
        return list(self._read(query).values())

    def newest_offset_of_message(self, notification_id: str) -> int:
        """Return the place in the log of the newest event that went out in the same message; 0 for what is gone."""
        own_message = select(notification.c.message_id).where(notification.c.id == notification_id)
        together = or_(notification.c.id == notification_id, notification.c.message_id == own_message.scalar_subquery())
        with reading(self._engine) as connection:
            return int(connection.scalar(select(func.max(notification.c.log_offset)).where(together)) or 0)

    def of_event(self, log_offset: int, *, limit: int) -> dict[str, NotificationRecord]:
        """Return at most ``limit`` of the notifications of the event at that place, in the order of their ids."""
        query = select(notification).where(notification.c.log_offset == log_offset)
        return self._read(query.order_by(notification.c.id).limit(limit))

    def of_events(self, log_offsets: Collection[int], *, limit: int) -> dict[str, NotificationRecord]:
        """Return at most ``limit`` of the notifications of the events at these places, in the order of their ids."""
        query = select(notification).order_by(notification.c.id).limit(limit)
        with reading(self._engine) as connection:
            return records_of(connection, list(rows_by_key(connection, query, notification.c.log_offset, log_offsets)))

    def of_people(self, log_offsets: Collection[int], user_ids: Collection[str]) -> list[NotificationRecord]:
        """Return what is stored for these people of the events at these few places, in the order of the log."""
        query = select(notification).where(notification.c.log_offset.in_(log_offsets))
        query = query.order_by(notification.c.log_offset, notification.c.id)
        with reading(self._engine) as connection:
            notification_rows = list(rows_by_key(connection, query, notification.c.recipient_id, user_ids))
            return list(records_of(connection, notification_rows).values())

    def of_user(self, log_offset: int, user_id: str) -> dict[str, NotificationRecord]:
        """Return what is stored for one person of the event at that place."""
        conditions = (notification.c.recipient_id == user_id, notification.c.log_offset == log_offset)
        return self._read(select(notification).where(*conditions))

    def _read(self, query: Select[Any]) -> dict[str, NotificationRecord]:
        with reading(self._engine) as connection:
            return records_of(connection, connection.execute(query).all())

    def count(self, log_offset: int) -> int:
        """Return how many notifications the event at that place gave."""
        query = select(func.count()).where(notification.c.log_offset == log_offset)
        with reading(self._engine) as connection:
            return int(connection.execute(query).scalar_one())

    def attempts(self, message_id: str) -> list[AttemptRecord]:
        """Return all attempts at a message, in their order."""
        with reading(self._engine) as connection:
            return _attempts(connection, [message_id])[message_id]

    def missing_relations(self, log_offset: int) -> int:
        """Return how many relations of a hard-deleted entity were lost before its notification."""
        query = select(func.max(match_result.c.missing_count)).where(match_result.c.log_offset == log_offset)
        with reading(self._engine) as connection:
            return int(connection.execute(query).scalar() or 0)


def records_of(connection: Connection, notification_rows: Sequence[Row[Any]]) -> dict[str, NotificationRecord]:
    """Return the records of these rows of notifications, in their order, by their ids."""
    messages = _messages(connection, {row.message_id for row in notification_rows if row.message_id})
    user_ids = {row.recipient_id for row in notification_rows if row.recipient_id}
    people = rows_by_key(
        connection, select(person.c.user_id, person.c.name, person.c.display_name), person.c.user_id, user_ids
    )
    names = {row.user_id: (row.name, row.display_name) for row in people}
    return {
        row.id: NotificationRecord(
            _notification(row),
            _read_at_ms(row),
            messages.get(row.message_id),
            names.get(row.recipient_id, _NO_NAMES)[0],
            FrequencyChoice.from_text(row.preferred) if row.preferred else DEFAULT,
            names.get(row.recipient_id, _NO_NAMES)[1],
        )
        for row in notification_rows
    }


def _notification(row: Row[Any]) -> Notification:
    return Notification(reasons=parse_reasons(row.reasons), **{name: getattr(row, name) for name in _MADE})


def _read_at_ms(row: Row[Any]) -> int | None:
    """Return when a notification was read; one that is snoozed may be unread."""
    if row.snoozed_until_ms is not None and row.read_at_ms == SNOOZED_UNREAD_MS:
        return None
    read_at_ms: int | None = row.read_at_ms if row.snoozed_until_ms is None else row.opened_at_ms
    return read_at_ms


def _messages(connection: Connection, message_ids: Collection[str]) -> dict[str, MessageRecord]:
    status = destination_status.c
    same_destination = and_(
        status.subscription_id == message.c.subscription_id, status.destination_id == message.c.destination_id
    )
    query = select(message, status.opened_at_ms, status.stopped_at_ms).outerjoin(destination_status, same_destination)
    attempts, counts = _attempts(connection, message_ids), _counts(connection, message_ids)
    return {
        row.id: MessageRecord(
            notification_count=counts.get(row.id, 0),
            attempts=tuple(attempts[row.id]),
            held_since_ms=row.opened_at_ms,
            is_stopped=row.stopped_at_ms is not None,
            **{name: getattr(row, name) for name in _SENT},
        )
        for row in rows_by_key(connection, query, message.c.id, message_ids)
    }


def _counts(connection: Connection, message_ids: Collection[str]) -> dict[str, int]:
    """Return how many notifications each of these messages carries."""
    query = select(notification.c.message_id, func.count()).group_by(notification.c.message_id)
    return {row[0]: row[1] for row in rows_by_key(connection, query, notification.c.message_id, message_ids)}


def _attempts(connection: Connection, message_ids: Collection[str]) -> dict[str, list[AttemptRecord]]:
    tried: dict[str, list[AttemptRecord]] = defaultdict(list)
    query = select(attempt).order_by(attempt.c.message_id, attempt.c.number)
    for row in rows_by_key(connection, query, attempt.c.message_id, message_ids):
        values = {name: getattr(row, name) for name in _TRIED}
        dropped = tuple(map(DroppedReason.model_validate, json.loads(row.dropped or "[]")))
        tried[row.message_id].append(AttemptRecord(dropped=dropped, **values))
    return tried
