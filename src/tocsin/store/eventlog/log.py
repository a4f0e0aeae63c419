"""Log of change events, in offset order, and its readable end.

SQLite has one writer at a time, so every visible row is final. On PostgreSQL a lower offset may commit
after a higher one; ``flow/eventlog/readable.py`` defines the end up to which a reader may go. Next: ``flow/match``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import (
    Connection,
    Engine,
    Select,
    Text,
    and_,
    bindparam,
    func,
    insert,
    literal,
    literal_column,
    or_,
    select,
    text,
)

from tocsin.errors import LogDiverged
from tocsin.flow.eventlog.lake import Window
from tocsin.flow.eventlog.position import BEGINNING, LAST_EVENT, LogPosition
from tocsin.flow.eventlog.readable import POSTGRESQL_ANNOUNCE, POSTGRESQL_END, POSTGRESQL_TAKE, POSTGRESQL_TAKEN
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.change import ChangeEvent, LoggedDocument, LoggedEvent
from tocsin.model.pointers import direct_targets
from tocsin.model.stored import CapturedEvent
from tocsin.store.database import tables
from tocsin.store.database.bulk import PreparedInsert
from tocsin.store.database.documents import Row, from_text, to_text
from tocsin.store.database.engine import is_sqlite, reading
from tocsin.store.database.keys import is_listed, listed_keys, rows_by_key
from tocsin.store.database.page_bytes import BoundedList, bounded_list
from tocsin.store.database.snapshots import EVENT_TEXT, Texts, rows_to_store
from tocsin.store.database.statements import Prepared
from tocsin.store.eventlog.removed import removed_through
from tocsin.store.eventlog.reports import add_reports

_EVENT, _ENTITY = tables.change_event.c, tables.entity.c
LOGGED = (_EVENT.log_offset, *EVENT_TEXT, _EVENT.derived)
"""The columns of which ``logged_event_of`` makes an event."""

_JUDGED = ('%"isBreaking":true%', '%"isAnnounced":true%')
"""What capture derives from events that change requests may announce, as store/database/documents.py writes it."""

_TAKE = Prepared(text(POSTGRESQL_TAKE))
_ANNOUNCE = text(POSTGRESQL_ANNOUNCE)
_END = text(POSTGRESQL_END)
_TAKEN = text(POSTGRESQL_TAKEN)
_LAST_EVENT = text(LAST_EVENT.format(mark=":log_offset"))
_LAST = select(func.max(_EVENT.log_offset))
_INSERT_EVENT = Prepared(
    insert(tables.change_event), [column.name for column in _EVENT if column is not _EVENT.log_offset]
)
_INSERT_AT_OFFSET = PreparedInsert(tables.change_event, _EVENT.keys())
_INSERT_TAKING = Prepared(
    insert(tables.change_event)
    .from_select(
        _EVENT.keys(),
        select(
            literal_column("taken.nextval"),
            *(bindparam(column.name, type_=column.type) for column in _EVENT if column is not _EVENT.log_offset),
        )
        .select_from(text(f"({POSTGRESQL_TAKE}) AS taken"))
        .where(literal_column("taken.held").is_not(None)),
    )
    .returning(
        _EVENT.log_offset,
        select(func.array_agg(_ENTITY.id))
        .where(_ENTITY.deleted, is_listed(_ENTITY.id, bindparam("targets", type_=Text), on_sqlite=False))
        .scalar_subquery(),
    )
)
"""An announcement, an offset, its event, and what its entity refers to that is softly deleted, in one round trip."""


_DELETED = {
    on_sqlite: Prepared(
        select(_ENTITY.id).where(
            _ENTITY.deleted, is_listed(_ENTITY.id, bindparam("ids", type_=Text), on_sqlite=on_sqlite)
        )
    )
    for on_sqlite in (True, False)
}


class Appended(NamedTuple):
    """The offsets of appended events, in order; ``deletedness`` is that of ``Written``, for a single event."""

    offsets: list[int]
    deletedness: Mapping[str, bool]


def append(connection: Connection, events: Sequence[CapturedEvent]) -> Appended:
    """Append events to the log inside the write transaction, and return the offset that each got."""
    if not events:
        return Appended([], {})
    event_rows = rows_to_store(connection, [_row(captured) for captured in events])
    if is_sqlite(connection):
        offsets = _append_sqlite(connection, event_rows)
        result = Appended(offsets, _deletedness(connection, events[0].event) if len(events) == 1 else {})
    elif len(events) == 1:
        result = _append_one_postgresql(connection, event_rows[0], direct_targets(events[0].event.entity or {}))
    else:
        result = Appended(_append_postgresql(connection, event_rows), {})
    add_reports(connection, list(zip(result.offsets, events, strict=True)))
    return result


def deleted_ids_on(connection: Connection, ids: Collection[str]) -> frozenset[str]:
    """Return the ids of those of these entities that are deleted softly."""
    query = _DELETED[is_sqlite(connection)]
    return frozenset(row[0] for row in query.run(connection, {"ids": listed_keys(ids)}).fetchall())


def _deletedness(connection: Connection, event: ChangeEvent) -> dict[str, bool]:
    """Return of what the entity of an event refers to whether it is softly deleted, by id."""
    target_ids = direct_targets(event.entity or {})
    deleted_ids = deleted_ids_on(connection, target_ids) if target_ids else frozenset()
    return {one: one in deleted_ids for one in target_ids}


def announce_write(connection: Connection) -> int:
    """Return the log offset that precedes a write without an event, inside its transaction.

    No reader sees an event above it before the transaction has ended, so that all agree on what came first.
    """
    return int(connection.execute(_LAST if is_sqlite(connection) else _ANNOUNCE).scalar() or 0)


class EventLog:
    """Reads the log."""

    def __init__(self, engine: Engine, *, page_bytes: int | None = None) -> None:
        self._engine, self._page_bytes = engine, page_bytes

    def readable_end(self) -> int:
        """Return the highest offset a reader may pass: every event up to it is final. 0 when there is none."""
        with reading(self._engine) as connection:
            return readable_end(connection)

    def highest_offset(self) -> int:
        """Return the highest offset that was ever taken: unlike the readable end it never falls back."""
        with reading(self._engine) as connection:
            return int(connection.execute(_LAST if is_sqlite(connection) else _TAKEN).scalar() or 0)

    def end(self) -> LogPosition:
        """Return the position of the highest offset a reader may pass."""
        with reading(self._engine) as connection:
            return position_at(connection, readable_end(connection))

    def position_at(self, offset: int) -> LogPosition:
        """Return the position at an offset."""
        with reading(self._engine) as connection:
            return position_at(connection, offset)

    def holds(self, position: LogPosition) -> bool:
        """Return whether this is the log that was read up to ``position``, and not shorter."""
        with reading(self._engine) as connection:
            return holds(connection, position)

    def read(self, after: int, limit: int) -> list[LoggedEvent]:
        """Return the next events after offset ``after``, at most ``limit``, in offset order, none skipped."""
        return self.list_events(EventSelection(), after=after, limit=limit)

    def find(self, event_id: str) -> LoggedEvent | None:
        """Return the event with that id."""
        with reading(self._engine) as connection:
            events = _events_of(connection, select(*LOGGED).where(_EVENT.id == event_id))
        return events[0] if events else None

    def at(self, offsets: Collection[int]) -> dict[int, LoggedEvent]:
        """Return the events at these offsets, by offset."""
        with reading(self._engine) as connection:
            texts, event_rows = Texts(connection), rows_by_key(connection, select(*LOGGED), _EVENT.log_offset, offsets)
            return {row.log_offset: logged_event_of(row, texts) for row in event_rows}

    def by_ids(self, event_ids: Collection[str]) -> dict[str, LoggedEvent]:
        """Return those of these events that the log has, by id."""
        with reading(self._engine) as connection:
            texts, event_rows = Texts(connection), rows_by_key(connection, select(*LOGGED), _EVENT.id, event_ids)
            events = [logged_event_of(row, texts) for row in event_rows]
        return {logged.event.id: logged for logged in events}

    def list_events(
        self, selection: EventSelection, *, limit: int, after: int = 0, through: int | None = None
    ) -> BoundedList[LoggedEvent]:
        """Return the selected events after offset ``after``, at most ``limit`` and a page full, in offset order.

        ``through`` is a readable end that was read before: a reader that passes it later, having got no event up to it,
        has to name it here, for the end may have fallen back since.
        """
        with reading(self._engine) as connection:
            end = readable_end(connection) if through is None else through
            query, texts = _selection_query(select(*LOGGED), selection, after, end).limit(limit), Texts(connection)
            return bounded_list(connection, query, lambda row: logged_event_of(row, texts), self._page_bytes)

    def list_documents(
        self, selection: EventSelection, *, after: int, through: int, limit: int
    ) -> BoundedList[LoggedDocument]:
        """Return what ``list_events`` does as JSON, without what is derived, in a third of the time."""
        with reading(self._engine) as connection:
            query = _selection_query(select(_EVENT.log_offset, *EVENT_TEXT), selection, after, through).limit(limit)
            text_of = Texts(connection).of
            return bounded_list(
                connection,
                query,
                lambda row: LoggedDocument(row.log_offset, orjson.loads(text_of(row))),
                self._page_bytes,
            )

    def list_announced(self, entity_id: str) -> BoundedList[ChangeEvent]:
        """Return the events of an entity that break its readers, or that were announced, newest first; a page full."""
        is_judged = or_(*(_EVENT.derived.like(pattern) for pattern in _JUDGED))
        query = select(_EVENT.log_offset, *EVENT_TEXT).where(_EVENT.entity_id == entity_id, is_judged)
        with reading(self._engine) as connection:
            text_of, ordered_query = Texts(connection).of, query.order_by(_EVENT.log_offset.desc())
            return bounded_list(
                connection,
                ordered_query,
                lambda row: ChangeEvent.model_validate_json(text_of(row)),
                self._page_bytes,
            )

    def count_happened(self, window: Window, *, after: int, through: int) -> tuple[int, int]:
        """Return how many events between two offsets happened in ``window``, and the last one's offset (or 0)."""
        query = select(func.count(), func.coalesce(func.max(_EVENT.log_offset), 0))
        placed = query.where(_EVENT.log_offset > after, _EVENT.log_offset <= through)
        with reading(self._engine) as connection:
            count, last = connection.execute(placed.where(*_within(window))).one()
            return int(count), int(last)

    def progress(self, query_name: str) -> int:
        """Return the offset up to which a streaming query has processed every event."""
        with reading(self._engine) as connection:
            return progress_of(connection, query_name)

    def reported_at_ms(self, query_name: str) -> int | None:
        """Return when a streaming query last reported how far it is (epoch milliseconds), or None if it never did."""
        progress_row = tables.pipeline_progress.c
        with reading(self._engine) as connection:
            query = select(progress_row.updated_at_ms).where(progress_row.query_name == query_name)
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
        "document": event.to_json(),
        "derived": to_text(captured.derived),
        "reason": event.reason,
    }


