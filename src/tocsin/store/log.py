"""In which order did changes happen, and how far may a reader go? The log, in offset order.

SQLite has one writer at a time, so every row is final when it shows. On PostgreSQL a lower offset may commit
after a higher one. A writer therefore has a transaction id before it takes an offset, and stores with its
rows a *horizon* seen after that: every transaction that took a lower offset has an id below it. When all of
those have ended, a reader may pass the row; one that was rolled back blocks nobody. Next: ``flow/match``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Select, and_, bindparam, insert, literal, or_, select, text

from tocsin.flow.capture.ports import CapturedEvent
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.store import tables
from tocsin.store.documents import Row, from_text, to_text
from tocsin.store.engine import is_sqlite, reading

_EVENT = tables.change_event.c
_LOGGED = (_EVENT.log_offset, _EVENT.document, _EVENT.derived)

# The transaction id comes first: nextval() runs above the materialised row that holds it.
_OFFSETS = text(
    "WITH writer AS MATERIALIZED (SELECT pg_current_xact_id() AS xid) "
    "SELECT xid, nextval(pg_get_serial_sequence('change_event', 'log_offset')) FROM writer, generate_series(1, :count)"
)
_HORIZON = text("pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
_IS_SAFE = text("change_event.horizon <= pg_snapshot_xmin(pg_current_snapshot())::text::bigint")

_INSERT_EVENT = insert(tables.change_event)
_INSERT_EVENT_AT = _INSERT_EVENT.values(
    {column.name: _HORIZON if column.name == "horizon" else bindparam(column.name) for column in _EVENT}
)
_INSERT_OUTBOX = insert(tables.outbox)


def append(connection: Connection, events: Sequence[CapturedEvent]) -> list[int]:
    """Add events to the log and the outbox inside the write transaction; return their offsets, in order."""
    if not events:
        return []
    rows = [_row(captured) for captured in events]
    offsets = _append_sqlite(connection, rows) if is_sqlite(connection) else _append_postgresql(connection, rows)
    waiting = zip(offsets, rows, strict=True)
    connection.execute(
        _INSERT_OUTBOX,
        [{"log_offset": offset, "event_id": row["id"], "entity_id": row["entity_id"]} for offset, row in waiting],
    )
    return offsets


class EventLog:
    """Reads the log."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def readable_end(self) -> int:
        """Return the highest offset a reader may pass: every event up to it is final. 0 when there is none."""
        with reading(self._engine) as connection:
            return int(connection.execute(select(_readable_end(connection))).scalar_one() or 0)

    def read(self, after: int, limit: int) -> list[LoggedEvent]:
        """Return the next events after offset ``after``, at most ``limit``, in offset order, none skipped."""
        with reading(self._engine) as connection:
            return _logged(connection, _readable(connection).where(_EVENT.log_offset > after).limit(limit))

    def find(self, event_id: str) -> LoggedEvent | None:
        """Return the event with that id."""
        with reading(self._engine) as connection:
            found = _logged(connection, select(*_LOGGED).where(_EVENT.id == event_id))
        return found[0] if found else None

    def list_events(self, selection: EventSelection, *, limit: int, after: int = 0) -> list[LoggedEvent]:
        """Return the selected events after offset ``after``, at most ``limit``, in offset order."""
        with reading(self._engine) as connection:
            query = _readable(connection).where(_EVENT.log_offset > after, *_conditions(selection)).limit(limit)
            return _logged(connection, query)

    def progress(self, query_name: str) -> int:
        """Return the offset up to which a streaming query has told every event."""
        done = tables.pipeline_progress.c
        with reading(self._engine) as connection:
            query = select(done.log_offset).where(done.query_name == query_name)
            return int(connection.execute(query).scalar_one_or_none() or 0)

    def reported_at_ms(self, query_name: str) -> int | None:
        """Return when a streaming query last reported how far it is (epoch milliseconds), or None if it never did."""
        done = tables.pipeline_progress.c
        with reading(self._engine) as connection:
            query = select(done.updated_at_ms).where(done.query_name == query_name)
            return connection.execute(query).scalar_one_or_none()

    def lag(self, query_name: str) -> int:
        """Return how many offsets a streaming query is behind the end of the log."""
        return max(0, self.readable_end() - self.progress(query_name))


def _row(captured: CapturedEvent) -> Row:
    event = captured.event
    return {
        "id": event.id,
        "event_type": event.event_type.value,
        "entity_type": event.entity_type,
        "entity_id": event.entity_id,
        "entity_fqn": event.entity_fully_qualified_name,
        "user_name": event.user_name,
        "timestamp_ms": event.timestamp,
        "document": event.model_dump_json(by_alias=True, exclude_none=True),
        "derived": to_text(captured.derived),
    }


def _append_sqlite(connection: Connection, rows: list[Row]) -> list[int]:
    return [int(connection.execute(_INSERT_EVENT, row | {"horizon": 0}).lastrowid) for row in rows]


def _append_postgresql(connection: Connection, rows: list[Row]) -> list[int]:
    offsets = sorted(row[1] for row in connection.execute(_OFFSETS, {"count": len(rows)}))
    # A statement of its own: its snapshot is newer than the offsets, which is what the horizon means.
    numbered = zip(offsets, rows, strict=True)
    connection.execute(_INSERT_EVENT_AT, [row | {"log_offset": offset} for offset, row in numbered])
    return offsets


def _readable_end(connection: Connection) -> Any:  # Any: SQLAlchemy's scalar subquery
    query = select(_EVENT.log_offset).order_by(_EVENT.log_offset.desc()).limit(1)
    return (query if is_sqlite(connection) else query.where(_IS_SAFE)).scalar_subquery()


def _readable(connection: Connection) -> Select[Any]:  # Any: SQLAlchemy's tuple of columns
    query = select(*_LOGGED).order_by(_EVENT.log_offset)
    return query if is_sqlite(connection) else query.where(_EVENT.log_offset <= _readable_end(connection))


def _logged(connection: Connection, query: Select[Any]) -> list[LoggedEvent]:  # Any: as above
    return [
        LoggedEvent(offset, ChangeEvent.model_validate_json(document), from_text(derived))
        for offset, document, derived in connection.execute(query)
    ]


def _conditions(selection: EventSelection) -> list[Any]:  # Any: SQLAlchemy's conditions
    equal = {
        _EVENT.entity_id: selection.entity_id,
        _EVENT.entity_fqn: selection.entity_fqn,
        _EVENT.user_name: selection.user_name,
    }
    found: list[Any] = [column == value for column, value in equal.items() if value is not None]
    if selection.since_ms is not None:
        found.append(_EVENT.timestamp_ms >= selection.since_ms)
    if selection.until_ms is not None:
        found.append(_EVENT.timestamp_ms <= selection.until_ms)
    if selection.kinds is not None:
        found.append(or_(literal(False), *(_is_kind(*kind) for kind in selection.kinds.items())))
    return found


def _is_kind(event_type: str, entity_types: frozenset[str] | None) -> Any:  # Any: SQLAlchemy's condition
    is_type = _EVENT.event_type == event_type
    return is_type if entity_types is None else and_(is_type, _EVENT.entity_type.in_(sorted(entity_types)))
