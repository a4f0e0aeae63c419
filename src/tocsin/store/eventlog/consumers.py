"""Registered consumers of the log, and their positions. Next: ``server/routes/system/consumers.py``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from tocsin.errors import Conflict
from tocsin.flow.eventlog.readers import CONSUMER
from tocsin.model.consumer import Consumer
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.log_tables import consumer

MOST_CONSUMERS = 200
"""Consumers that are registered at a time: each holds back what retention removes."""

_ROW = consumer.c


class Consumers:
    """The registered consumers of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def all(self) -> list[Consumer]:
        """Return every consumer, by name."""
        with reading(self._engine) as connection:
            return [_consumer_of(row) for row in connection.execute(select(consumer).order_by(_ROW.name))]

    def find(self, name: str) -> Consumer | None:
        """Return one; None if it is not registered."""
        with reading(self._engine) as connection:
            row = connection.execute(select(consumer).where(_ROW.name == name)).first()
        return None if row is None else _consumer_of(row)

    def register(self, name: str, user_id: str, *, log_offset: int, now_ms: int) -> bool:
        """Add a consumer; False if there is one of this name.

        Raises
        ------
        Conflict : there are as many as there may be
        """
        with writing(self._engine) as connection:
            if connection.execute(select(_ROW.name).where(_ROW.name == name)).first() is not None:
                return False
            if connection.execute(select(func.count()).select_from(consumer)).scalar_one() >= MOST_CONSUMERS:
                raise Conflict(f"There are {MOST_CONSUMERS} consumers; remove those that no longer run.")
            position = {"log_offset": log_offset, "registered_at_ms": now_ms}
            connection.execute(insert(consumer), {"name": name, "user_id": user_id, **position})
            return True

    def change(self, name: str, *, user_id: str, log_offset: int) -> None:
        """Give a consumer to a user, and set its position."""
        changed = update(consumer).where(_ROW.name == name).values(user_id=user_id, log_offset=log_offset)
        with writing(self._engine) as connection:
            connection.execute(changed)

    def commit(self, name: str, log_offset: int, *, previous: int, now_ms: int) -> bool:
        """Move a position from ``previous``; False if that is not where it is."""
        committed = {"log_offset": log_offset, "committed_at_ms": now_ms}
        moved = update(consumer).where(_ROW.name == name, _ROW.log_offset == previous)
        with writing(self._engine) as connection:
            return bool(connection.execute(moved.values(committed)).rowcount)

    def remove(self, name: str) -> bool:
        """Remove a consumer; False if there is none."""
        with writing(self._engine) as connection:
            return bool(connection.execute(delete(consumer).where(_ROW.name == name)).rowcount)


def consumers_as_readers(connection: Connection) -> Iterator[tuple[str, int, int | None]]:
    """Yield each consumer as a reader of the log: its name among them, its offset, and when it last committed."""
    for row in connection.execute(select(_ROW.name, _ROW.log_offset, _ROW.committed_at_ms)):
        yield f"{CONSUMER}{row.name}", row.log_offset, row.committed_at_ms


def _consumer_of(row: Any) -> Consumer:  # Any: a row of the table
    return Consumer(**row._mapping)
