"""What became of the events that an alert matched: failed, waiting, sent, and its log of attempts.

A message that several alerts share counts for the one under which it is sent. Next: ``server/alerts/progress.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Engine, Select, and_, func, not_, or_, select

from tocsin.model.change import ChangeEvent
from tocsin.model.message import SUPPRESSED, MessageStatus
from tocsin.store.database.alert_tables import firing
from tocsin.store.database.engine import reading
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.database.snapshots import EVENT_TEXT, Texts
from tocsin.store.database.tables import (
    GIVEN_UP_MESSAGE,
    OPEN_MESSAGE,
    QUEUED_MESSAGE,
    REPLAYED_MESSAGE,
    attempt,
    change_event,
    message,
    notification,
)
from tocsin.store.eventlog.log import events_at
from tocsin.store.outbox.dead_letters import IS_LAST, joined_with_last

MOST_COUNTED = 100_000
"""Failed or waiting events that are counted; more are not."""

_LOOKED_AT = 200
_EVENT = change_event.c
_LOGGED = (
    *("channel", "message_id", "destination_id", "status", "attempt_count"),
    *("attempted_at_ms", "reason", "status_code"),
)


@dataclass(frozen=True)
class FailedEvent:
    """An event of which a message was given up, and why."""

    subscription_id: str
    event: ChangeEvent
    reason: str
    status_code: int | None
    updated_at_ms: int


class DeliveryPlace(NamedTuple):
    """A place in an alert's log, which begins with the highest offset; within an event it is ordered by id."""

    log_offset: int
    notification_id: str


@dataclass(frozen=True)
class LogEntry:
    """One notification of an alert and the last attempt at its message; without a message it is in the app."""

    place: DeliveryPlace
    event: ChangeEvent
    channel: str
    recipient: str
    message_id: str | None
    destination_id: str | None
    status: str | None
    attempt_count: int | None
    attempted_at_ms: int | None
    reason: str | None
    status_code: int | None


class EventCounts(NamedTuple):
    """Events that an alert matched, and of these those with a message that was given up, or that waits."""

    matched: int
    failed: int
    waiting: int


