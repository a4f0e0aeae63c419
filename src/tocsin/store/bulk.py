"""Bulk insertion of rows that may exist already: COPY on PostgreSQL, statements of many rows on SQLite.

Rows are tuples in the order of their columns and go to the driver as they are: SQLAlchemy would take longer over them
than the database. Next: ``store/outbox/notifications.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Table

from tocsin.store.chunks import chunked
from tocsin.store.engine import is_sqlite
from tocsin.store.statements import by_driver

Row = tuple[Any, ...]  # Any: a column's value
_STAGED = "staged_{table}"
_VARIABLES = 30_000
"""Of a statement; SQLite takes 32,766."""


@dataclass(frozen=True)
class BulkInsert:
    """Inserts rows of ``columns`` into ``table`` and says how many of them were new, by ``counted``: SQL expressions.

    PostgreSQL takes the rows by COPY into a temporary table of the connection, then all in one statement.
    """

    table: Table
    columns: tuple[str, ...]
    counted: tuple[str, ...] = ()

    def run(self, connection: Connection, rows: Sequence[Row], *, again: bool = False) -> list[Row]:
        """Insert the rows that are not there yet; ``again``: not the first rows of this transaction.

        Return one row per combination of ``counted`` with the number of new rows; on SQLite nothing, since all that
        the caller has not found before are new: there is one writer.
        """
        if not rows:
            return []
        if is_sqlite(connection):
            for some in chunked(rows, _VARIABLES // len(self.columns)):
                self._insert_values(connection, some)
            return []
        self._stage(connection, rows, again=again)
        return self._insert_staged(connection)

    def _insert_values(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Insert rows by one statement, during which other threads of this process can work."""
        row = f"({', '.join('?' * len(self.columns))})"
        insert = self._insert(f"VALUES {', '.join([row] * len(rows))}")
        by_driver(connection, insert, lambda cursor: cursor.execute(insert, list(chain.from_iterable(rows))))

    def _stage(self, connection: Connection, rows: Sequence[Row], *, again: bool) -> None:
        """Copy the rows into the connection's temporary table, which is empty at the beginning of a transaction."""
        staged, columns = _STAGED.format(table=self.table.name), ", ".join(self.columns)
        made = f"CREATE TEMPORARY TABLE IF NOT EXISTS {staged} ON COMMIT DELETE ROWS"
        of_columns = f"AS SELECT {columns} FROM {self.table.name} WITH NO DATA"  # noqa: S608  our own names
        ready = f"TRUNCATE {staged}" if again else f"{made} {of_columns}"
        by_driver(connection, ready, lambda cursor: cursor.execute(ready))
        copy = f"COPY {staged} ({columns}) FROM STDIN"
        by_driver(connection, copy, lambda cursor: _copied(cursor, copy, rows))

    def _insert_staged(self, connection: Connection) -> list[Row]:
        columns, staged = ", ".join(self.columns), _STAGED.format(table=self.table.name)
        insert = self._insert(f"SELECT {columns} FROM {staged}")  # noqa: S608  as above
        if not self.counted:
            by_driver(connection, insert, lambda cursor: cursor.execute(insert))
            return []
        names = ", ".join(f"c{number}" for number in range(len(self.counted)))
        returned = ", ".join(f"{one} AS c{number}" for number, one in enumerate(self.counted))
        counted = f"SELECT {names}, count(*) FROM new GROUP BY {names}"  # noqa: S608  our own names
        count = f"WITH new AS ({insert} RETURNING {returned}) {counted}"
        return list(by_driver(connection, count, lambda cursor: cursor.execute(count)).fetchall())

    def _insert(self, what: str) -> str:
        return f"INSERT INTO {self.table.name} ({', '.join(self.columns)}) {what} ON CONFLICT DO NOTHING"


def _copied(cursor: Any, copy: str, rows: Sequence[Row]) -> None:  # Any: the driver's own
    with cursor.copy(copy) as sink:
        write: Callable[[Row], None] = sink.write_row
        for row in rows:
            write(row)
