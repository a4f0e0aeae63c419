"""Counts of alert firings: matches, notifications and reads in a window, counted as they happen.

Counting later would read every notification of a month. Next: ``alerts/noise.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, Select, case, func, select, tuple_, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB

from tocsin.chunks import chunks_of
from tocsin.model.entity import Document
from tocsin.model.match_result import Firing, Pair
from tocsin.model.subscription import Channel
from tocsin.store.database.alert_tables import firing
from tocsin.store.database.bulk import BulkInsert, Row
from tocsin.store.database.engine import insert_into, is_sqlite, reading
from tocsin.store.database.tables import change_event, notification

_KEY = (firing.c.log_offset, firing.c.subscription_id)
_COUNTS = ("notified_count", "person_count", "app_count", "opened_count")
_OPENED = 0
"""What is new has not been opened yet."""

_FIRINGS = BulkInsert(firing, ("log_offset", "subscription_id", *_COUNTS))
Fired = tuple[int, str, str, object]
"""Offset, reasons and channel of a notification, and its recipient, if that is a person (or whether it is)."""

_HAS_NOTIFIED = firing.c.notified_count > 0


@dataclass(frozen=True)
class Tally:
    """Counts of one alert, or of one asset of it.

    ``fired_count`` events matched, ``silent_count`` of them notified nobody; notifications, those to people, in-app
    ones, and of these the opened ones.
    """

    fired_count: int = 0
    silent_count: int = 0
    notified_count: int = 0
    person_count: int = 0
    app_count: int = 0
    opened_count: int = 0

    def __add__(self, tally: Tally) -> Tally:
        """Return the sum of two tallies."""
        return Tally(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(tally), strict=True)))

    @property
    def noise(self) -> int:
        """Return the number of notifications to people that were not opened; mails cannot be tracked."""
        return self.person_count - self.opened_count


class Firings:
    """The firings of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def start_of(self, since_ms: int) -> int:
        """Return the log offset at which a window begins: that of the first event since then."""
        event = change_event.c
        query = select(event.log_offset).where(event.timestamp_ms >= since_ms).order_by(event.timestamp_ms).limit(1)
        with reading(self._engine) as connection:
            offset = connection.execute(query).scalar_one_or_none()
            return int(offset if offset is not None else 2**62)

    def tallies(self, start: int) -> dict[str, Tally]:
        """Return the counts of each alert that matched something from that offset on."""
        query = select(firing.c.subscription_id, *_sums()).where(firing.c.log_offset >= start)
        with reading(self._engine) as connection:
            sums = connection.execute(query.group_by(firing.c.subscription_id))
            return {row[0]: Tally(*map(int, row[1:])) for row in sums}

    def tally(self, subscription_id: str, start: int) -> Tally:
        """Return the counts of one alert from that offset on."""
        with reading(self._engine) as connection:
            row = connection.execute(select(*_sums()).where(*_is_since(subscription_id, start))).one()
            return Tally(*(int(count or 0) for count in row))

    def of(self, subscription_id: str, start: int, *, limit: int) -> list[Firing]:
        """Return the newest firings of an alert from that offset on that notified anyone."""
        counts = (firing.c[name] for name in _COUNTS)
        query = select(firing.c.log_offset, *counts).where(*_is_since(subscription_id, start), _HAS_NOTIFIED)
        with reading(self._engine) as connection:
            firings = connection.execute(query.order_by(firing.c.log_offset.desc()).limit(limit))
            return [Firing(*map(int, row)) for row in firings]

    def overlaps(self, offsets: Iterable[int], *, besides: str) -> Counter[str]:
        """Return of how many of these events other alerts than ``besides`` notified anybody, by their ids."""
        counts = Counter[str]()
        row, events = firing.c, func.count(firing.c.log_offset)
        query = select(row.subscription_id, events).where(_HAS_NOTIFIED, row.subscription_id != besides)
        with reading(self._engine) as connection:
            for chunk in chunks_of(offsets):
                of_chunk = query.where(row.log_offset.in_(chunk)).group_by(row.subscription_id)
                counts.update({alert: int(count) for alert, count in connection.execute(of_chunk)})
        return counts

    def by_asset(self, subscription_id: str, start: int, *, limit: int) -> list[tuple[str, str, str, Tally]]:
        """Return, of the assets with the most notifications of an alert, id, type, name and counts."""
        about = (change_event.c.entity_id, change_event.c.entity_type, func.max(change_event.c.entity_fqn))
        query = select(*about, *_sums()).join(change_event, change_event.c.log_offset == firing.c.log_offset)
        grouped = query.where(*_is_since(subscription_id, start)).group_by(*about[:2])
        notified = func.sum(firing.c.notified_count)
        with reading(self._engine) as connection:
            assets = connection.execute(grouped.having(notified > 0).order_by(notified.desc(), about[0]).limit(limit))
            return [(row[0], row[1], row[2] or row[0], Tally(*map(int, row[3:]))) for row in assets]

    def per_asset(self, subscription_ids: Collection[str], start: int) -> list[tuple[str, Document, Tally]]:
        """Return the counts of each of these alerts per matched asset: alert, reference, tally."""
        about = (firing.c.subscription_id, change_event.c.entity_id, change_event.c.entity_type)
        query = select(*about, *_sums()).join(change_event, change_event.c.log_offset == firing.c.log_offset)
        of_alerts = query.where(firing.c.subscription_id.in_(subscription_ids), firing.c.log_offset >= start)
        with reading(self._engine) as connection:
            sums = connection.execute(of_alerts.group_by(*about)).all()
        return [(row[0], {"id": row[1], "type": row[2]}, Tally(*map(int, row[3:]))) for row in sums]

    def people(self, subscription_ids: Collection[str], start: int) -> dict[str, int]:
        """Return the number of distinct recipients of each of these alerts from that offset on."""
        query = select(firing.c.subscription_id, func.count(notification.c.recipient_id.distinct()))
        query = query.join(notification, notification.c.log_offset == firing.c.log_offset)
        position = func.instr if self._engine.dialect.name == "sqlite" else func.strpos
        is_reason = position(notification.c.reasons, firing.c.subscription_id) > 0
        of_alerts = query.where(firing.c.subscription_id.in_(subscription_ids), firing.c.log_offset >= start)
        per_alert = of_alerts.where(_HAS_NOTIFIED, is_reason).group_by(firing.c.subscription_id)
        with reading(self._engine) as connection:
            return {row[0]: int(row[1]) for row in connection.execute(per_alert)}


