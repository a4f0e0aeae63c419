"""Messages that gather several notifications: which of them still take one.

A message that a worker has claimed takes no more: what comes then gets the next due time. Next:
``store/outbox/notifications.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from tocsin.flow.schedule.messages import in_slot, next_slot
from tocsin.model.message import MessageStatus
from tocsin.store.chunks import chunked
from tocsin.store.engine import inserting
from tocsin.store.tables import message, notification

Row = Mapping[str, Any]  # Any: a column of flow/schedule/messages.scheduled


def gathered(connection: Connection, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return notifications in messages that still take them; and those that are stored already, of such messages.

    Rows without a grouping key stay as they are. The messages of the others are stored, and locked until the
    transaction ends: no worker claims one before the notifications are in it.
    """
    together = [row for row in rows if row["grouping_key"] is not None]
    placed = [row for row in rows if row["grouping_key"] is None]
    stored = _stored(connection, {row["id"] for row in together})
    waiting = [row for row in together if row["id"] not in stored]
    while waiting:
        open_ids = _open(connection, waiting)
        placed += [row for row in waiting if row["message_id"] in open_ids]
        waiting = [_in_next_slot(row) for row in waiting if row["message_id"] not in open_ids]
    return placed, [row for row in together if row["id"] in stored]


def _stored(connection: Connection, ids: Collection[str]) -> set[str]:
    found: set[str] = set()
    for some in chunked(sorted(ids)):
        found.update(connection.execute(select(notification.c.id).where(notification.c.id.in_(some))).scalars())
    return found


def _open(connection: Connection, rows: Sequence[Row]) -> set[str]:
    """Store the messages of these rows where they are new; return those that nobody has claimed, locked."""
    new = {row["message_id"]: message_row(row) for row in rows}
    ids = sorted(new)
    insert = inserting(connection, message).on_conflict_do_nothing()
    connection.execute(insert, [new[one] for one in ids])
    untouched = (message.c.status == MessageStatus.PENDING.value, message.c.lease_owner.is_(None))
    found: set[str] = set()
    for some in chunked(ids):
        query = select(message.c.id).where(message.c.id.in_(some), message.c.attempt_count == 0, *untouched)
        found.update(connection.execute(query.order_by(message.c.id).with_for_update()).scalars())
    return found


def _in_next_slot(row: Row) -> Row:
    slot = next_slot(row["slot"], row["channel"])
    return {**row, "slot": slot, **in_slot(row["id"], row["channel"], row["key"], slot, row["created_at_ms"])}


def message_row(row: Row) -> dict[str, object]:
    """Return the message of a scheduled notification as it is stored."""
    same = ("channel", "recipient_id", "target", "subscription_id", "destination_id", "grouping_key", "due_at_ms")
    return {
        **{name: row[name] for name in (*same, "wait_ms", "created_at_ms")},
        "id": row["message_id"],
        "recipient": row["key"],
        "status": MessageStatus.PENDING.value,
        "updated_at_ms": row["created_at_ms"],
    }
