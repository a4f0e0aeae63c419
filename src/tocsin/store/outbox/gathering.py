"""Messages that gather several notifications: which ones can take another, and when the last one of a group was sent.

A message that a worker has claimed takes no more: later notifications get the next due time. Why this is decided here,
in the transaction that writes: docs/decisions/0053-real-time-alerts-gather-where-they-are-written.md. Next:
``store/outbox/notifications.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from tocsin.flow.schedule.messages import Slot, following, in_slot, next_slot
from tocsin.model.message import MessageStatus
from tocsin.store.chunks import chunked
from tocsin.store.engine import inserting
from tocsin.store.tables import message

Row = Mapping[str, Any]  # Any: a column of flow/schedule/messages.scheduled
Group = tuple[str, str, str]
"""Channel, recipient and grouping key."""

_LOOK_BACK_MS = 86_400_000
"""How long a message that nobody could send yet takes what follows, in real time."""


class Gathered(NamedTuple):
    """Notifications by what carries them: messages of their own, or one that is stored and locked."""

    alone: list[Row]
    placed: list[Row]


def gathered(connection: Connection, rows: Sequence[Row]) -> Gathered:
    """Return notifications that are not stored yet, those with a grouping key in messages that still take them.

    These messages are stored, and locked until the transaction ends: no worker claims one before the notifications are
    in it.
    """
    alone: list[Row] = []
    paced: list[Row] = []
    waiting: list[Row] = []
    for row in rows:
        by = alone if row["grouping_key"] is None else paced if row["slot"].window_ms else waiting
        by.append(row)
    first, following_ones = _paced(connection, paced)
    waiting += following_ones
    placed: list[Row] = []
    while waiting:
        open_ids = _open(connection, waiting)
        placed += [row for row in waiting if row["message_id"] in open_ids]
        waiting = [_in(row, next_slot(row["slot"])) for row in waiting if row["message_id"] not in open_ids]
    return Gathered(alone + first, placed)


class _Latest(NamedTuple):
    """The latest message of a group: the one that takes more, or when the last one went out."""

    open_id: str | None
    at_ms: int


def _paced(connection: Connection, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return the notifications that go out at once, alone, and those that gather, each in its slot."""
    groups: dict[Group, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["channel"], row["key"], row["grouping_key"]].append(row)
    latest = _latest(connection, groups)
    first: list[Row] = []
    others: list[Row] = []
    for group, members in groups.items():
        last = latest.get(group)
        if last is None and len(members) == 1:
            first += members
        else:
            others += [_after(row, last) for row in members]
    return first, others


def _after(row: Row, last: _Latest | None) -> Row:
    """Return a notification with its slot, chosen after the last message of its group."""
    slot: Slot = row["slot"]
    if last is None:
        return _in(row, following(slot, slot.due_at_ms))
    if last.open_id is not None:
        return {**_in(row, following(slot, last.at_ms)), "message_id": last.open_id}
    return _in(row, following(slot, last.at_ms + slot.window_ms))


def _latest(connection: Connection, groups: Mapping[Group, Sequence[Row]]) -> dict[Group, _Latest]:
    """Return, of the groups that have one, the message that takes more, or else the last one within the window."""
    found: dict[Group, _Latest] = {}
    for row in _messages_of(connection, groups):
        group = (row.channel, row.recipient, row.grouping_key)
        if group not in groups:
            continue
        slot, now_ms = groups[group][0]["slot"], groups[group][0]["created_at_ms"]
        is_open = row.status == MessageStatus.PENDING.value and row.lease_owner is None and row.attempt_count == 0
        # A message that was tried is due again later than it went out.
        one = _Latest(row.id, row.due_at_ms) if is_open else _Latest(None, min(row.due_at_ms, row.updated_at_ms))
        if is_open or one.at_ms > now_ms - slot.window_ms:
            found[group] = max(found.get(group, one), one, key=_preference)
    return found


def _preference(one: _Latest) -> tuple[bool, int]:
    """Return the place of a message among those of its group: the first open one, or else the last that went out."""
    return (False, one.at_ms) if one.open_id is None else (True, -one.at_ms)


def _messages_of(connection: Connection, groups: Mapping[Group, Sequence[Row]]) -> Iterable[Any]:
    """Yield the messages of these groups within a day, and perhaps of others."""
    column = message.c
    query = select(
        *(column.id, column.channel, column.recipient, column.grouping_key, column.due_at_ms, column.updated_at_ms),
        *(column.status, column.lease_owner, column.attempt_count),
    )
    for some in chunked(sorted(groups)):
        since_ms = min(groups[one][0]["created_at_ms"] for one in some) - _LOOK_BACK_MS
        recipients, keys = {one[1] for one in some}, {one[2] for one in some}
        of_groups = (column.recipient.in_(sorted(recipients)), column.grouping_key.in_(sorted(keys)))
        yield from connection.execute(query.where(*of_groups, column.due_at_ms > since_ms))


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


def _in(row: Row, slot: Slot) -> Row:
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