def _append_sqlite(connection: Connection, event_rows: list[Row]) -> list[int]:
    if len(event_rows) == 1:
        return [int(_INSERT_EVENT.run(connection, event_rows[0]).lastrowid)]
    _INSERT_EVENT.run_for(connection, event_rows)
    last = int(connection.execute(_LAST).scalar_one())  # nobody else writes meanwhile, so they are consecutive
    return list(range(last - len(event_rows) + 1, last + 1))


def _append_one_postgresql(connection: Connection, event_row: Row, target_ids: set[str]) -> Appended:
    values = event_row | {"count": 1, "targets": listed_keys(target_ids)}
    offset, deleted_ids = _INSERT_TAKING.run(connection, values).fetchone()
    return Appended([int(offset)], dict.fromkeys(target_ids, False) | dict.fromkeys(deleted_ids or (), True))


def _append_postgresql(connection: Connection, event_rows: list[Row]) -> list[int]:
    offsets = sorted(row[0] for row in _TAKE.run(connection, {"count": len(event_rows)}).fetchall())
    numbered = zip(offsets, event_rows, strict=True)
    _INSERT_AT_OFFSET.run_for(connection, [row | {"log_offset": offset} for offset, row in numbered])
    return offsets


def progress_of(connection: Connection, query_name: str, *, is_locked: bool = False) -> int:
    """Return the offset up to which a query has processed every event; 0 for one that never ran."""
    progress_row = tables.pipeline_progress.c
    query = select(progress_row.log_offset).where(progress_row.query_name == query_name)
    return int(connection.execute(query.with_for_update() if is_locked else query).scalar_one_or_none() or 0)


