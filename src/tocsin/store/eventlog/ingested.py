"""Rows of events of other systems that were applied, read and written in the transaction that applies them.

Next: ``catalogue/ingest/writes.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, Engine, and_, delete, func, insert, select, text, update

from tocsin.chunks import chunks_of
from tocsin.model.ingested import IngestedEvent
from tocsin.store.database.engine import fetch_first, is_sqlite
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.log_tables import ingested_event
from tocsin.store.database.tables import change_event

_ROW = ingested_event.c
_FIELDS = (
    _ROW.key,
    _ROW.entity_key,
    _ROW.bot_id,
    _ROW.source,
    _ROW.source_event_id,
    _ROW.author,
    _ROW.event_id,
    _ROW.newest_ms,
    _ROW.received_at_ms,
)
_HOLD = text("SELECT pg_advisory_xact_lock(hashtext('tocsin ingest'), hashtext(:name))")


class SqlIngestedEvents:
    """The rows, on the connection of a write transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def hold(self, names: Collection[str]) -> None:
        """Wait until no other transaction applies events of these sources, and keep others from it until the end."""
        if not is_sqlite(self._connection):  # which has one writer
            for name in sorted(names):
                self._connection.execute(_HOLD, {"name": name})

    def known_keys(self, keys: Collection[str]) -> set[str]:
        """Return those of these keys of events that were applied before."""
        return {row.key for row in rows_by_key(self._connection, select(_ROW.key), _ROW.key, keys)}

    def own_ids(self, event_ids: Collection[str]) -> set[str]:
        """Return those of these ids that events of our own have."""
        ids = change_event.c.id
        return {row.id for row in rows_by_key(self._connection, select(ids), ids, event_ids)}

    def newest(self, entity_keys: Collection[str]) -> dict[str, int]:
        """Return the latest time of an applied event about each of these entities, where one had a time."""
        query = select(_ROW.entity_key, _ROW.newest_ms).where(_ROW.superseded_at_ms.is_(None))
        newest_rows = rows_by_key(self._connection, query, _ROW.entity_key, entity_keys)
        return {row.entity_key: row.newest_ms for row in newest_rows if row.newest_ms is not None}

    def add(self, events: Sequence[IngestedEvent], at_ms: int) -> None:
        """Add events that were applied, in their order: each is the last one of its entity until the next."""
        last_of = {event.entity_key: event.key for event in events}
        is_last = and_(_ROW.entity_key.in_(last_of), _ROW.superseded_at_ms.is_(None))
        self._connection.execute(update(ingested_event).where(is_last).values(superseded_at_ms=at_ms))
        event_rows = [
            vars(event) | {"superseded_at_ms": None if last_of[event.entity_key] == event.key else at_ms}
            for event in events
        ]
        self._connection.execute(insert(ingested_event), event_rows)

    def forget(self, superseded_before_ms: int, limit: int) -> None:
        """Remove the oldest events that a later one of the same entity has superseded, so many at most."""
        is_old = _ROW.superseded_at_ms < superseded_before_ms
        oldest = select(_ROW.key).where(is_old).order_by(_ROW.superseded_at_ms).limit(limit)
        for keys in chunks_of(list(self._connection.execute(oldest).scalars())):
            self._connection.execute(delete(ingested_event).where(_ROW.key.in_(keys)))


class EventOrigins:
    """What is kept of events of other systems, for readers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of_event(self, event_id: str) -> IngestedEvent | None:
        """Return the event of another system that led to this event of ours; None for none."""
        query = select(*_FIELDS).where(_ROW.event_id == event_id).order_by(func.coalesce(_ROW.newest_ms, 0)).limit(1)
        row = fetch_first(self._engine, query)
        return None if row is None else IngestedEvent(*row)


def forget_sender(connection: Connection, user_id: str, name: str) -> None:
    """Remove what is kept of the events that a person sent who is erased, and their name where events claim it."""
    connection.execute(delete(ingested_event).where(_ROW.bot_id == user_id))
    connection.execute(update(ingested_event).where(_ROW.author == name).values(author=None))
