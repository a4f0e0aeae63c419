"""Events with so many recipients that several tasks store them, each a portion of the people in a transaction.

What is to be stored is written down before the first portion, in the transaction that stores what else the task did: a
pipeline that is killed goes on where it was. The transaction that stores the last portion stores the results of the
matches, and forgets the portions. Next: ``store/outbox/notifications.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, delete, func, select, update

from tocsin.chunks import chunks_of
from tocsin.flow.resolve.directory import Portion
from tocsin.flow.resolve.portions import MatchedEvent
from tocsin.model.match_result import MatchResult, Pair
from tocsin.model.notification_draft import EventHead
from tocsin.store.database.alert_tables import event_portion
from tocsin.store.database.engine import fetch_rows, insert_into, reading
from tocsin.store.database.tables import notification

_COLUMN = event_portion.c
_FIRST = 1


class PortionKey(NamedTuple):
    """Which portion of which event."""

    log_offset: int
    number: int


@dataclass(frozen=True)
class DividedEvent:
    """An event with the alerts that it matches, in portions.

    ``triggered`` says which alert triggered each of those that did not match. ``people`` are ranges of people, and
    perhaps those who share an address, in their order; a portion has at most ``range_count`` of them.
    """

    event: MatchedEvent
    triggered: Mapping[Pair, str]
    people: Sequence[Portion]
    range_count: int

    @property
    def pairs(self) -> set[Pair]:
        """Return its matches."""
        return {(self.event.head.offset, alert) for alert in self.event.answers_by_alert}


@dataclass(frozen=True)
class RecipientPortion:
    """One of the portions of an event, as it is stored."""

    key: PortionKey
    event: MatchedEvent
    triggered: Mapping[str, str]
    people: Sequence[Portion]


class PortionStored(Exception):  # a signal, never an error
    """Another task has stored the portion: the transaction is taken back."""


class EventPortions:
    """The portions of one store that wait for being stored."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def pending_keys(self) -> list[PortionKey]:
        """Return those that are not stored, in order."""
        query = select(_COLUMN.log_offset, _COLUMN.number).where(_COLUMN.counts.is_(None))
        return [PortionKey(*row) for row in fetch_rows(self._engine, query.order_by(*event_portion.primary_key))]

    def find(self, key: PortionKey) -> RecipientPortion | None:
        """Return a portion; None if it is stored."""
        query = select(_COLUMN.event, _COLUMN.people).where(*_is(key), _COLUMN.counts.is_(None))
        for event, people in fetch_rows(self._engine, query):
            head, answers, triggered = orjson.loads(event)
            return RecipientPortion(key, MatchedEvent(EventHead(*head), answers), triggered, list(_people_in(people)))
        return None

    def pairs_at(self, log_offsets: Iterable[int]) -> set[Pair]:
        """Return the matches of these events that are in portions."""
        query = select(_COLUMN.log_offset, _COLUMN.event).where(_COLUMN.number == _FIRST)
        pairs = set[Pair]()
        with reading(self._engine) as connection:
            for offsets in chunks_of(sorted(log_offsets)):
                for offset, event in connection.execute(query.where(_COLUMN.log_offset.in_(offsets))):
                    pairs.update((offset, alert) for alert in orjson.loads(event)[1])
        return pairs


def plan(connection: Connection, divided: DividedEvent) -> None:
    """Write down the portions of an event in the caller's transaction; those that are there stay as they are."""
    head, answers_by_alert = divided.event
    triggered = {alert: by for (offset, alert), by in divided.triggered.items() if offset == head.offset}
    event = orjson.dumps([tuple(head), dict(answers_by_alert), triggered]).decode()
    portion_rows = [
        {"log_offset": head.offset, "number": number, "event": event, "people": _people_text(people)}
        for number, people in enumerate(chunks_of(divided.people, divided.range_count), start=_FIRST)
    ]
    connection.execute(insert_into(connection, event_portion).on_conflict_do_nothing(), portion_rows)


def has_all(connection: Connection, log_offset: int) -> bool:
    """Return whether all notifications of an event are of its stored portions: no other query has written one."""
    stored = select(func.coalesce(func.sum(_COLUMN.new_count), 0)).where(_COLUMN.log_offset == log_offset)
    count = select(func.count()).where(notification.c.log_offset == log_offset)
    both = connection.execute(select(stored.scalar_subquery(), count.scalar_subquery())).one()
    return bool(both[0] == both[1])


def note_stored(
    connection: Connection, portion: RecipientPortion, counts: Mapping[str, int], *, new_count: int, now_ms: int
) -> list[MatchResult]:
    """Note that the caller's transaction stores a portion, with so many notifications by alert.

    Return the results of the event's matches if it was the last; its portions are forgotten then.

    Raises
    ------
    PortionStored : another transaction has stored it
    """
    of_event = _COLUMN.log_offset == portion.key.log_offset
    first = PortionKey(portion.key.log_offset, _FIRST)
    connection.execute(select(_COLUMN.number).where(*_is(first)).with_for_update())  # the last one sees all others
    values = {"counts": orjson.dumps(counts).decode(), "new_count": new_count}
    update_result = connection.execute(
        update(event_portion).where(*_is(portion.key), _COLUMN.counts.is_(None)).values(values)
    )
    if not update_result.rowcount:
        raise PortionStored()
    if connection.scalar(select(_COLUMN.number).where(of_event, _COLUMN.counts.is_(None)).limit(1)) is not None:
        return []
    totals = Counter[str](dict.fromkeys(portion.event.answers_by_alert, 0))
    for text in connection.scalars(select(_COLUMN.counts).where(of_event)):
        totals.update(orjson.loads(text))
    connection.execute(delete(event_portion).where(of_event))
    offset, triggers = portion.key.log_offset, portion.triggered
    return [MatchResult(offset, alert, totals[alert], now_ms, triggers.get(alert)) for alert in sorted(totals)]


def _is(key: PortionKey) -> tuple[ColumnElement[bool], ...]:
    return _COLUMN.log_offset == key.log_offset, _COLUMN.number == key.number


def _people_text(people: Sequence[Portion]) -> str:
    """Return ranges as JSON; None stands for those who are apart from all ranges."""
    apart = sorted({user_id for one in people for user_id in one.only or one.apart})
    return orjson.dumps([apart, [None if one.only else (one.after, one.through) for one in people]]).decode()


def _people_in(text: str) -> Iterator[Portion]:
    ids, ranges = orjson.loads(text)
    apart = frozenset(ids)
    for bounds in ranges:
        yield Portion(only=apart) if bounds is None else Portion(after=bounds[0], through=bounds[1], apart=apart)
