"""Dead letters of one store: pages of those that a selection covers, and single messages by id.

Their order is that in which they were given up, newest first. Next: ``store/outbox/replays.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Select, and_, func, insert, select, tuple_

from tocsin.errors import Conflict
from tocsin.model.message import SUPPRESSED, CarriedEvent, Entry, Message, MessageStatus, OutcomeReason
from tocsin.model.notification import parse_reasons
from tocsin.model.replay import DeadLetter, Selection
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.database.snapshots import EVENT_TEXT, Texts
from tocsin.store.database.tables import GIVEN_UP_MESSAGE, attempt, change_event, message, notification

SHOWN_ENTRIES = 5
"""Notifications that are read of each dead letter of a page."""

_GIVEN_UP = (MessageStatus.FAILED.value, MessageStatus.RETRY_LIMIT_REACHED.value)
_OWN = "id subscription_id destination_id channel target status attempt_count created_at_ms updated_at_ms".split()
IS_LAST = and_(attempt.c.message_id == message.c.id, attempt.c.number == message.c.attempt_count)
"""Whether an attempt is the last one at its message."""


@dataclass(frozen=True)
class DeadLetterPlace:
    """A place in the order of dead letters: when one was given up, and its id."""

    updated_at_ms: int
    id: str


class DeadLetters:
    """The dead letters of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def page(self, selection: Selection, after: DeadLetterPlace | None, limit: int) -> BoundedList[DeadLetter]:
        """Return at most ``limit`` of the dead letters that are meant, after a place."""
        order = (message.c.updated_at_ms, message.c.id)
        query = _with_last().where(GIVEN_UP_MESSAGE, *conditions_of(selection))
        if after is not None:
            query = query.where(tuple_(*order) < (after.updated_at_ms, after.id))
        with reading(self._engine) as connection:
            letter_rows = connection.execute(query.order_by(*(one.desc() for one in order)).limit(limit)).all()
            return BoundedList(_with_notifications(connection, [_letter(row) for row in letter_rows]))

    def forget(self, message_ids: Collection[str], *, because: str, now_ms: int) -> int:
        """Let these be dead letters no more; ``because`` says who wants that, and why. Return how many were some.

        Each gets an attempt that was none, so that their histories say it; a replay can still send them.

        Raises
        ------
        Conflict : a message is not given up; nothing is forgotten then
        """
        row = message.c
        query = select(row.id, row.attempt_count, row.status, attempt.c.reason).select_from(message)
        query = query.outerjoin(attempt, IS_LAST).where(row.id.in_(sorted(set(message_ids)))).order_by(row.id)
        with writing(self._engine) as connection:
            letter_rows = connection.execute(query.with_for_update(of=message)).all()
            for letter in letter_rows:
                if letter.status not in _GIVEN_UP:
                    raise Conflict(f"Message {letter.id} is not given up: its status is {letter.status}.")
            dead_rows = [letter for letter in letter_rows if letter.reason not in SUPPRESSED]
            if dead_rows:
                connection.execute(insert(attempt), [_last_attempt_of(letter, because, now_ms) for letter in dead_rows])
                ids = [letter.id for letter in dead_rows]
                addition = message.update().where(row.id.in_(ids)).values(attempt_count=row.attempt_count + 1)
                connection.execute(addition)
        return len(dead_rows)

    def find(self, message_id: str) -> DeadLetter | None:
        """Return the message of that id, whatever its status."""
        return self.find_many([message_id]).get(message_id)

    def find_many(self, message_ids: Collection[str]) -> dict[str, DeadLetter]:
        """Return the messages of these ids that there are, by id, whatever their status."""
        with reading(self._engine) as connection:
            letter_rows = connection.execute(_with_last().where(message.c.id.in_(sorted(set(message_ids))))).all()
            letters = _with_notifications(connection, [_letter(row) for row in letter_rows])
            return {letter.id: letter for letter in letters}

    def message(self, message_id: str) -> Message | None:
        """Return the message of that id as a worker would claim it."""
        columns = (message.c[field.name] for field in fields(Message))
        with reading(self._engine) as connection:
            row = connection.execute(select(*columns).where(message.c.id == message_id)).first()
            return None if row is None else Message(**row._mapping)


def _last_attempt_of(letter: Any, because: str, now_ms: int) -> dict[str, object]:  # Any: SQLAlchemy's row
    return {
        "message_id": letter.id,
        "number": letter.attempt_count + 1,
        "started_at_ms": now_ms,
        "duration_ms": 0,
        "outcome": "rejected",
        "reason": OutcomeReason.FORGOTTEN.value,
        "detail": because,
    }


def conditions_of(selection: Selection) -> list[ColumnElement[bool]]:
    """Return the conditions of a selection, on messages joined with their last attempts."""
    row, conditions = message.c, list[ColumnElement[bool]]()
    if selection.subscription_ids is not None:
        conditions.append(row.subscription_id.in_(sorted(selection.subscription_ids)))
    if selection.destination_ids is not None:
        conditions.append(row.destination_id.in_(sorted(selection.destination_ids)))
    if selection.since_ms is not None:
        conditions.append(row.updated_at_ms >= selection.since_ms)
    if selection.until_ms is not None:
        conditions.append(row.updated_at_ms <= selection.until_ms)
    is_suppressed = attempt.c.reason.in_(sorted(SUPPRESSED))
    return [*conditions, ~is_suppressed if selection.reason is None else attempt.c.reason == selection.reason]


def joined_with_last(query: Select[Any]) -> Select[Any]:  # Any: whatever it selects
    """Return a query of messages joined with the last attempt of each."""
    return query.join(attempt, IS_LAST)


def _with_last() -> Select[Any]:  # Any: the columns of a dead letter
    own_columns = (message.c[name] for name in _OWN)
    query = select(*own_columns, attempt.c.reason, attempt.c.status_code, attempt.c.detail)
    return query.select_from(message).outerjoin(attempt, IS_LAST)


def _letter(row: Any) -> DeadLetter:  # Any: SQLAlchemy's row
    return DeadLetter(**{**row._mapping, "status": MessageStatus(row.status)})


def _with_notifications(connection: Connection, letters: Sequence[DeadLetter]) -> list[DeadLetter]:
    """Return the letters with the first of their notifications, and how many there are."""
    note = notification.c
    order = func.row_number().over(partition_by=note.message_id, order_by=(note.log_offset, note.id))
    count = func.count().over(partition_by=note.message_id)
    columns = (note.id, note.message_id, note.log_offset, note.event_id, note.recipient_id, note.reasons)
    carried_rows = select(*columns, order.label("place"), count.label("carried"))
    numbered_rows = carried_rows.where(note.message_id.in_([one.id for one in letters])).subquery()
    query = select(numbered_rows, *EVENT_TEXT).join(change_event, change_event.c.id == numbered_rows.c.event_id)
    entries, counts, texts = defaultdict[str, list[Entry]](list), dict[str, int](), Texts(connection)
    for row in connection.execute(query.where(numbered_rows.c.place <= SHOWN_ENTRIES).order_by(numbered_rows.c.place)):
        carried_event = CarriedEvent(row.event_id, texts.of(row))
        reasons = parse_reasons(row.reasons)
        entries[row.message_id].append(Entry(row.id, row.log_offset, carried_event, reasons, row.recipient_id))
        counts[row.message_id] = row.carried
    return [replace(one, notification_count=counts.get(one.id, 0), entries=tuple(entries[one.id])) for one in letters]
