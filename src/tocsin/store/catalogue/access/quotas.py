"""Quotas per person and hour, counted in the store and shared by all server processes.

Next: ``server/alerts/hourly_counts.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Engine, Select, and_, delete, func, select

from tocsin.store.database.alert_tables import alert_editor
from tocsin.store.database.engine import fetch_rows, insert_into, writing
from tocsin.store.database.tables import entity, quota_use

ALERTS = "alerts"
"""The quota of the alerts that there are of a person, whenever they were made."""

MOST_PEOPLE = 20
"""People who are named of one quota: those who used most."""

_HOUR_MS = 3_600_000
_AT = quota_use.c


class QuotaUse(NamedTuple):
    """How much of a quota a person has used, by FQN; ``user_fqn`` is None where they are gone."""

    kind: str
    user_id: str
    user_fqn: str | None
    used: int


class Quotas:
    """What people have used up in one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def take(self, user_id: str, kind: str, amount: int, *, limit: int, now_ms: int) -> int | None:
        """Count ``amount`` for the person, unless that were more than ``limit`` in this hour.

        Returns
        -------
        int | None : None when it was counted; else in how many seconds the next hour begins
        """
        hour = now_ms // _HOUR_MS
        of_person = and_(_AT.user_id == user_id, _AT.kind == kind)
        row = {"user_id": user_id, "kind": kind, "hour": hour, "used": 0}
        room = and_(of_person, _AT.hour == hour, _AT.used + amount <= limit)
        with writing(self._engine) as connection:
            connection.execute(delete(quota_use).where(of_person, _AT.hour != hour))
            connection.execute(insert_into(connection, quota_use).values(row).on_conflict_do_nothing())
            counted = connection.execute(quota_use.update().where(room).values(used=_AT.used + amount)).rowcount
        return None if counted else ((hour + 1) * _HOUR_MS - now_ms + 999) // 1000

    def give_back(self, user_id: str, kind: str, amount: int, *, taken_at_ms: int) -> None:
        """Count ``amount`` less for the person in the hour in which it was taken; nothing once that is over."""
        hour = taken_at_ms // _HOUR_MS
        was_taken = and_(_AT.user_id == user_id, _AT.kind == kind, _AT.hour == hour, _AT.used >= amount)
        with writing(self._engine) as connection:
            connection.execute(quota_use.update().where(was_taken).values(used=_AT.used - amount))

    def uses(self, kind: str, *, now_ms: int) -> list[QuotaUse]:
        """Return who has used most of a quota, in this hour or (``ALERTS``) in all; most first."""
        query = _alerts_by_person() if kind == ALERTS else _used_in_hour(kind, now_ms // _HOUR_MS)
        return [QuotaUse(kind, user_id, fqn, used) for user_id, fqn, used in fetch_rows(self._engine, query)]


def _used_in_hour(kind: str, hour: int) -> Select[str, str | None, int]:
    query = select(_AT.user_id, entity.c.fqn, _AT.used).outerjoin(entity, entity.c.id == _AT.user_id)
    query = query.where(_AT.kind == kind, _AT.hour == hour, _AT.used > 0)
    return query.order_by(_AT.used.desc(), _AT.user_id).limit(MOST_PEOPLE)


def _alerts_by_person() -> Select[str, str | None, int]:
    alert, of_creator, count = entity.alias("alert"), alert_editor.c, func.count()
    counts = select(of_creator.user_id, count.label("used")).where(of_creator.is_creator)
    counts = counts.join_from(alert_editor, alert, alert.c.id == of_creator.subscription_id).where(~alert.c.deleted)
    top_counts = (
        counts.group_by(of_creator.user_id).order_by(count.desc(), of_creator.user_id).limit(MOST_PEOPLE).subquery()
    )
    query = select(top_counts.c.user_id, entity.c.fqn, top_counts.c.used).outerjoin(
        entity, entity.c.id == top_counts.c.user_id
    )
    return query.order_by(top_counts.c.used.desc(), top_counts.c.user_id)
