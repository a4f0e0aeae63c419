"""How each destination of an alert fares: sent messages, waiting ones, and how long they took, of the newest.

A bounded number of notifications is read, by the alert's firings; waiting messages are counted by its index.
Next: ``server/routes/alerts/noise.py``.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, func, select

from tocsin.model.message import MessageStatus
from tocsin.store.database.alert_tables import firing
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import OPEN_MESSAGE, attempt, change_event, message, notification
from tocsin.store.outbox.dead_letters import IS_LAST
from tocsin.store.outbox.delay_history import quantile

MOST_READ = 1_000
"""Notifications that are read, the newest."""

MOST_WAITING = 1_000
"""Waiting messages that are counted of one destination."""


class DestinationFigures(NamedTuple):
    """Messages of one destination: sent, waiting, and the seconds of which 95 of 100 took fewer; None of none.

    The time counts from the event, or from when it was planned to go: a digest is not late for its hour.
    """

    destination_id: str
    sent_count: int
    waiting_count: int
    p95_s: float | None


class FiguresOfDestinations:
    """How the destinations of one store's alerts fare."""

    def __init__(self, engine: Engine, *, most_read: int = MOST_READ) -> None:
        self._engine, self._most_read = engine, most_read

    def of(self, subscription_id: str, destination_ids: list[str]) -> list[DestinationFigures]:
        """Return the figures of these destinations of an alert, in their order."""
        note, row, last_attempt = notification.c, message.c, attempt.c
        newest = select(firing.c.log_offset).where(firing.c.subscription_id == subscription_id)
        newest = newest.where(firing.c.notified_count > 0).order_by(firing.c.log_offset.desc()).limit(self._most_read)
        offsets = newest.subquery()
        query = select(row.destination_id, note.message_id, note.due_at_ms, note.created_at_ms)
        ended_ms = (last_attempt.started_at_ms + last_attempt.duration_ms).label("ended_ms")
        query = query.add_columns(change_event.c.timestamp_ms, ended_ms)
        query = query.select_from(offsets).join(notification, note.log_offset == offsets.c.log_offset)
        query = query.join(message, row.id == note.message_id).join(attempt, IS_LAST)
        query = query.join(change_event, change_event.c.log_offset == note.log_offset)
        query = query.where(row.subscription_id == subscription_id, row.status == MessageStatus.DELIVERED.value)
        query = query.order_by(note.log_offset.desc()).limit(self._most_read)
        delays: dict[str, list[float]] = defaultdict(list)
        messages: dict[str, set[str]] = defaultdict(set)
        with reading(self._engine) as connection:
            for told_row in connection.execute(query):
                since_ms = _start_ms(told_row)
                messages[told_row.destination_id].add(told_row.message_id)
                delays[told_row.destination_id].append(max(0, told_row.ended_ms - since_ms) / 1000)
            waiting_counts = {key: _waiting_count(connection, subscription_id, key) for key in destination_ids}
        return [
            DestinationFigures(key, len(messages[key]), waiting_counts[key], quantile(sorted(delays[key]), 0.95))
            for key in destination_ids
        ]


def _start_ms(row: Any) -> int:  # Any: SQLAlchemy's row
    """Return from when the time of a notification counts: its event, or the time for which it was planned."""
    return int(row.due_at_ms if row.due_at_ms > row.created_at_ms else row.timestamp_ms)


def _waiting_count(connection: Connection, subscription_id: str, destination_id: str) -> int:
    open_messages = select(message.c.id).where(OPEN_MESSAGE, message.c.destination_id == destination_id)
    open_messages = open_messages.where(message.c.subscription_id == subscription_id).limit(MOST_WAITING)
    return int(connection.execute(select(func.count()).select_from(open_messages.subquery())).scalar_one())
