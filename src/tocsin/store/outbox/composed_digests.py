"""Digests composed ahead of their time: which messages are due soon, and the words that Spark's tasks store for them.

Nothing depends on these rows: a worker composes what has none, or one of another key, and rows are removed once their
message is sent. Next: ``jobs/digests.py`` composes, ``store/outbox/messages.py`` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, and_, func, select, tuple_

from tocsin.delivery.channels.email.composed import may_be_composed
from tocsin.delivery.dispatch import ComposedContent, Dispatch
from tocsin.model.message import Message, MessageStatus
from tocsin.model.subscription import Channel
from tocsin.store.database.alert_tables import composed_digest
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.keys import delete_by_key, rows_by_key
from tocsin.store.database.tables import GATHERED_MESSAGE, message

_COMPOSED, _DUE = composed_digest.c, (message.c.due_at_ms, message.c.id)
_COLUMNS = tuple(message.c[field.name] for field in fields(Message))
_IS_MAIL = message.c.channel == Channel.EMAIL.value
_ROWS_PER_DELETION = 5_000
_IS_OPEN = message.c.status.in_((MessageStatus.PENDING.value, MessageStatus.AWAITING_RETRY.value))


class DueShare(NamedTuple):
    """Messages that are composed together, by due time and id: from the first one on, before the last ones."""

    first_ms: int
    first_id: str
    end_ms: int
    end_id: str


class ComposedDigests:
    """The digests that are composed ahead in one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def count_due(self, after_ms: int, until_ms: int) -> int:
        """Return how many digests wait that are due after one time, until another."""
        with reading(self._engine) as connection:
            query = select(func.count()).select_from(message).where(_is_due(after_ms, until_ms))
            return int(connection.scalar(query) or 0)

    def shares(self, after_ms: int, until_ms: int, size: int) -> list[DueShare]:
        """Return the digests that are due after one time, until another, in shares of so many, the first due first."""
        place = func.row_number().over(order_by=_DUE).label("place")
        due = select(*_DUE, place).where(_is_due(after_ms, until_ms)).subquery()
        query = select(due.c.due_at_ms, due.c.id).where((due.c.place - 1) % size == 0).order_by(due.c.place)
        with reading(self._engine) as connection:
            firsts = [(row.due_at_ms, row.id) for row in connection.execute(query)]
        return [DueShare(*first, *end) for first, end in pairwise([*firsts, (until_ms + 1, "")])]

    def waiting_messages(self, share: DueShare, size: int) -> Iterator[Sequence[Message]]:
        """Yield the mails of a share that nobody has claimed or composed, at most ``size`` at a time."""
        place = (share.first_ms, share.first_id)
        is_composed = select(_COMPOSED.message_id).where(_COMPOSED.message_id == message.c.id).exists()
        is_free = and_(_IS_MAIL, message.c.lease_owner.is_(None), ~is_composed)
        query = select(*_COLUMNS).where(GATHERED_MESSAGE, is_free, tuple_(*_DUE) < (share.end_ms, share.end_id))
        is_later: ColumnElement[bool] = tuple_(*_DUE) >= place
        while True:
            with reading(self._engine) as connection:
                page = connection.execute(query.where(is_later).order_by(*_DUE).limit(size)).all()
            if not page:
                return
            messages = [Message(*row) for row in page]
            yield messages
            is_later = tuple_(*_DUE) > (messages[-1].due_at_ms, messages[-1].id)

    def store(self, contents: Mapping[str, tuple[int, ComposedContent]]) -> int:
        """Store what was composed, with the due time, by message; what another task has stored is replaced."""
        rows_of_contents = [
            {"message_id": message_id, "due_at_ms": due_at_ms, "basis": content.key, "content": content.content}
            for message_id, (due_at_ms, content) in sorted(contents.items())
        ]
        if rows_of_contents:
            with writing(self._engine) as connection:
                insert = insert_into(connection, composed_digest)
                replaced = {name: insert.excluded[name] for name in ("due_at_ms", "basis", "content")}
                upsert = insert.on_conflict_do_update(index_elements=["message_id"], set_=replaced)
                connection.execute(upsert, rows_of_contents)
        return len(rows_of_contents)

    def forget_sent(self, now_ms: int) -> int:
        """Remove what was composed of messages that are sent, given up or gone; return how many rows that were."""
        is_waiting = select(message.c.id).where(message.c.id == _COMPOSED.message_id, _IS_OPEN).exists()
        return self._forget(_COMPOSED.due_at_ms <= now_ms, ~is_waiting)

    def forget_all(self) -> int:
        """Remove all that was composed; return how many rows that were. It is composed again, or by the worker."""
        return self._forget()

    def _forget(self, *conditions: ColumnElement[bool]) -> int:
        some_ids = select(_COMPOSED.message_id).where(*conditions).limit(_ROWS_PER_DELETION)
        total_count = 0
        while True:
            with reading(self._engine) as connection:
                ids = list(connection.scalars(some_ids))
            if not ids:
                return total_count
            with writing(self._engine) as connection:
                delete_by_key(connection, _COMPOSED.message_id, ids)
            total_count += len(ids)


def with_composed(connection: Connection, dispatches: Sequence[Dispatch]) -> list[Dispatch]:
    """Return messages, the digests among them with what was composed of them ahead of their time."""
    ids = [one.message.id for one in dispatches if may_be_composed(one)]
    query = select(_COMPOSED.message_id, _COMPOSED.basis, _COMPOSED.content)
    composed_rows = rows_by_key(connection, query, _COMPOSED.message_id, ids)
    contents = {row.message_id: ComposedContent(row.basis, row.content) for row in composed_rows}
    return [replace(one, composed=contents.get(one.message.id)) if contents else one for one in dispatches]


def _is_due(after_ms: int, until_ms: int) -> ColumnElement[bool]:
    return and_(GATHERED_MESSAGE, message.c.due_at_ms > after_ms, message.c.due_at_ms <= until_ms)