def readable_end(connection: Connection) -> int:
    """Return the highest offset a reader may pass, as this connection sees the log."""
    query = select(func.max(_EVENT.log_offset)) if is_sqlite(connection) else _END
    return int(connection.execute(query).scalar_one() or 0)


def position_at(connection: Connection, offset: int) -> LogPosition:
    """Return the position at an offset: with the last event up to it."""
    event_id = connection.execute(_LAST_EVENT, {"log_offset": offset}).scalar_one_or_none()
    return LogPosition(offset, event_id)


def last_position(connection: Connection) -> LogPosition:
    """Return the position of the last event that this connection sees."""
    row = connection.execute(select(_EVENT.log_offset, _EVENT.id).order_by(_EVENT.log_offset.desc()).limit(1)).first()
    return BEGINNING if row is None else LogPosition(row.log_offset, row.id)


def holds(connection: Connection, position: LogPosition) -> bool:
    """Return whether this is the log that was read up to ``position``, and not shorter."""
    if not position.offset:
        return True
    event_id = position_at(connection, position.offset).event_id
    if position.is_in(_end(connection) if position.event_id is None else position.offset, event_id):
        return True
    return position.offset <= removed_through(connection)  # its event may be one that retention has removed


def check_holds(connection: Connection, position: LogPosition) -> None:
    """Raise LogDiverged unless this is the log that was read up to ``position``."""
    if not holds(connection, position):
        raise LogDiverged(f"The log does not contain what was read up to {position}.")


