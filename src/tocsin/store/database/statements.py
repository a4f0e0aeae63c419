"""Precompiled SQL statements for frequent writes, executed by the driver directly.

SQLAlchemy takes several times as long over a small statement as the database does. Rare statements use SQLAlchemy;
only statements that thousands of writes repeat are worth precompiling. Next: ``store/catalogue/entities/changes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from tocsin.store.database.documents import Row

Statement = Any  # Any: SQLAlchemy's kinds of statement
Cursor = Any  # Any: the driver's own


class _Text(NamedTuple):
    sql: str
    values: Callable[[Row], object]


class Prepared:
    """One statement; ``columns`` are those that an insert or an update without values of its own fills."""

    def __init__(self, statement: Statement, columns: Sequence[str] | None = None) -> None:
        self._statement, self._columns = statement, columns
        self._texts: dict[str, _Text] = {}

    def run(self, connection: Connection, values: Row) -> Cursor:
        """Run it inside the connection's transaction and return the driver's cursor."""
        text = self._text(connection)
        return by_driver(connection, text.sql, lambda cursor: cursor.execute(text.sql, text.values(values)))

    def run_for(self, connection: Connection, value_rows: Sequence[Row]) -> None:
        """Run it once for each of the rows, if there are any."""
        if not value_rows:
            return
        if len(value_rows) == 1:
            self.run(connection, value_rows[0])
            return
        text = self._text(connection)
        by_driver(connection, text.sql, lambda cursor: cursor.executemany(text.sql, list(map(text.values, value_rows))))

    def _text(self, connection: Connection) -> _Text:
        """Return the statement in the words of the connection's driver."""
        name = connection.dialect.name
        if name not in self._texts:
            compiled = self._statement.compile(dialect=connection.dialect, column_keys=self._columns)
            constants = {key: value for key, value in compiled.params.items() if value is not None}
            self._texts[name] = _Text(str(compiled), _arrangement(compiled.positiontup, constants))
        return self._texts[name]


def _arrangement(names: Sequence[str] | None, constants: Row) -> Callable[[Row], object]:
    """Return what puts values as the driver takes them: by place where it counts them, else by name."""
    if names is None:
        return (lambda values: constants | values) if constants else (lambda values: values)
    pick = itemgetter(*names) if len(names) > 1 else lambda values: (values[names[0]],)
    return (lambda values: pick(constants | values)) if constants else pick


def by_driver(connection: Connection, sql: str, do: Callable[[Cursor], object]) -> Cursor:
    """Do something with a new cursor; what the driver raises comes as SQLAlchemy would raise it."""
    driver: Any = connection.dialect.loaded_dbapi  # Any: the driver's module
    cursor = connection.connection.cursor()
    try:
        do(cursor)
    except driver.Error as error:
        raise DBAPIError.instance(
            sql, None, error, driver.Error, hide_parameters=True, dialect=connection.dialect
        ) from error
    return cursor
