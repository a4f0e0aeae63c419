"""Messages that wait for their recipient's time, and what becomes of them when the recipient prefers another one.

Locks are taken on messages first; notifications that somebody else has locked are left where they are, so that nobody
waits for the other. Next: ``store/outbox/preferences.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, exists, select, update

from tocsin.chunks import chunks_of
from tocsin.flow.schedule.preferences import PREFERRED
from tocsin.model.message import MessageStatus
from tocsin.model.notification import gathered_message_id, recipient_key
from tocsin.store.database.engine import inserting
from tocsin.store.database.tables import destination_secret, message, notification, person

_FREE = (message.c.status == MessageStatus.PENDING.value, message.c.lease_owner.is_(None))
_SAME = ("channel", "recipient", "recipient_id", "target", "subscription_id", "destination_id")


def plan_again(connection: Connection, user_id: str, grouping_key: str, *, due_at_ms: int, now_ms: int) -> list[str]:
    """Let what waits for a person's time be due at another one: one message per channel, under this key.

    Returns
    -------
    the ids of the messages that are due then; the notifications in them follow in a transaction of their own
    """
    recipients = _recipients(connection, user_id)
    waiting = message.c.grouping_key.startswith(PREFERRED, autoescape=True)
    query = select(message).where(message.c.recipient.in_(recipients), waiting, *_FREE).order_by(message.c.id)
    groups: dict[tuple[str, str], list[Any]] = defaultdict(list)  # Any: rows of SQLAlchemy's
    for row in connection.execute(query.with_for_update()):
        groups[row.channel, row.recipient].append(row)
    due = {"due_at_ms": due_at_ms, "wait_ms": max(0, due_at_ms - now_ms)}
    planned: list[str] = []
    for group in groups.values():
        ids = [row.id for row in group]
        for chunk in chunks_of(ids):
            connection.execute(update(message).where(message.c.id.in_(chunk)).values(due))
        planned += [*ids, *_gather(connection, group, {**due, "grouping_key": grouping_key, "updated_at_ms": now_ms})]
    return planned


def _recipients(connection: Connection, user_id: str) -> list[str]:
    """Return as what messages to a person name their recipient: their address, and that with each bot."""
    address = connection.scalar(select(person.c.email).where(person.c.user_id == user_id)) or ""
    bots = select(destination_secret.c.bot).where(destination_secret.c.bot.is_not(None)).distinct()
    return [address, *(recipient_key(address, bot) for bot in connection.scalars(bots) if bot)]


def follow(connection: Connection, message_ids: Sequence[str]) -> None:
    """Let notifications be due when their messages are."""
    due = select(message.c.due_at_ms).where(message.c.id == notification.c.message_id).scalar_subquery()
    for chunk in chunks_of(message_ids):
        connection.execute(update(notification).where(notification.c.message_id.in_(chunk)).values(due_at_ms=due))


def _gather(connection: Connection, messages: Sequence[Any], planned: Mapping[str, Any]) -> list[str]:
    """Move the notifications of these messages into one, which takes more under its key; return its id, if it does."""
    first = messages[0]
    gathered_id = gathered_message_id(planned["grouping_key"], first.channel, first.recipient, planned["due_at_ms"])
    row = {name: getattr(first, name) for name in _SAME} | dict(planned)
    row |= {"id": gathered_id, "status": MessageStatus.PENDING.value, "created_at_ms": first.created_at_ms}
    connection.execute(inserting(connection, message).values(row).on_conflict_do_nothing())
    if connection.scalar(select(message.c.id).where(message.c.id == gathered_id, *_FREE).with_for_update()) is None:
        return []  # somebody is sending it: the others go out by themselves
    other_ids = [row.id for row in messages if row.id != gathered_id]
    for chunk in chunks_of(other_ids):
        inside = select(notification.c.id).where(notification.c.message_id.in_(chunk)).order_by(notification.c.id)
        ids = connection.execute(inside.with_for_update(skip_locked=True)).scalars().all()
        for moved in chunks_of(ids):
            connection.execute(update(notification).where(notification.c.id.in_(moved)).values(message_id=gathered_id))
        is_full = exists().where(notification.c.message_id == message.c.id)
        connection.execute(message.delete().where(message.c.id.in_(chunk), ~is_full))
    return [gathered_id]
