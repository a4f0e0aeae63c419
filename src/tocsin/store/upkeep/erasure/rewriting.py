"""Rewriting of the store without what identifies one person: in short transactions, so that everybody else goes on.

A pass may be repeated, and is, until one finds nothing more: what was being written during the first is found then.
Large documents are rewritten entity by entity. Next: ``jobs/erasure.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, Select, Table, or_, select, tuple_, update

from tocsin.model.erasure import PersonalIdentity, Pseudonymizer
from tocsin.store.database.engine import fetch_value, is_sqlite, reading, writing
from tocsin.store.database.snapshots import large_texts, rewrite_large_texts
from tocsin.store.database.tables import document_snapshot, entity
from tocsin.store.outbox.composed_digests import ComposedDigests
from tocsin.store.upkeep.erasure.columns import NAMING, REMOVED, NamingColumns
from tocsin.store.upkeep.erasure.needles import ESCAPE, like_patterns

LARGE_DOCUMENTS = "large documents"
"""What the counts call versions and events that are stored as differences."""

STEPS = len(NAMING) + len(REMOVED) + 1
"""Steps of one pass."""

_AT_ONCE = 200

Key = tuple[Any, ...]  # Any: values of the columns of a primary key


@dataclass(frozen=True)
class Rewriting:
    """Rewrites the store behind ``engine`` without one person's identity; with ``is_dry`` it only counts."""

    engine: Engine
    identity: PersonalIdentity
    is_dry: bool = False

    def run(self) -> Iterator[Counter[str]]:
        """Yield, step by step, how many rows of a table were rewritten or removed, or would be."""
        for columns in NAMING:
            counts = (self._rewrite(columns, keys) for keys in self._pages(columns))
            yield Counter({columns.table_name: sum(counts)})
        yield Counter({LARGE_DOCUMENTS: self._rewrite_large_documents()})
        for columns in REMOVED:
            counts = (self._remove(columns, keys) for keys in self._pages(columns))
            yield Counter({columns.table_name: sum(counts)})
        if not self.is_dry:
            ComposedDigests(self.engine).forget_all()  # a compressed copy: it is composed again of what is left

    @cached_property
    def _pseudonymizer(self) -> Pseudonymizer:
        return Pseudonymizer(self.identity)

    def _pages(self, columns: NamingColumns) -> Iterator[list[Key]]:
        """Yield the keys of the rows in which something of theirs is found, page by page."""
        primary_key = list(columns.table.primary_key)
        patterns = [pattern for needle in self.identity.needles for pattern in like_patterns(needle)]
        has_needle = or_(
            *(columns.table.c[name].ilike(pattern, escape=ESCAPE) for name in columns.all for pattern in patterns)
        )
        query, after = select(*primary_key).where(has_needle).order_by(*primary_key).limit(_AT_ONCE), None
        while True:
            with reading(self.engine) as connection:
                page_query = query if after is None else query.where(tuple_(*primary_key) > after)
                keys = [tuple(row) for row in connection.execute(page_query)]
            if not keys:
                return
            yield keys
            after = keys[-1]

    def _rewrite(self, columns: NamingColumns, keys: Sequence[Key]) -> int:
        table = columns.table
        query = select(*table.primary_key, *(table.c[name] for name in columns.read))
        with self._portion() as connection:
            changes_by_row = list(self._changed_rows(connection, columns, query, keys))
            for row, changes in () if self.is_dry else changes_by_row:
                connection.execute(update(table).where(*_is_row(table, row)).values(changes))
        return len(changes_by_row)

    def _remove(self, columns: NamingColumns, keys: Sequence[Key]) -> int:
        table = columns.table
        with self._portion() as connection:
            changes_by_row = list(self._changed_rows(connection, columns, select(table), keys))
            for row, _ in () if self.is_dry else changes_by_row:
                connection.execute(table.delete().where(*_is_row(table, row)))
        return len(changes_by_row)

    def _changed_rows(
        self, connection: Connection, columns: NamingColumns, query: Select[Any], keys: Sequence[Key]
    ) -> Iterator[tuple[RowMapping, dict[str, str]]]:  # Any: columns' values
        """Yield the rows of these keys that name them, with the new values of their columns."""
        for row in connection.execute(self._with_lock(query, columns.table, keys)).mappings().all():
            if changes := self._changes(columns, row):
                yield row, changes

    def _changes(self, columns: NamingColumns, row: RowMapping) -> dict[str, str]:  # Any: columns' values
        """Return the new values of the columns of a row that change."""
        ways: tuple[tuple[Sequence[str], Callable[[str], str]], ...] = (
            (columns.names, self._pseudonymizer.name),
            (columns.documents, self._rewritten_document),
            (columns.derived, lambda text: _dumps(self._pseudonymizer.derived_fields(orjson.loads(text)))),
            (columns.texts, self._pseudonymizer.text),
            (columns.own_names, lambda text: self._own_name(text, row[columns.id_column])),
        )
        values = {name: (row[name], rewrite) for names, rewrite in ways for name in names if row[name]}
        new_values = {name: rewrite(text) for name, (text, rewrite) in values.items()}
        return {name: text for name, text in new_values.items() if text != row[name]}

    def _own_name(self, name: str, entity_id: str) -> str:
        return self._pseudonymizer.own_name(name) if entity_id == self.identity.user_id else name

    def _rewritten_document(self, text: str) -> str:
        document = orjson.loads(text)
        rewritten = self._pseudonymizer.document(document)
        return text if rewritten == document else _dumps(rewritten)

    def _rewrite_large_documents(self) -> int:
        entity_id, count = self._next_with_snapshot(""), 0
        while entity_id is not None:
            if self._is_named_in_large(entity_id):
                count += self._rewrite_entity(entity_id)
            entity_id = self._next_with_snapshot(entity_id)
        return count

    def _next_with_snapshot(self, after: str) -> str | None:
        later = select(document_snapshot.c.entity_id).where(document_snapshot.c.entity_id > after)
        return fetch_value(self.engine, later.order_by(document_snapshot.c.entity_id).limit(1))

    def _is_named_in_large(self, entity_id: str) -> bool:
        with reading(self.engine) as connection:
            return any(self._rewritten_document(text) != text for text in large_texts(connection, entity_id))

    def _rewrite_entity(self, entity_id: str) -> int:
        if self.is_dry:
            with reading(self.engine) as connection:
                return sum(self._rewritten_document(text) != text for text in large_texts(connection, entity_id))
        with self._portion() as connection:
            connection.execute(select(entity.c.id).where(entity.c.id == entity_id).with_for_update())
            return rewrite_large_texts(connection, entity_id, self._rewritten_document)

    def _portion(self) -> AbstractContextManager[Connection]:
        return reading(self.engine) if self.is_dry else _writing_without_a_trace(self.engine)

    def _with_lock(self, query: Select[Any], table: Table, keys: Sequence[Key]) -> Select[Any]:  # Any: columns' values
        placed = query.where(tuple_(*table.primary_key).in_(keys))
        return placed if self.is_dry else placed.with_for_update()


@contextmanager
def _writing_without_a_trace(engine: Engine) -> Iterator[Connection]:
    """Yield a connection inside a write transaction; SQLite overwrites what it removes."""
    with writing(engine) as connection:
        if is_sqlite(connection):
            connection.exec_driver_sql("PRAGMA secure_delete = ON")
        yield connection


def _is_row(table: Table, row: RowMapping) -> Iterator[ColumnElement[bool]]:  # Any: columns' values
    return (column == row[column.name] for column in table.primary_key)


def _dumps(value: Any) -> str:  # Any: a JSON value
    return orjson.dumps(value).decode()
