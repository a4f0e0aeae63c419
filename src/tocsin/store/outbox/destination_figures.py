"""How each destination of an alert fares: sent messages, waiting ones, and how long they took, of the newest.

A bounded number of notifications is read, by the alert's firings; waiting messages are counted by its index, under the
alert that leads them. A message of several alerts was sent for the destinations of each.
Next: ``server/routes/alerts/noise.py``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Select, func, literal, select, union_all

from tocsin.model.message import DroppedReason, MessageStatus
from tocsin.model.notification import parse_reasons
from tocsin.store.database.alert_tables import firing
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import OPEN_MESSAGE, attempt, change_event, message, notification
from tocsin.store.outbox.dead_letters import IS_LAST
from tocsin.store.outbox.delay_history import quantile

MOST_READ = 1_000
"""Firings, and notifications of them, that are read: the newest."""

MOST_LOOKED_AT = 50_000
"""Notifications of these firings, those in the app too, after which older firings are left out."""

MOST_WAITING = 1_000
"""Waiting messages that are counted of one destination."""


class DestinationFigures(NamedTuple):
    """Messages of one destination: sent, waiting, and the seconds of which 95 of 100 took fewer; None of none.

    The time counts from the event, or from when it was planned to go: a digest is not late for its hour. A replay has
    no time: it is as late as a person wanted it.
    """

    destination_id: str
    sent_count: int
    waiting_count: int
    p95_s: float | None


class FiguresOfDestinations:
    """How the destinations of one store's alerts fare."""

    def __init__(self, engine: Engine, *, most_read: int = MOST_READ, most_looked_at: int = MOST_LOOKED_AT) -> None:
        self._engine, self._most_read, self._most_looked_at = engine, most_read, most_looked_at

    def of(self, subscription_id: str, destination_ids: Sequence[str]) -> list[DestinationFigures]:
        """Return the figures of these destinations of an alert, in their order."""
        delays: dict[str, list[float]] = defaultdict(list)
        messages: dict[str, set[str]] = defaultdict(set)
        with reading(self._engine) as connection:
            sent_rows = connection.execute(self._sent_notifications(subscription_id))
            pairs = ((one, row) for row in sent_rows for one in _destination_ids(row, subscription_id))
            for destination_id, sent_row in pairs:
                messages[destination_id].add(sent_row.message_id)
                if not sent_row.attempts_before:
                    delays[destination_id].append(max(0, sent_row.ended_ms - _start_ms(sent_row)) / 1000)
            waiting_counts = _waiting_counts(connection, subscription_id, destination_ids)
        return [
            DestinationFigures(key, len(messages[key]), waiting_counts[key], quantile(sorted(delays[key]), 0.95))
            for key in destination_ids
        ]

    def _sent_notifications(self, subscription_id: str) -> Select[Any]:  # Any: SQLAlchemy's tuple of columns
        """Return the query for the newest notifications of an alert that were sent, with how that ended."""
        newest = self._newest_notifications(subscription_id).subquery()
        note, row, last_attempt = newest.c, message.c, attempt.c
        ended_ms = (last_attempt.started_at_ms + last_attempt.duration_ms).label("ended_ms")
        query = select(*note, row.attempts_before, change_event.c.timestamp_ms, last_attempt.dropped, ended_ms)
        query = query.select_from(newest).join(message, row.id == note.message_id).join(attempt, IS_LAST)
        query = query.join(change_event, change_event.c.log_offset == note.log_offset)
        return query.where(row.status == MessageStatus.DELIVERED.value)

    def _newest_notifications(self, subscription_id: str) -> Select[Any]:  # Any: as above
        """Return the query for the newest notifications of an alert that messages carry."""
        fired = firing.c
        firings = select(fired.log_offset, fired.notified_count).where(fired.subscription_id == subscription_id)
        firings = firings.where(fired.notified_count > fired.app_count)
        newest = firings.order_by(fired.log_offset.desc()).limit(self._most_read).subquery().c
        total = func.sum(newest.notified_count).over(order_by=newest.log_offset.desc())
        place = select(newest.log_offset, (total - newest.notified_count).label("newer_count")).subquery()
        note = notification.c
        query = select(note.id, note.log_offset, note.message_id, note.reasons, note.due_at_ms, note.created_at_ms)
        query = query.select_from(place).join(notification, note.log_offset == place.c.log_offset)
        query = query.where(place.c.newer_count < self._most_looked_at, note.message_id.is_not(None))
        query = query.where(note.reasons.contains(subscription_id))
        return query.order_by(note.log_offset.desc(), note.id).limit(self._most_read)


def _destination_ids(sent_row: Any, subscription_id: str) -> Iterator[str]:  # Any: SQLAlchemy's row
    """Yield the destinations of an alert for which a notification was sent, without those that were left out."""
    drops = [DroppedReason.model_validate(one) for one in json.loads(sent_row.dropped or "[]")]
    dropped_reasons = [one.reason for one in drops if one.notification_id == sent_row.id]
    for reason in parse_reasons(sent_row.reasons):
        if reason.subscription_id == subscription_id and reason not in dropped_reasons:
            yield reason.destination_id


def _start_ms(row: Any) -> int:  # Any: SQLAlchemy's row
    """Return from when the time of a notification counts: its event, or the time for which it was planned."""
    return int(row.due_at_ms if row.due_at_ms > row.created_at_ms else row.timestamp_ms)


def _waiting_counts(connection: Connection, subscription_id: str, destination_ids: Sequence[str]) -> dict[str, int]:
    """Return the number of waiting messages of each of these destinations."""
    counts = dict.fromkeys(destination_ids, 0)
    queries = []
    for number, destination_id in enumerate(destination_ids):
        open_messages = select(message.c.id).where(OPEN_MESSAGE, message.c.destination_id == destination_id)
        open_messages = open_messages.where(message.c.subscription_id == subscription_id).limit(MOST_WAITING)
        queries.append(select(literal(number), func.count()).select_from(open_messages.subquery()))
    if queries:
        counted_rows = connection.execute(union_all(*queries))
        counts |= {destination_ids[number]: int(count) for number, count in counted_rows}
    return counts
