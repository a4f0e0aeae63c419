"""Removal of notifications, with the messages that carried them and their attempts, in portions.

Messages that wait, and dead letters until their own time, stay. Next: ``jobs/retention.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from sqlalchemy import Connection, Engine, delete, exists, or_, select

from tocsin.chunks import chunks_of
from tocsin.model.message import MessageStatus
from tocsin.model.retention import is_held
from tocsin.store.database.engine import writing
from tocsin.store.database.keys import delete_by_key, rows_by_key
from tocsin.store.database.tables import GIVEN_UP_MESSAGE, attempt, change_event, message, notification
from tocsin.store.upkeep.retention.policy import holds_on
from tocsin.store.upkeep.retention.progress import give_sign

PORTION = 1_000
"""Notifications of one transaction."""

_ROW, _MESSAGE = notification.c, message.c
_IS_FINISHED = or_(_ROW.message_id.is_(None), _MESSAGE.status == MessageStatus.DELIVERED.value)


def remove_notifications(connection: Connection, offsets: Collection[int]) -> int:
    """Remove the notifications of these events, inside a transaction; return how many they were."""
    query = select(_ROW.id, _ROW.message_id)
    removed = list(rows_by_key(connection, query, _ROW.log_offset, offsets))
    _remove(connection, [row.id for row in removed], {row.message_id for row in removed if row.message_id})
    return len(removed)


class NotificationRemoval:
    """Removes old notifications and dead letters from one store."""

    def __init__(self, engine: Engine, *, portion: int = PORTION) -> None:
        self._engine, self._portion = engine, portion

    def remove_finished(self, before_ms: int, run_id: str, clock_ms: Callable[[], int]) -> Iterator[int]:
        """Remove what was delivered, or is in the app, and was created before a moment; yield a count per portion."""
        after = (-1, "")
        while True:
            with writing(self._engine) as connection:
                if not give_sign(connection, run_id, now_ms=clock_ms()):
                    return
                query = (
                    select(_ROW.log_offset, _ROW.id, _ROW.message_id)
                    .join(message, _MESSAGE.id == _ROW.message_id, isouter=True)
                    .where(_ROW.created_at_ms < before_ms, _IS_FINISHED, _ROW.log_offset >= after[0])
                    .where(or_(_ROW.log_offset > after[0], _ROW.id > after[1]))
                    .order_by(_ROW.log_offset, _ROW.id)
                    .limit(self._portion)
                )
                expired_rows = connection.execute(query).all()
                if not expired_rows:
                    return
                held_offsets = _held_offsets(connection, {row.log_offset for row in expired_rows})
                removed_rows = [row for row in expired_rows if row.log_offset not in held_offsets]
                _remove(
                    connection,
                    [row.id for row in removed_rows],
                    {row.message_id for row in removed_rows if row.message_id},
                )
            after = (expired_rows[-1].log_offset, expired_rows[-1].id)
            yield len(removed_rows)

    def remove_dead_letters(self, before_ms: int, run_id: str, clock_ms: Callable[[], int]) -> Iterator[int]:
        """Remove the messages that were given up before a moment; yield how many, per portion."""
        after = (-1, "")
        while True:
            with writing(self._engine) as connection:
                if not give_sign(connection, run_id, now_ms=clock_ms()):
                    return
                query = (
                    select(_MESSAGE.id, _MESSAGE.updated_at_ms)
                    .where(GIVEN_UP_MESSAGE, _MESSAGE.updated_at_ms < before_ms, _MESSAGE.updated_at_ms >= after[0])
                    .where(or_(_MESSAGE.updated_at_ms > after[0], _MESSAGE.id > after[1]))
                    .order_by(_MESSAGE.updated_at_ms, _MESSAGE.id)
                    .limit(self._portion)
                )
                letters = connection.execute(query).all()
                if not letters:
                    return
                query_carried = select(_ROW.id, _ROW.message_id, _ROW.log_offset)
                letter_ids = [letter.id for letter in letters]
                carried_rows = list(rows_by_key(connection, query_carried, _ROW.message_id, letter_ids))
                held_offsets = _held_offsets(connection, {row.log_offset for row in carried_rows})
                held_messages = {row.message_id for row in carried_rows if row.log_offset in held_offsets}
                removed_ids = {letter.id for letter in letters} - held_messages
                _remove(connection, [row.id for row in carried_rows if row.message_id in removed_ids], removed_ids)
            after = (letters[-1].updated_at_ms, letters[-1].id)
            yield len(removed_ids)


def _remove(connection: Connection, ids: Collection[str], message_ids: Collection[str]) -> None:
    """Remove notifications, then those of the messages that carry none any more, with their attempts."""
    delete_by_key(connection, _ROW.id, ids)
    for chunk in chunks_of(sorted(message_ids)):
        carries = exists().where(_ROW.message_id == _MESSAGE.id, _ROW.message_id.is_not(None))
        empty = list(connection.execute(select(_MESSAGE.id).where(_MESSAGE.id.in_(chunk), ~carries)).scalars())
        connection.execute(delete(attempt).where(attempt.c.message_id.in_(empty)))
        connection.execute(delete(message).where(_MESSAGE.id.in_(empty)))


def _held_offsets(connection: Connection, offsets: Collection[int]) -> set[int]:
    """Return which of these events are under a legal hold."""
    holds = holds_on(connection)
    if not holds:
        return set()
    event = change_event.c
    query = select(event.log_offset, event.entity_id, event.user_name, event.timestamp_ms)
    return {
        row.log_offset
        for row in rows_by_key(connection, query, event.log_offset, offsets)
        if is_held(holds, row.entity_id, row.user_name, row.timestamp_ms)
    }
