"""Bulk insertion of rows, new or not: COPY on PostgreSQL, statements of many rows on SQLite or for few rows.

Rows that should be new are copied into the table itself; where one exists, all go through a temporary table.

Rows are tuples in the order of their columns and go to the driver as they are: SQLAlchemy would take longer over them
than the database. Next: ``store/outbox/notifications.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy import insert as insert_into
from sqlalchemy.exc import IntegrityError

from tocsin.chunks import chunks_of
from tocsin.store.database.documents import Row as NamedRow
from tocsin.store.database.engine import is_sqlite
from tocsin.store.database.statements import Prepared, by_driver

Row = tuple[Any, ...]  # Any: a column's value
_STAGED = "staged_{table}"
_FEW_ROWS = 100
"""Fewer than are worth the statements that COPY needs around it."""

_VARIABLES = 30_000
"""Of a statement; SQLite takes 32,766."""


def insert_new(connection: Connection, work: Sequence[tuple[BulkInsert, Sequence[Row]]]) -> bool:
    """Insert rows that the caller has not found in their tables.

    Return False, with nothing inserted, if another transaction has inserted one of them since then. That never happens
    on SQLite: there is one writer.
    """
    if is_sqlite(connection):
        for insert, table_rows in work:
            insert.run(connection, table_rows)
        return True
    try:
        with connection.begin_nested():
            for insert, table_rows in work:
                insert.copy(connection, table_rows)
    except IntegrityError:
        return False
    return True


@dataclass(frozen=True)
class BulkInsert:
    """Inserts rows of ``columns`` into ``table``; counts the new ones by ``counted``, SQL expressions."""

    table: Table
    columns: tuple[str, ...]
    counted: tuple[str, ...] = ()

    def run(self, connection: Connection, table_rows: Sequence[Row]) -> list[Row]:
        """Insert the rows that are not there yet.

        Return one row per combination of ``counted``, if any, with the number of new rows; on SQLite nothing: there
        the caller knows which are new.
        """
        if not table_rows:
            return []
        if is_sqlite(connection) or (not self.counted and len(table_rows) <= _FEW_ROWS):
            for chunk in chunks_of(table_rows, _VARIABLES // len(self.columns)):
                self._insert_values(connection, chunk)
            return []
        self._stage(connection, table_rows)
        return self._insert_staged(connection)

    def copy(self, connection: Connection, table_rows: Sequence[Row], *, into: str | None = None) -> None:
        """Copy rows into the table, or into another one with its columns; PostgreSQL only."""
        if table_rows:
            copy = f"COPY {into or self.table.name} ({', '.join(self.columns)}) FROM STDIN"
            by_driver(connection, copy, lambda cursor: _copy_rows(cursor, copy, table_rows))

    def _insert_values(self, connection: Connection, table_rows: Sequence[Row]) -> None:
        """Insert rows by one statement, during which other threads of this process can work."""
        place = "?" if is_sqlite(connection) else "%s"
        row = f"({', '.join([place] * len(self.columns))})"
        insert = self._insert(f"VALUES {', '.join([row] * len(table_rows))}")
        by_driver(connection, insert, lambda cursor: cursor.execute(insert, list(chain.from_iterable(table_rows))))

    def _stage(self, connection: Connection, table_rows: Sequence[Row]) -> None:
        """Copy the rows into the connection's temporary table, alone."""
        staged, columns = _STAGED.format(table=self.table.name), ", ".join(self.columns)
        create_table = f"CREATE TEMPORARY TABLE IF NOT EXISTS {staged} ON COMMIT DELETE ROWS"
        of_columns = f"AS SELECT {columns} FROM {self.table.name} WITH NO DATA"  # noqa: S608  our own names
        ready = f"{create_table} {of_columns}; TRUNCATE {staged}"
        by_driver(connection, ready, lambda cursor: cursor.execute(ready))
        self.copy(connection, table_rows, into=staged)

    def _insert_staged(self, connection: Connection) -> list[Row]:
        columns, staging_table = ", ".join(self.columns), _STAGED.format(table=self.table.name)
        insert = self._insert(f"SELECT {columns} FROM {staging_table}")  # noqa: S608  as above
        if not self.counted:
            by_driver(connection, insert, lambda cursor: cursor.execute(insert))
            return []
        names = ", ".join(f"c{number}" for number in range(len(self.counted)))
        count_columns = ", ".join(f"{one} AS c{number}" for number, one in enumerate(self.counted))
        count_query = f"SELECT {names}, count(*) FROM new GROUP BY {names}"  # noqa: S608  our own names
        count = f"WITH new AS ({insert} RETURNING {count_columns}) {count_query}"
        return list(by_driver(connection, count, lambda cursor: cursor.execute(count)).fetchall())

    def _insert(self, source: str) -> str:
        return f"INSERT INTO {self.table.name} ({', '.join(self.columns)}) {source} ON CONFLICT DO NOTHING"


class PreparedInsert(Prepared):
    """Insertion of new rows, given by name, into ``columns`` of a table; many of them are copied on PostgreSQL."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        super().__init__(insert_into(table), columns)
        self._copy, self._values = BulkInsert(table, tuple(columns)).copy, itemgetter(*columns)

    def run_for(self, connection: Connection, value_rows: Sequence[NamedRow]) -> None:
        """Insert these rows; raises where one is there already."""
        if len(value_rows) <= _FEW_ROWS or is_sqlite(connection):
            super().run_for(connection, value_rows)
        else:
            self._copy(connection, list(map(self._values, value_rows)))


def _copy_rows(cursor: Any, copy: str, table_rows: Sequence[Row]) -> None:  # Any: the driver's own
    with cursor.copy(copy) as sink:
        write: Callable[[Row], None] = sink.write_row
        for row in table_rows:
            write(row)
