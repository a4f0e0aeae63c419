"""Messages that wait for their time: the next digests of a person, and those that an explanation names.

Next: ``server/alerts/next_digest.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields

from sqlalchemy import Engine, select

from tocsin.delivery.dispatch import Dispatch
from tocsin.model.channels import WORDED
from tocsin.model.message import Message, MessageStatus
from tocsin.model.preferences import zone_of
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import message
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.preferences import find_preferences, recipients_of

MOST_DIGESTS = 10
"""Most messages that are shown of a person: each is composed as a whole."""

_UNSENT = (MessageStatus.PENDING.value, MessageStatus.AWAITING_RETRY.value)
_COLUMNS = tuple(message.c[field.name] for field in fields(Message))


class NextDigests:
    """The waiting messages of one store's people."""

    def __init__(self, engine: Engine, messages: Messages) -> None:
        self._engine, self._messages = engine, messages

    def of(self, user_id: str) -> list[Dispatch]:
        """Return the messages to a person by mail or chat that wait, the first due first; it changes nothing."""
        is_waiting = (message.c.status == MessageStatus.PENDING.value, message.c.lease_owner.is_(None))
        with reading(self._engine) as connection:
            is_theirs = message.c.recipient.in_(recipients_of(connection, user_id))
            query = select(*_COLUMNS).where(message.c.grouping_key.is_not(None), is_theirs, *is_waiting)
            query = query.where(message.c.recipient_id == user_id, message.c.channel.in_(sorted(WORDED)))
            query = query.order_by(message.c.due_at_ms, message.c.id).limit(MOST_DIGESTS)
            messages = [Message(*row) for row in connection.execute(query)]
        return self._messages.dispatches(messages) if messages else []

    def unsent(self, message_ids: Collection[str], notification_ids: Collection[str]) -> list[Dispatch]:
        """Return those of these messages that wait to be sent, also again after a failure; it changes nothing.

        Of each, only these of its notifications are read.
        """
        query = select(*_COLUMNS).where(message.c.status.in_(_UNSENT))
        with reading(self._engine) as connection:
            messages = [Message(*row) for row in rows_by_key(connection, query, message.c.id, message_ids)]
        return self._messages.dispatches(messages, only_ids=notification_ids) if messages else []

    def zone_of(self, user_id: str) -> str | None:
        """Return the IANA zone that a person prefers; None for no preference."""
        with reading(self._engine) as connection:
            return zone_of(find_preferences(connection, [user_id]).layers.get(user_id, ()))
