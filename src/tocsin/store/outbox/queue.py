"""Queues of messages that consumers claim, each message under a lease until its due time.

A claimed message is due again when its lease ends, by the clock of the server; until then nobody else gets it. What a
consumer acknowledges is recorded as an attempt (``store/outbox/messages.py``), as long as nobody has claimed it since.
PostgreSQL skips rows that another consumer is claiming; SQLite has one writer at a time.
Next: ``server/alerts/queue.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Engine, Select, and_, func, select

from tocsin.model.message import Message, MessageStatus
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import QUEUED_MESSAGE, change_event, message, notification

_COLUMNS = tuple(message.c[field.name] for field in fields(Message))
_type_of_event = func.coalesce(change_event.c.entity_type, "")


@dataclass(frozen=True)
class Queued:
    """A message of a queue: its status, the lease that it was last claimed under, and when it last changed."""

    message: Message
    status: MessageStatus
    lease: str | None
    updated_at_ms: int


@dataclass(frozen=True)
class Lease:
    """The lease of a claim: its id, and from when to when it lasts (epoch milliseconds)."""

    id: str
    now_ms: int
    ends_at_ms: int


class EventQueue:
    """The queues of the alerts of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def claim(self, subscription_id: str, lease: Lease, limit: int, *, entity_type: str | None = None) -> list[Message]:
        """Claim at most ``limit`` messages of an alert's queue that nobody holds, in log order.

        With an entity type, as ``first_entity_type`` returns it, only those about such entities.
        """
        query = _free_messages(select(*_COLUMNS), subscription_id, lease.now_ms)
        if entity_type is not None:
            query = query.where(_type_of_event == entity_type)
        query = query.limit(limit).with_for_update(skip_locked=True, of=message)
        with writing(self._engine) as connection:
            claimed_messages = [Message(**row._mapping) for row in connection.execute(query)]
            if claimed_messages:
                claim_update = message.update().where(message.c.id.in_([one.id for one in claimed_messages]))
                wait_ms = lease.ends_at_ms - lease.now_ms
                lease_values = {"lease_owner": lease.id, "due_at_ms": lease.ends_at_ms, "wait_ms": wait_ms}
                connection.execute(claim_update.values(**lease_values, updated_at_ms=lease.now_ms))
        return claimed_messages

    def first_entity_type(self, subscription_id: str, *, now_ms: int) -> str | None:
        """Return the entity type of the oldest event that nobody holds: empty if that is no longer stored.

        None: all events of the queue are held, or there are none.
        """
        query = _free_messages(select(_type_of_event), subscription_id, now_ms).limit(1)
        with reading(self._engine) as connection:
            return connection.execute(query).scalar()

    def find(self, subscription_id: str, ids: Collection[str]) -> dict[str, Queued]:
        """Return those of these messages that are, or were, in the queue of an alert."""
        columns = (*_COLUMNS, message.c.status, message.c.lease_owner, message.c.updated_at_ms)
        query = select(*columns).where(message.c.subscription_id == subscription_id, message.c.id.in_(sorted(ids)))
        with reading(self._engine) as connection:
            return {
                row.id: Queued(
                    Message(**{field.name: getattr(row, field.name) for field in fields(Message)}),
                    MessageStatus(row.status),
                    row.lease_owner,
                    row.updated_at_ms,
                )
                for row in connection.execute(query)
            }

    def release(self, subscription_id: str, lease: str, ids: Collection[str], *, now_ms: int) -> set[str]:
        """Give back messages held under a lease; return which those were."""
        return self._change(subscription_id, lease, ids, {"lease_owner": None, "due_at_ms": now_ms, "wait_ms": 0})

    def extend(self, subscription_id: str, lease: str, ids: Collection[str], *, now_ms: int, lease_ms: int) -> set[str]:
        """Let a lease of these messages end ``lease_ms`` from now; return those that are still held under it."""
        return self._change(subscription_id, lease, ids, {"due_at_ms": now_ms + lease_ms, "wait_ms": lease_ms})

    def _change(
        self, subscription_id: str, lease: str, ids: Collection[str], values: dict[str, int | None]
    ) -> set[str]:
        own_claims = and_(message.c.subscription_id == subscription_id, message.c.lease_owner == lease)
        condition = and_(QUEUED_MESSAGE, own_claims, message.c.id.in_(sorted(ids)))
        query = select(message.c.id).where(condition).order_by(message.c.id).with_for_update()
        with writing(self._engine) as connection:
            claimed_ids = set(connection.execute(query).scalars())
            connection.execute(message.update().where(message.c.id.in_(sorted(claimed_ids))).values(**values))
        return claimed_ids


def _free_messages(query: Select[Any], subscription_id: str, now_ms: int) -> Select[Any]:  # Any: whatever is selected
    """Return a query of the messages of an alert's queue that nobody holds, in log order."""
    return (
        query.select_from(message)
        .join(notification, notification.c.message_id == message.c.id)
        .outerjoin(change_event, change_event.c.log_offset == notification.c.log_offset)
        .where(QUEUED_MESSAGE, message.c.subscription_id == subscription_id, message.c.due_at_ms <= now_ms)
        .order_by(notification.c.log_offset, message.c.id)
    )
