"""Stores with a company in them: written once for each kind of store by the product's own writes, then copied.

To write a company takes as long as most tests that look at one. Copied are the rows that the writes left and the state
of sequences, so all tests of a process see the same ids. One content may stand on another: a copy is made only of what
was written into an empty store, or right after the last event of a content that was filled in before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.sql import SQL, Composed, Identifier
from sqlalchemy import Engine

from tocsin.store.database.tables import METADATA

Ids = dict[str, str]
Rows = dict[str, list[tuple[Any, ...]]]  # Any: values as the driver gives them
"""Rows by their table; on PostgreSQL each row is the text of its values."""
State = tuple[str, ...]
"""Schema, last event, and names of the tables that have rows."""

_TABLES = sorted(METADATA.tables)
_NON_EMPTY = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in _TABLES)
_SCHEMA = "SELECT version_num FROM alembic_version"
_LAST_EVENT = "SELECT id FROM change_event ORDER BY log_offset DESC LIMIT 1"
_COLUMNS = """
    SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_SEQUENCES = "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL"


@dataclass(frozen=True)
class _Copy:
    """What was written: its ids; tables of which rows went, all rows of those, and the new rows of others."""

    ids: Ids
    replaced: tuple[str, ...]
    table_rows: Rows
    sequences: tuple[tuple[str, int], ...]

    @property
    def script(self) -> bytes:
        """The statements that write it into PostgreSQL."""
        statements = [f"DELETE FROM {name}" for name in self.replaced]
        for name, table_rows in self.table_rows.items():
            statements.append(f"INSERT INTO {name} VALUES {','.join(values for (values,) in table_rows)}")
        statements += [f"SELECT setval('{name}', {value})" for name, value in self.sequences]
        return ";".join(["BEGIN", *statements, "COMMIT"]).encode()


_COPIES: dict[tuple[str, str, State], _Copy] = {}
_LAST_EVENTS: set[str] = set()


def fill(engine: Engine, name: str, write: Callable[[], Ids]) -> Ids:
    """Let a store hold what ``write`` writes; return the ids that it returned.

    Parameters
    ----------
    name : of what is written; the same name is the same content
    """
    with _driver_connection(engine) as connection:
        state = _state_of(connection)
        if state is None:
            return write()
        key = (engine.dialect.name, name, state)
        if copy := _COPIES.get(key):
            _restore(connection, copy)
            return dict(copy.ids)
        before = _rows_of(connection)
    ids = write()
    with _driver_connection(engine) as connection:
        _COPIES[key] = _copy_of(connection, before, dict(ids))
        _LAST_EVENTS.update(event_id for (event_id,) in connection.execute(_LAST_EVENT))
    return ids


@contextmanager
def _driver_connection(engine: Engine) -> Iterator[Any]:  # Any: the driver's connection, of either driver
    """Give a connection on which each statement is a transaction by itself."""
    pooled = engine.raw_connection()
    connection: Any = pooled.driver_connection
    try:
        if isinstance(connection, psycopg.Connection):
            connection.autocommit = True
        yield connection
        if isinstance(connection, psycopg.Connection):
            connection.autocommit = False
    finally:
        pooled.close()


def _state_of(connection: Any) -> State | None:
    """Return the state of a store that is empty, or as it was filled; None for any other."""
    try:
        (schema,) = connection.execute(_SCHEMA).fetchone()
        non_empty = sorted(name for (name,) in connection.execute(_NON_EMPTY))
        last_event = connection.execute(_LAST_EVENT).fetchone()
    except (sqlite3.OperationalError, psycopg.errors.UndefinedTable):  # an older schema, or none
        return None
    is_empty = last_event is None and "entity" not in non_empty
    if not is_empty and (last_event is None or last_event[0] not in _LAST_EVENTS):
        return None
    return (schema, last_event[0] if last_event else "", *non_empty)


def _rows_of(connection: Any) -> Rows:
    if isinstance(connection, psycopg.Connection):
        return {name: connection.execute(_values_of(connection, name)).fetchall() for name in _TABLES}
    return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in _TABLES}


def _values_of(connection: psycopg.Connection[Any], table: str) -> Composed:
    columns = [column for (column,) in connection.execute(_COLUMNS, (table,))]
    values = SQL(", ").join(SQL("quote_nullable({}::text)").format(Identifier(column)) for column in columns)
    return SQL("SELECT '(' || concat_ws(',', {}) || ')' FROM {}").format(values, Identifier(table))


def _copy_of(connection: Any, before: Rows, ids: Ids) -> _Copy:
    replaced, changed = [], {}
    for name, table_rows in _rows_of(connection).items():
        earlier = set(before[name])
        if earlier <= set(table_rows):
            changed[name] = [row for row in table_rows if row not in earlier]
        else:
            replaced.append(name)
            changed[name] = table_rows
    is_postgresql = isinstance(connection, psycopg.Connection)
    sequences = tuple(connection.execute(_SEQUENCES)) if is_postgresql else ()
    table_rows_written = {name: table_rows for name, table_rows in changed.items() if table_rows}
    return _Copy(ids, tuple(replaced), table_rows_written, sequences)


def _restore(connection: Any, copy: _Copy) -> None:
    if isinstance(connection, psycopg.Connection):
        connection.execute(copy.script)
        return
    connection.execute("BEGIN IMMEDIATE")
    for name in copy.replaced:
        connection.execute(f"DELETE FROM {name}")
    for name, table_rows in copy.table_rows.items():
        connection.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(table_rows[0]))})", table_rows)
    connection.execute("COMMIT")
