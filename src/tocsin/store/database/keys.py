"""Look-up and removal of rows by any number of keys: in several statements, or in one that takes all of them.

A list of parameters is limited, and each length is a statement of its own. One JSON array is neither, and costs the
driver less than an array of its own: its text depends only on whether there are several keys. Of few keys a list is
the faster one.
Next: ``store/recipients/directory.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVarTuple

import orjson
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    cast,
    delete,
    exists,
    func,
    literal,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.dialects.postgresql import JSONB

from tocsin.chunks import chunks_of
from tocsin.store.database.engine import is_sqlite

Columns = TypeVarTuple("Columns")

_FEW_KEYS = 20
KEYS_PER_STATEMENT = 20_000


def rows_by_key(
    connection: Connection,
    query: Select[*Columns],
    column: ColumnElement[Any],  # Any: whatever its keys are
    keys: Iterable[Any],
) -> Iterator[Row[*Columns]]:
    """Yield the rows of ``query`` whose ``column`` is one of ``keys``, in one statement per portion of the keys.

    Keys are sorted and taken ``KEYS_PER_STATEMENT`` at a time: an ``ORDER BY`` of ``query`` holds within a portion.
    """
    for chunk in chunks_of(sorted(keys), KEYS_PER_STATEMENT):
        yield from connection.execute(query.where(_is_among(connection, column, chunk))).all()


def rows_of_all(
    connection: Connection,
    queries: Sequence[tuple[Select[Any], ColumnElement[Any]]],  # Any: alike in all of them
    keys: Iterable[Any],  # Any: as above
) -> Iterator[Row[Any]]:
    """Yield the rows of several queries, each with its column that is one of ``keys``, as one statement."""
    for chunk in chunks_of(sorted(keys), KEYS_PER_STATEMENT):
        parts = [query.where(_is_among(connection, column, chunk)) for query, column in queries]
        yield from connection.execute(parts[0] if len(parts) == 1 else union_all(*parts)).all()


def _is_among(connection: Connection, column: ColumnElement[Any], keys: Sequence[Any]) -> ColumnElement[bool]:
    return column.in_(keys) if len(keys) <= _FEW_KEYS else is_one_of(connection, column, keys)


def pages_of(
    connection: Connection, query: Select[*Columns], *keys: Column[Any], size: int
) -> Iterator[Sequence[Row[*Columns]]]:
    """Yield all rows of ``query``, which has the columns ``keys``, in their order, at most ``size`` at a time."""
    ordered, after = query.order_by(*keys).limit(size), None
    while page := connection.execute(ordered if after is None else ordered.where(tuple_(*keys) > after)).all():
        yield page
        after = tuple(page[-1]._mapping[key.name] for key in keys)


def present_keys(connection: Connection, column: Column[Any], keys: Iterable[str]) -> set[str]:  # Any: as above
    """Return those of these keys that some row has in ``column``, an indexed one: one look-up each, however many."""
    present: set[str] = set()
    for chunk in chunks_of(sorted(keys), KEYS_PER_STATEMENT):
        listed = literal(listed_keys(chunk))
        on_sqlite = is_sqlite(connection)
        elements = func.json_each(listed) if on_sqlite else func.jsonb_array_elements_text(cast(listed, JSONB))
        key = elements.table_valued("value").c.value
        present.update(connection.scalars(select(key).where(exists().where(column == key))).all())
    return present


def delete_by_key(connection: Connection, column: Column[Any], keys: Iterable[Any]) -> None:  # Any: as above
    """Delete the rows whose ``column`` is one of ``keys``, in one statement per portion of the keys."""
    for chunk in chunks_of(sorted(keys), KEYS_PER_STATEMENT):
        connection.execute(delete(column.table).where(is_one_of(connection, column, chunk)))


def take_by_key(
    connection: Connection,
    columns: Sequence[ColumnElement[Any]],  # Any: whatever they hold
    column: Column[Any],  # Any: as above
    keys: Iterable[Any],
) -> list[Row[Any]]:
    """Delete the rows whose ``column`` is one of ``keys``, as ``delete_by_key``; return these columns of each."""
    return [
        row
        for chunk in chunks_of(sorted(keys), KEYS_PER_STATEMENT)
        for row in connection.execute(
            delete(column.table).where(is_one_of(connection, column, chunk)).returning(*columns)
        )
    ]


def is_one_of(
    connection: Connection, column: ColumnElement[Any], keys: Collection[str] | Collection[int]
) -> ColumnElement[bool]:
    """Return the condition that ``column`` is one of ``keys``, texts or integers."""
    if len(keys) == 1:
        return column == next(iter(keys))
    return is_listed(column, literal(listed_keys(keys)), on_sqlite=is_sqlite(connection))


def listed_keys(keys: Collection[str] | Collection[int]) -> str:
    """Return keys as the JSON array that ``is_listed`` takes."""
    return orjson.dumps(sorted(keys)).decode()


def listed_tuples(connection: Connection, tuples: Sequence[Sequence[str | int]]) -> list[ColumnElement[Any]]:
    """Return the columns of a table of these tuples, all of one length, texts but for what is cast from them.

    It is one parameter, whatever their number; its rows are in their order.
    """
    listed_values, places = literal(orjson.dumps(tuples).decode()), range(len(tuples[0]))
    if is_sqlite(connection):
        value = func.json_each(listed_values).table_valued("value").c.value
        return [func.json_extract(value, f"$[{place}]") for place in places]
    element = func.jsonb_array_elements(cast(listed_values, JSONB)).column_valued("element")
    return [func.jsonb_array_element_text(cast(element, JSONB), place) for place in places]


def is_listed(
    column: ColumnElement[Any],  # Any: whatever its keys are
    listed: ColumnElement[str],
    *,
    on_sqlite: bool,
) -> ColumnElement[bool]:
    """Return the condition that ``column`` is one of the texts or integers in a JSON array, in the store's words."""
    if on_sqlite:
        return column.in_(select(func.json_each(listed).table_valued("value").c.value))
    key = func.jsonb_array_elements_text(cast(listed, JSONB)).column_valued("listed_key")
    typed_key = cast(key, BigInteger) if isinstance(column.type, Integer) else key
    return column == func.any(func.array(select(typed_key).scalar_subquery()))
