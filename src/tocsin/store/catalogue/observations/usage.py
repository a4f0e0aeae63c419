"""Usage counts of entities per day, and their percentile rank within the type.

Weeks and months are the 7 and 30 days up to a day, summed on reading. Ranks are computed once per day, on request
(``rank``), and stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, Engine, and_, bindparam, func, insert, select, update

from tocsin.catalogue.observations.usage import day_text
from tocsin.model.entity import Document
from tocsin.store.database.engine import reading
from tocsin.store.database.observation_tables import entity_usage

_ROW = entity_usage.c
_SPANS = {"dailyStats": (1, "daily_rank"), "weeklyStats": (7, "weekly_rank"), "monthlyStats": (30, "monthly_rank")}
_LONGEST = 30

Days = Mapping[int, tuple[int, float, float, float]]
"""Count and ranks of an entity, by day."""


class SqlUsage:
    """Usage on the connection of a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def details(self, entity_id: str, day: int) -> Document | None:
        """Return how often an entity was used up to a day on which its use was reported; else None."""
        days = _days(self._connection, [entity_id], day - _LONGEST, day).get(entity_id, {})
        return _details(days, day) if day in days else None

    def put(self, entity_id: str, entity_type: str, day: int, count: int) -> None:
        """Keep a count in place of the one of the same day."""
        changed = update(entity_usage).where(_is_of_day(entity_id, day)).values(count=max(count, 0))
        if self._connection.execute(changed).rowcount == 0:
            row = {"entity_id": entity_id, "day": day, "entity_type": entity_type, "count": max(count, 0)}
            self._connection.execute(insert(entity_usage), row)

    def add(self, entity_id: str, entity_type: str, day: int, count: int) -> None:
        """Add to the count of a day; what is added may be less than nothing."""
        previous_count = self._connection.execute(
            select(_ROW.count).where(_is_of_day(entity_id, day))
        ).scalar_one_or_none()
        self.put(entity_id, entity_type, day, (previous_count or 0) + count)

    def rank(self, entity_type: str, day: int) -> None:
        """Work out how all entities of a type whose use was reported on a day rank among each other."""
        for span, column in _SPANS.values():
            used = (
                select(_ROW.entity_id, func.sum(_ROW.count).label("count"))
                .where(_ROW.entity_type == entity_type, _ROW.day > day - span, _ROW.day <= day)
                .group_by(_ROW.entity_id)
                .subquery()
            )
            ranked = select(used.c.entity_id, func.percent_rank().over(order_by=used.c.count))
            ranks = [{"of": one, "on": day, "to": rank * 100} for one, rank in self._connection.execute(ranked)]
            is_ranked = and_(_ROW.entity_id == bindparam("of"), _ROW.day == bindparam("on"))
            if ranks:
                self._connection.execute(update(entity_usage).where(is_ranked).values({column: bindparam("to")}), ranks)


class Usage:
    """Reads usage; one per engine, safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def summaries(self, entity_ids: Sequence[str], today: int) -> dict[str, Document]:
        """Return how often each entity was used up to the last day on which that was reported; else up to today."""
        newest = select(_ROW.entity_id, func.max(_ROW.day)).where(_ROW.entity_id.in_(entity_ids))
        with reading(self._engine) as connection:
            last = {row[0]: row[1] for row in connection.execute(newest.group_by(_ROW.entity_id))}
            if not last:
                return {one: _details({}, today) for one in entity_ids}
            days = _days(connection, list(last), min(last.values()) - _LONGEST, max(last.values()))
        return {one: _details(days.get(one, {}), last.get(one, today)) for one in entity_ids}

    def of(self, entity_id: str, day: int, days: int) -> list[Document]:
        """Return how often an entity was used on each of these days up to ``day`` that has a report, newest first."""
        with reading(self._engine) as connection:
            counts_by_day = _days(connection, [entity_id], day - days - _LONGEST, day).get(entity_id, {})
        return [_details(counts_by_day, one) for one in sorted(counts_by_day, reverse=True) if day - days < one <= day]


def _days(connection: Connection, entity_ids: Sequence[str], after: int, through: int) -> dict[str, Days]:
    query = select(_ROW.entity_id, _ROW.day, _ROW.count, _ROW.daily_rank, _ROW.weekly_rank, _ROW.monthly_rank).where(
        _ROW.entity_id.in_(entity_ids), _ROW.day > after, _ROW.day <= through
    )
    days_by_entity: dict[str, dict[int, tuple[int, float, float, float]]] = defaultdict(dict)
    for entity_id, day, *counted in connection.execute(query):
        days_by_entity[entity_id][day] = (counted[0], counted[1], counted[2], counted[3])
    return dict(days_by_entity)


def _details(days: Days, day: int) -> Document:
    ranks = days.get(day, (0, 0.0, 0.0, 0.0))[1:]
    details: Document = {"date": day_text(day)}
    for (name, (span, _)), rank in zip(_SPANS.items(), ranks, strict=True):
        counts = (row[0] for one, row in days.items() if day - span < one <= day)
        details[name] = {"count": sum(counts), "percentileRank": rank}
    return details


def _is_of_day(entity_id: str, day: int) -> ColumnElement[bool]:
    return and_(_ROW.entity_id == entity_id, _ROW.day == day)