class AlertDeliveries:
    """The deliveries of the alerts of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def matched_offsets(self, subscription_id: str, *, limit: int) -> list[int]:
        """Return the offsets of the newest events that an alert matched."""
        query = select(firing.c.log_offset).where(firing.c.subscription_id == subscription_id)
        with reading(self._engine) as connection:
            return list(connection.scalars(query.order_by(firing.c.log_offset.desc()).limit(limit)))

    def counts(
        self, subscription_id: str, destination_ids: Collection[str], *, among: Collection[int] | None = None
    ) -> EventCounts:
        """Return how many events an alert with these destinations matched, and what became of them.

        ``among`` are the offsets of those that count, by default all.
        """
        of_alert = message.c.subscription_id == subscription_id
        failed_offsets = (
            _restrict_to_given_up(select(notification.c.log_offset)).where(of_alert).distinct().limit(MOST_COUNTED)
        )
        waiting_queries = [
            select(notification.c.log_offset)
            .join(message, message.c.id == notification.c.message_id)
            .where(which, message.c.destination_id.in_(sorted(destination_ids)), of_alert)
            .distinct()
            .limit(MOST_COUNTED)
            for which in (OPEN_MESSAGE, REPLAYED_MESSAGE, QUEUED_MESSAGE)
        ]
        match_count_query = select(func.count()).select_from(firing).where(firing.c.subscription_id == subscription_id)
        with reading(self._engine) as connection:
            failed_offset_set = set(connection.execute(failed_offsets).scalars())
            open_ones = {offset for query in waiting_queries for offset in connection.execute(query).scalars()}
            if among is not None:
                counted_offsets = set(among)
                return EventCounts(
                    len(counted_offsets),
                    len(failed_offset_set & counted_offsets),
                    len((open_ones - failed_offset_set) & counted_offsets),
                )
            return EventCounts(
                connection.execute(match_count_query).scalar_one(),
                len(failed_offset_set),
                len(open_ones - failed_offset_set),
            )

    def failed_events(self, subscription_ids: Collection[str] | None, *, limit: int, skip: int) -> list[FailedEvent]:
        """Return events with messages that were given up, of these alerts or of all, the last failure first."""
        row = message.c
        columns = (row.subscription_id, row.updated_at_ms, attempt.c.reason, attempt.c.status_code, *EVENT_TEXT)
        query = _restrict_to_given_up(select(*columns)).join(change_event, _EVENT.id == notification.c.event_id)
        if subscription_ids is not None:
            query = query.where(row.subscription_id.in_(sorted(subscription_ids)))
        query = query.order_by(row.updated_at_ms.desc(), row.id.desc(), notification.c.log_offset.desc())
        with reading(self._engine) as connection:
            texts = Texts(connection)
            return [
                FailedEvent(
                    failure.subscription_id,
                    ChangeEvent.model_validate_json(texts.of(failure)),
                    failure.reason,
                    failure.status_code,
                    failure.updated_at_ms,
                )
                for failure in connection.execute(query.limit(limit).offset(skip))
            ]

    def arrived_events(self, subscription_id: str, *, limit: int, skip: int) -> list[ChangeEvent]:
        """Return events of an alert of which all that was sent arrived, newest first."""
        arrived_offsets: list[int] = []
        before: int | None = None
        with reading(self._engine) as connection:
            while len(arrived_offsets) < skip + limit:
                query = select(firing.c.log_offset).where(
                    firing.c.subscription_id == subscription_id, firing.c.notified_count > 0
                )
                older = query if before is None else query.where(firing.c.log_offset < before)
                matched_offsets = list(
                    connection.execute(older.order_by(firing.c.log_offset.desc()).limit(_LOOKED_AT)).scalars()
                )
                pending_offsets = set(connection.execute(_unsent(matched_offsets)).scalars())
                arrived_offsets += [offset for offset in matched_offsets if offset not in pending_offsets]
                if len(matched_offsets) < _LOOKED_AT:
                    break
                before = matched_offsets[-1]
            page = arrived_offsets[skip : skip + limit]
            events = events_at(connection, page)
        return [events[offset] for offset in page if offset in events]

    def log(
        self, subscription_id: str, window_ms: tuple[int, int], *, limit: int, after: DeliveryPlace | None
    ) -> BoundedList[LogEntry]:
        """Return at most ``limit`` notifications of events that happened in a window, the newest events first."""
        note, row, attempt_columns = notification.c, message.c, attempt.c
        query = (
            select(note.log_offset, note.id, note.channel, note.recipient, row.id.label("message_id"), row.target)
            .add_columns(row.destination_id, row.status, row.attempt_count)
            .add_columns(
                attempt_columns.started_at_ms.label("attempted_at_ms"),
                attempt_columns.reason,
                attempt_columns.status_code,
                *EVENT_TEXT,
            )
            .select_from(firing)
            .join(notification, note.log_offset == firing.c.log_offset)
            .join(change_event, _EVENT.log_offset == firing.c.log_offset)
            .outerjoin(message, row.id == note.message_id)
            .outerjoin(attempt, IS_LAST)
            .where(firing.c.subscription_id == subscription_id, _EVENT.timestamp_ms.between(*window_ms))
        )
        position = func.instr if self._engine.dialect.name == "sqlite" else func.strpos
        query = query.where(position(note.reasons, subscription_id) > 0)
        if after is not None:
            is_later = and_(firing.c.log_offset == after.log_offset, note.id > after.notification_id)
            query = query.where(or_(firing.c.log_offset < after.log_offset, is_later))
        page_query = query.order_by(firing.c.log_offset.desc(), note.id).limit(limit)
        with reading(self._engine) as connection:
            texts = Texts(connection)
            return BoundedList(_log_entry(one, texts) for one in connection.execute(page_query))


def _restrict_to_given_up(query: Select[Any]) -> Select[Any]:  # Any: whatever it selects
    """Return a query of notifications in messages that were given up, not those that were not sent on purpose."""
    joined = query.select_from(message).join(notification, notification.c.message_id == message.c.id)
    return joined_with_last(joined).where(GIVEN_UP_MESSAGE, not_(attempt.c.reason.in_(sorted(SUPPRESSED))))


def _unsent(offsets: Sequence[int]) -> Select[Any]:  # Any: an offset
    """Return a query for those of these events that have a message which did not arrive, and not on purpose."""
    query = select(notification.c.log_offset).join(message, message.c.id == notification.c.message_id)
    query = query.outerjoin(attempt, IS_LAST).where(notification.c.log_offset.in_(offsets)).distinct()
    suppressed = func.coalesce(attempt.c.reason.in_(sorted(SUPPRESSED)), False)
    return query.where(message.c.status != MessageStatus.DELIVERED.value, not_(suppressed))


def _log_entry(row: Any, texts: Texts) -> LogEntry:  # Any: SQLAlchemy's row
    return LogEntry(
        place=DeliveryPlace(row.log_offset, row.id),
        event=ChangeEvent.model_validate_json(texts.of(row)),
        recipient=row.target or row.recipient,
        **{name: getattr(row, name) for name in _LOGGED},
    )
