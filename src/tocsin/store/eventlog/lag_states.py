"""What is remembered of the lags of readers, and what relays measured of the consumer groups of their topics.

Whether a lag is exceeded changes in the transaction that logs the event about it, and once, however many processes
measure. Next: ``store/upkeep/lag.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict

from sqlalchemy import Connection, Engine, delete, select, update

from tocsin.flow.eventlog.lag import LagState
from tocsin.model.entity import Document
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.log_tables import consumer_groups, reader_lag

_ROW = reader_lag.c
_MEASURED = ("event_count", "measured_at_ms", "growing_since_ms")


class SqlLags:
    """The exceeded lags, in a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def begin(self, reader: str, at_ms: int) -> bool:
        """Note that the lag of a reader is exceeded; False if that is noted."""
        changed = update(reader_lag).where(_ROW.reader == reader, _ROW.exceeded_since_ms.is_(None))
        return bool(self._connection.execute(changed.values(exceeded_since_ms=at_ms)).rowcount)

    def end(self, reader: str) -> int | None:
        """Note that the lag of a reader is exceeded no more, and return since when it was; None if it was not."""
        exceeded = select(_ROW.exceeded_since_ms).where(_ROW.reader == reader).with_for_update()
        since_ms = self._connection.execute(exceeded).scalar_one_or_none()
        if since_ms is None:
            return None
        self._connection.execute(update(reader_lag).where(_ROW.reader == reader).values(exceeded_since_ms=None))
        return int(since_ms)


class LagStates:
    """The states of the lags in one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def all(self) -> dict[str, LagState]:
        """Return the states by reader."""
        columns = (_ROW.reader, *(_ROW[name] for name in _MEASURED), _ROW.exceeded_since_ms)
        with reading(self._engine) as connection:
            return {reader: LagState(*state) for reader, *state in connection.execute(select(*columns))}

    def put(self, states: Mapping[str, LagState], *, forgotten: Collection[str] = ()) -> None:
        """Store what was measured of these readers, and forget others; what is exceeded stays as it is."""
        if not states and not forgotten:
            return
        with writing(self._engine) as connection:
            for reader, state in sorted(states.items()):
                measurement = {name: value for name, value in asdict(state).items() if name in _MEASURED}
                upsert = insert_into(connection, reader_lag).values({"reader": reader, **measurement})
                connection.execute(upsert.on_conflict_do_update(index_elements=["reader"], set_=measurement))
            if forgotten:
                connection.execute(delete(reader_lag).where(_ROW.reader.in_(sorted(forgotten))))


class ConsumerGroups:
    """What relays measured of the consumer groups of their topics."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, relay_name: str, document: Document, *, now_ms: int) -> None:
        """Store what a relay measured in place of what it measured before."""
        row = {"measured_at_ms": now_ms, "document": to_text(document)}
        with writing(self._engine) as connection:
            upsert = insert_into(connection, consumer_groups).values({"relay_name": relay_name, **row})
            connection.execute(upsert.on_conflict_do_update(index_elements=["relay_name"], set_=row))

    def all(self) -> dict[str, tuple[int, Document]]:
        """Return when each relay measured last, and what."""
        with reading(self._engine) as connection:
            return {
                row.relay_name: (row.measured_at_ms, from_text(row.document))
                for row in connection.execute(select(consumer_groups))
            }
