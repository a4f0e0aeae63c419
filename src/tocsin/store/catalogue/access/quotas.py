"""Quotas per person and hour, counted in the store and shared by all server processes.

Next: ``server/alerts/hourly_counts.py``.
"""

from __future__ import annotations

from sqlalchemy import Engine, and_, delete

from tocsin.store.database.engine import insert_into, writing
from tocsin.store.database.tables import quota_use

_HOUR_MS = 3_600_000
_AT = quota_use.c


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
