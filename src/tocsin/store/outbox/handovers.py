"""Handovers of shared messages: messages of a paused, stopped or delayed destination are sent by another one.

A message that several alerts share waits in the queue of one of their destinations. If that destination does not send,
the message moves to the queue of another one
(``docs/decisions/0108-shared-messages-change-queues.md``). Next: ``delivery/worker/deliver.py``.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, Engine, Row, and_, bindparam, or_, select

from tocsin.model.notification import split_message_id
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.statements import Prepared
from tocsin.store.database.tables import OPEN_MESSAGE, message, notification
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import UNCLAIMED

LATE_AFTER_MS = 5_000
"""A destination is behind if a message of it has been due for longer and nobody has claimed it."""

_LOOKED_AT = 2_000
_TWO_REASONS = '%"subscriptionId"%"subscriptionId"%'
_BEGINNING = ("", -1)

_ROW = message.c
_WAITING = Prepared(
    select(_ROW.id, _ROW.due_at_ms)
    .where(
        OPEN_MESSAGE,
        _ROW.destination_id == bindparam("destination_id"),
        _ROW.due_at_ms <= bindparam("now_ms"),
        or_(
            _ROW.due_at_ms > bindparam("after_ms"),
            and_(_ROW.due_at_ms == bindparam("after_ms"), _ROW.id > bindparam("after_id")),
        ),
    )
    .order_by(_ROW.due_at_ms, _ROW.id)
    .limit(_LOOKED_AT)
)
"""The next due messages of a queue: id and due time."""

DestinationKey = tuple[str, str]
"""The ids of an alert and of its destination."""

IsOpen = Callable[[DestinationKey], bool]
"""Says whether a destination sends: it and its alert are there and enabled, and its secrets can be opened."""


class _Shared(NamedTuple):
    """A notification and the destinations that its alerts send it to, the leading one first."""

    id: str
    message_id: str
    destination_keys: tuple[DestinationKey, ...]


@dataclass
class Handovers:
    """Handovers in one store. It remembers, of each destination, how far its queue has been looked at."""

    engine: Engine
    is_open: IsOpen
    _looked: dict[str, tuple[str, int]] = field(default_factory=dict)

    def advance(self, now_ms: int) -> int:
        """Look at a part of each queue in which messages wait; return how many messages were handed over."""
        messages = Messages(self.engine)
        pauses, late = messages.pauses(now_ms), messages.due_destinations(now_ms - LATE_AFTER_MS)
        stuck = pauses.waiting.union(pauses.probed, late)
        self._looked = {destination_id: at for destination_id, at in self._looked.items() if destination_id in stuck}
        queues, count = deque(sorted(stuck)), 0
        while queues:
            with reading(self.engine) as connection:
                shared_messages = _find_shared(connection, self._next_waiting(connection, queues, now_ms))
            if takers := self._takers(shared_messages, stuck):
                with writing(self.engine) as connection:
                    count += sum(
                        _hand_over(connection, row, takers[row.id], now_ms) for row in _free(connection, takers)
                    )
        return count

    def _next_waiting(self, connection: Connection, queues: deque[str], now_ms: int) -> list[str]:
        """Return the next messages of the first of these queues, together as many as of one; take those out."""
        message_ids: list[str] = []
        while queues and len(message_ids) < _LOOKED_AT:
            destination_id = queues.popleft()
            after_id, after_ms = self._looked.get(destination_id, _BEGINNING)
            place = {"destination_id": destination_id, "now_ms": now_ms, "after_id": after_id, "after_ms": after_ms}
            waiting = _WAITING.run(connection, place).fetchall()
            self._looked[destination_id] = _BEGINNING if len(waiting) < _LOOKED_AT else tuple(waiting[-1])
            message_ids += [message_id for message_id, _ in waiting]
        return message_ids

    def _takers(self, shared: Sequence[_Shared], stuck: Collection[str]) -> dict[str, dict[DestinationKey, list[str]]]:
        """Return, of each message, the destinations that can take some of its notifications, and which."""
        keys = {key for entry in shared for key in entry.destination_keys if key[1] not in stuck}
        can_take = {key for key in keys if self.is_open(key)}
        takers: dict[str, dict[DestinationKey, list[str]]] = defaultdict(lambda: defaultdict(list))
        for entry in shared:
            taker = next((key for key in entry.destination_keys if key in can_take), None)
            if taker is not None:
                takers[entry.message_id][taker].append(entry.id)
        return takers


def _find_shared(connection: Connection, message_ids: Sequence[str]) -> list[_Shared]:
    """Return the notifications of these messages for which several destinations are reasons."""
    column = notification.c
    query = select(column.id, column.message_id, column.reasons).where(column.reasons.like(_TWO_REASONS))
    several = rows_by_key(connection, query.order_by(column.log_offset, column.id), column.message_id, message_ids)
    shared = (_Shared(row.id, row.message_id, _keys_in(row.reasons)) for row in several)
    return [one for one in shared if len(one.destination_keys) > 1]


def _keys_in(reasons: str) -> tuple[DestinationKey, ...]:
    return tuple(dict.fromkeys((one["subscriptionId"], one["destinationId"]) for one in orjson.loads(reasons)))


def _free(connection: Connection, message_ids: Collection[str]) -> Sequence[Row[Any]]:  # Any: columns of a message
    """Return those of these messages that wait and that no worker has claimed, locked."""
    query = select(message).where(OPEN_MESSAGE, message.c.id.in_(sorted(message_ids)), UNCLAIMED)
    return connection.execute(query.order_by(message.c.id).with_for_update(skip_locked=True)).all()


def _hand_over(
    connection: Connection,
    row: Row[Any],  # Any: columns of a message
    parts: Mapping[DestinationKey, Sequence[str]],
    now_ms: int,
) -> int:
    """Put a message, or what can be taken of it, into other queues; return how many messages that gives.

    What was tried already stays together: its receiver may know it by its id.
    """
    carried_ids = set(
        connection.execute(select(notification.c.id).where(notification.c.message_id == row.id)).scalars()
    )
    taken_ids = {notification_id for notification_ids in parts.values() for notification_id in notification_ids}
    if len(parts) == 1 and carried_ids == taken_ids:
        (key,) = parts
        connection.execute(message.update().where(message.c.id == row.id).values(_queue_of(key, now_ms)))
        return 1
    if row.attempt_count:
        return 0
    for key, notification_ids in parts.items():
        _split(connection, row, notification_ids, _queue_of(key, now_ms))
    if carried_ids == taken_ids:
        connection.execute(message.delete().where(message.c.id == row.id))
    return len(parts)


def _split(
    connection: Connection,
    row: Row[Any],  # Any: columns of a message
    notification_ids: Sequence[str],
    queue: Mapping[str, Any],  # Any: the same
) -> None:
    """Put notifications of a message into a message of their own."""
    part_id = split_message_id(row.id, queue["subscription_id"], queue["destination_id"])
    connection.execute(message.insert(), [{**row._mapping, "lease_owner": None, **queue, "id": part_id}])
    is_taken = notification.c.id.in_(list(notification_ids))
    connection.execute(notification.update().where(is_taken).values(message_id=part_id))


def _queue_of(key: DestinationKey, now_ms: int) -> dict[str, Any]:  # Any: columns of a message
    """Return the columns of a message that joins a queue, as the last one: in a moment it is not late there, too.

    No notification of another alert is added to it.
    """
    subscription_id, destination_id = key
    queue = {"subscription_id": subscription_id, "destination_id": destination_id}
    return {**queue, "grouping_key": None, "due_at_ms": now_ms, "wait_ms": 0}
