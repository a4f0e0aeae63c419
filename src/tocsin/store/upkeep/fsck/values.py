"""Check of every stored value: type of its column, and valid JSON where JSON is expected.

Rows are read without SQLAlchemy, whose types would raise on a damaged value and end the check; SQLite's own integrity
check runs first and finds unreadable pages. Next: ``store/upkeep/fsck/inspection.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson
from sqlalchemy import Boolean, Column, Connection, Integer, LargeBinary, String
from sqlalchemy import Table as SqlTable
from sqlalchemy.exc import DatabaseError

from tocsin.store.database.engine import is_sqlite
from tocsin.store.database.schema import METADATA
from tocsin.store.upkeep.fsck.finding import Advance, Damage, Finding

_BY_PARTS = {"yield_per": 1_000}
_MOST_PAGES = 100
_JSON = frozenset({"derived", "details", "document", "names", "reasons"})
"""Columns that hold JSON, in whichever table."""


def check_pages(connection: Connection, advance: Advance) -> Iterator[Finding]:
    """Find pages and indexes of SQLite's file that are not as it wrote them."""
    for problem in _said_of_pages(connection) if is_sqlite(connection) else ():
        if problem != "ok":
            yield Finding(Damage.BROKEN_PAGE, "the database file", problem)
    advance(1)


def _said_of_pages(connection: Connection) -> list[str]:
    try:
        return [str(said) for (said,) in connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST_PAGES})")]
    except DatabaseError as error:
        return [str(error.orig)]


def read_values(connection: Connection, advance: Advance) -> Iterator[Finding]:
    """Find values that are not what their columns hold; a table that cannot be read to its end is named."""
    for table in METADATA.sorted_tables:
        yield from _of_table(connection, table)
        advance(1)


def _of_table(connection: Connection, table: SqlTable) -> Iterator[Finding]:
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    query = f'SELECT {names} FROM "{table.name}"'  # noqa: S608  # our own names
    try:
        for row in connection.exec_driver_sql(query, None, execution_options=_BY_PARTS):
            yield from _of_row(table, row)
    except DatabaseError as error:
        yield Finding(Damage.UNREADABLE, table.name, f"it cannot be read beyond this point: {error.orig}")


def _of_row(table: SqlTable, row: Sequence[Any]) -> Iterator[Finding]:  # Any: a column's value
    values = dict(zip(table.columns.keys(), row, strict=True))
    is_apart = values.get("document") == "" and values.get("difference") is not None  # other checks read it
    for column in table.columns:
        wrong = None if is_apart and column.name == "document" else _wrong(column, values[column.name])
        if wrong is not None:
            key = (str(values[of.name]) for of in table.primary_key.columns)
            yield Finding(Damage.UNREADABLE, f"{table.name} {' '.join(key)}", f"column {column.name}: {wrong}")


def _wrong(column: Column[Any], value: object) -> str | None:  # Any: whatever the column holds
    """Return what is wrong with a value, in a few words."""
    if value is None:
        return None if column.nullable else "it is missing"
    if isinstance(column.type, Integer | Boolean):
        return None if isinstance(value, int) else "it is not a number"
    if isinstance(column.type, LargeBinary):
        return None if isinstance(value, bytes) else "it is not bytes"
    if not isinstance(column.type, String):
        return None
    if not isinstance(value, str):
        return "it is not text"
    if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        return "it is not UTF-8"
    return _no_json(value) if column.name in _JSON else None


def _no_json(text: str) -> str | None:
    try:
        orjson.loads(text)
    except ValueError as error:
        return f"it is not JSON ({error})"
    return None