def _end(connection: Connection) -> int:
    """Return the last offset that was taken; on PostgreSQL its event may have been rolled back."""
    return max(readable_end(connection), int(connection.execute(_LAST).scalar_one() or 0))


def events_at(connection: Connection, offsets: Collection[int]) -> dict[int, ChangeEvent]:
    """Return the events at these offsets, by offset, without what is derived from them."""
    query, texts = select(_EVENT.log_offset, *EVENT_TEXT), Texts(connection)
    event_rows = rows_by_key(connection, query, _EVENT.log_offset, offsets)
    return {row.log_offset: ChangeEvent.model_validate_json(texts.of(row)) for row in event_rows}


def _events_of(connection: Connection, query: Select[Any]) -> list[LoggedEvent]:  # Any: as above
    texts = Texts(connection)
    return [logged_event_of(row, texts) for row in connection.execute(query)]


def logged_event_of(row: Any, texts: Texts) -> LoggedEvent:  # Any: SQLAlchemy's row
    """Return the event in a row of ``LOGGED``."""
    return LoggedEvent(row.log_offset, ChangeEvent.model_validate_json(texts.of(row)), from_text(row.derived))


def _selection_query(
    query: Select[Any],  # Any: as above
    selection: EventSelection,
    after: int,
    through: int,
) -> Select[Any]:  # Any: as above
    placed = query.where(_EVENT.log_offset > after, _EVENT.log_offset <= through)
    return placed.where(*_conditions(selection)).order_by(_EVENT.log_offset)


def _conditions(selection: EventSelection) -> list[Any]:  # Any: SQLAlchemy's conditions
    equalities = {
        _EVENT.entity_id: selection.entity_id,
        _EVENT.entity_fqn: selection.entity_fqn,
        _EVENT.user_name: selection.user_name,
    }
    conditions: list[Any] = [column == value for column, value in equalities.items() if value is not None]
    conditions += _within(Window(selection.since_ms, selection.until_ms))
    if selection.user_names is not None:
        conditions.append(_EVENT.user_name.in_(sorted(selection.user_names)))
    if selection.reason is not None:
        conditions += [_EVENT.reason.is_not(None), _EVENT.reason.ilike(_pattern(selection.reason), escape="/")]
    if selection.leaves_out:
        conditions.append(_EVENT.event_type.not_in(selection.leaves_out))
    if selection.kinds is not None:
        conditions.append(or_(literal(False), *(_is_kind(*kind) for kind in selection.kinds.items())))
    return conditions


def _pattern(part: str) -> str:
    """Return what LIKE finds a part of a text by, or a little more: SQLite knows the case of ASCII alone."""
    literal = re.sub(r"([/%_])", r"/\1", part)
    return "%" + re.sub(r"[^ -~]", "_", literal) + "%"


def _within(window: Window) -> list[Any]:  # Any: SQLAlchemy's conditions
    since = [] if window.since_ms is None else [_EVENT.timestamp_ms >= window.since_ms]
    return since if window.until_ms is None else [*since, _EVENT.timestamp_ms <= window.until_ms]


def _is_kind(event_type: str, entity_types: frozenset[str] | None) -> Any:  # Any: SQLAlchemy's condition
    is_type = _EVENT.event_type == event_type
    return is_type if entity_types is None else and_(is_type, _EVENT.entity_type.in_(sorted(entity_types)))