class FiringCounts:
    """Counts of the firings of some matches and their new notifications, until they are written; a match counts once.

    What another query has written before counts with the reasons that it takes.
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._pairs = pairs
        self._notified: Counter[tuple[int, str, str, bool]] = Counter()

    def add(self, notified: Iterable[Fired]) -> None:
        """Count new notifications."""
        self._notified.update(map(_kind, notified))

    def add_kind(self, notified: Fired, count: int) -> None:
        """Count so many new notifications of one kind."""
        self._notified[_kind(notified)] += count

    def write(self, connection: Connection) -> None:
        """Store the counts in the caller's transaction."""
        _FIRINGS.run(connection, self._rows())

    def add_to_stored(self, connection: Connection) -> None:
        """Add the counts to those that are stored, in the caller's transaction."""
        insert = insert_into(connection, firing)
        sums = {name: firing.c[name] + insert.excluded[name] for name in _COUNTS}
        for values in self._rows():
            row = dict(zip(_FIRINGS.columns, values, strict=True))
            connection.execute(insert.values(row).on_conflict_do_update(index_elements=list(_KEY), set_=sums))

    def _rows(self) -> list[Row]:
        counts: dict[Pair, list[int]] = {pair: [0, 0, 0] for pair in self._pairs}
        for (offset, reasons, channel, is_person), count in self._notified.items():
            for alert in alerts_in(reasons):
                counted = counts.setdefault((offset, alert), [0, 0, 0])
                counted[0] += count
                counted[1] += count if is_person else 0
                counted[2] += count if channel == Channel.ACTIVITY_FEED.value else 0
        return [(*pair, *counted, _OPENED) for pair, counted in sorted(counts.items())]


def _kind(notified: Fired) -> tuple[int, str, str, bool]:
    offset, reasons, channel, person = notified
    return offset, reasons, channel, person is not None and person is not False


def note_opened(connection: Connection, unread: ColumnElement[bool]) -> None:
    """Count these notifications, which are about to be marked as read, as opened, for all their alerts."""
    keys = _keys_of(unread, is_sqlite=is_sqlite(connection))
    locked = select(*_KEY).where(tuple_(*_KEY).in_(keys)).order_by(*_KEY).with_for_update()  # in one order: no deadlock
    firings: Sequence[Any] = connection.execute(locked).all()
    for start in range(0, len(firings), 400):
        chunk = [tuple(row) for row in firings[start : start + 400]]
        one_more = update(firing).values(opened_count=firing.c.opened_count + 1)
        connection.execute(one_more.where(tuple_(*_KEY).in_(chunk)))


def _keys_of(unread: ColumnElement[bool], *, is_sqlite: bool) -> Select[Any]:
    """Return a query for the (offset, alert) pairs that these notifications count for."""
    if is_sqlite:
        reason = func.json_each(notification.c.reasons).table_valued("value")
        alert: Any = func.json_extract(reason.c.value, "$.subscriptionId")
    else:
        reason = func.jsonb_array_elements(sql_cast(notification.c.reasons, JSONB)).table_valued("value")
        alert = func.jsonb_extract_path_text(sql_cast(reason.c.value, JSONB), "subscriptionId")
    return select(notification.c.log_offset, alert).select_from(notification).join(reason, unread)


def _is_since(subscription_id: str, start: int) -> tuple[ColumnElement[bool], ...]:
    return firing.c.subscription_id == subscription_id, firing.c.log_offset >= start


def _sums() -> tuple[Any, ...]:
    silent = func.sum(case((_HAS_NOTIFIED, 0), else_=1))
    return (func.count(), silent, *(func.sum(firing.c[name]) for name in _COUNTS))


@lru_cache(maxsize=4_096)
def alerts_in(reasons: str) -> frozenset[str]:
    """Return the alerts that a notification's reasons name; the followers of one asset all have the same text."""
    return frozenset(reason["subscriptionId"] for reason in orjson.loads(reasons))
