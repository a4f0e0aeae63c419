"""Large documents of versions and events, stored as differences to a snapshot of their entity.

A snapshot is written in the transaction of the first difference to it, and stays whatever becomes of its entity, so it
is there whenever a difference is; only the erasure of a person replaces it, with all differences to it. A new one is
written when differences have become large.
``flow/eventlog/differences.py`` is the format. Next: ``store/catalogue/entities/changes.py``,
``store/eventlog/log.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy import Row as ResultRow

from tocsin.chunks import chunks_of
from tocsin.flow.eventlog.differences import (
    SMALLEST_BYTES,
    TextReader,
    compress_snapshot,
    decompress_snapshot,
    difference,
)
from tocsin.model.entity import Document
from tocsin.store.database.documents import Row, from_text
from tocsin.store.database.keys import pages_of
from tocsin.store.database.statements import Prepared
from tocsin.store.database.tables import change_event, document_snapshot, entity_version

_SNAPSHOT = document_snapshot.c
_NEWEST = Prepared(
    select(_SNAPSHOT.id, _SNAPSHOT.content)
    .where(_SNAPSHOT.entity_id == bindparam("of"))
    .order_by(_SNAPSHOT.id.desc())
    .limit(literal_column("1"))
)
_AS_IT_IS: Row = {"document_bytes": None, "snapshot_id": None, "difference": None}
_LARGE_SHARE = 10
"""A difference is large above this part of its compressed snapshot, ..."""

_SMALL_BYTES = 1024
"""... but never below so many bytes: what every event says anew would make it so."""

_ROWS_AT_ONCE = 50


def _text_of(table: Table) -> tuple[Column[Any], ...]:  # Any: a column's type
    return tuple(table.c[name] for name in ("document", *_AS_IT_IS))


VERSION_TEXT = _text_of(entity_version)
"""The columns of which ``Texts`` makes a version's text."""

EVENT_TEXT = _text_of(change_event)
"""The columns of which ``Texts`` makes an event's text."""


class Texts:
    """Texts of versions and events, as far as this connection sees the store."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._reader = TextReader(self._content)

    def of(self, row: Any) -> str:  # Any: SQLAlchemy's row
        """Return the text in a row of ``VERSION_TEXT`` or ``EVENT_TEXT``.

        Raises
        ------
        DamagedText, LookupError : its difference or snapshot is not what was stored
        """
        return self.text_of(row.document, row.snapshot_id, row.difference)

    def text_of(self, document: str, snapshot_id: int | None, change: bytes | None) -> str:
        """Return the text of these columns, as ``of`` does."""
        return self._reader.text(document, snapshot_id, change)

    def _content(self, snapshot_id: int) -> bytes | None:
        query = select(_SNAPSHOT.content).where(_SNAPSHOT.id == snapshot_id)
        return self._connection.execute(query).scalar_one_or_none()


def newest_version(connection: Connection, entity_id: str, *conditions: ColumnElement[bool]) -> Document | None:
    """Return the newest version of an entity that meets these conditions; None if there is none."""
    version = entity_version.c
    query = select(*VERSION_TEXT).where(version.entity_id == entity_id, *conditions)
    row = connection.execute(query.order_by(version.version_tenths.desc()).limit(1)).first()
    return None if row is None else from_text(Texts(connection).of(row))


class _Snapshot(NamedTuple):
    id: int
    content: bytes


def rows_to_store(connection: Connection, document_rows: Sequence[Row]) -> list[Row]:
    """Return rows of versions or events as they are stored: large documents as differences to snapshots.

    The rows belong into the same transaction, in this order. Snapshots that are missing are written.
    """
    texts = [row["document"].encode() for row in document_rows]
    large_ids = {row["entity_id"] for row, text in zip(document_rows, texts, strict=True) if _is_large(text)}
    newest = _newest(connection, large_ids) if large_ids else {}
    return [
        row | (_difference_columns(connection, row["entity_id"], text, newest) if _is_large(text) else _AS_IT_IS)
        for row, text in zip(document_rows, texts, strict=True)
    ]


def large_texts(connection: Connection, entity_id: str) -> Iterator[str]:
    """Yield the texts of an entity's versions and events that are stored as differences."""
    texts = Texts(connection)
    return (texts.of(row) for _, row in _large_rows(connection, entity_id))


def rewrite_large_texts(connection: Connection, entity_id: str, rewrite: Callable[[str], str]) -> int:
    """Rewrite what ``large_texts`` yields, and its snapshots; return how many texts have changed.

    All in one transaction that holds the entity: no writer may use a snapshot that goes.
    """
    texts, newest, changed_count = Texts(connection), dict[str, _Snapshot](), 0
    last_id = connection.scalar(select(func.max(_SNAPSHOT.id)).where(_SNAPSHOT.entity_id == entity_id))
    for table, row in _large_rows(connection, entity_id, last_id):
        text = texts.of(row)
        rewritten = rewrite(text)
        changed_count += rewritten != text
        is_row = (key == row._mapping[key.name] for key in table.primary_key)
        values = _difference_columns(connection, entity_id, rewritten.encode(), newest)
        connection.execute(update(table).where(*is_row).values(values))
    connection.execute(delete(document_snapshot).where(_SNAPSHOT.entity_id == entity_id, _SNAPSHOT.id <= last_id))
    return changed_count


def _large_rows(
    connection: Connection, entity_id: str, last_id: int | None = None
) -> Iterator[tuple[Table, ResultRow[*tuple[Any, ...]]]]:  # Any: columns' values
    """Yield the rows that are differences to snapshots up to ``last_id``, with their tables."""
    for table in (entity_version, change_event):
        keys = list(table.primary_key)
        query = select(*keys, *_text_of(table)).where(table.c.entity_id == entity_id, table.c.snapshot_id.is_not(None))
        placed = query if last_id is None else query.where(table.c.snapshot_id <= last_id)
        for page in pages_of(connection, placed, *keys, size=_ROWS_AT_ONCE):
            yield from ((table, row) for row in page)


def _is_large(text: bytes) -> bool:
    return len(text) >= SMALLEST_BYTES


def _newest(connection: Connection, entity_ids: Collection[str]) -> dict[str, _Snapshot]:
    """Return the newest snapshot of each entity that has one."""
    if len(entity_ids) == 1:
        (entity_id,) = entity_ids
        row = _NEWEST.run(connection, {"of": entity_id}).fetchone()
        return {} if row is None else {entity_id: _Snapshot(row[0], row[1])}
    snapshots: dict[str, _Snapshot] = {}
    for chunk in chunks_of(sorted(entity_ids)):
        last = select(func.max(_SNAPSHOT.id)).where(_SNAPSHOT.entity_id.in_(chunk)).group_by(_SNAPSHOT.entity_id)
        query = select(_SNAPSHOT.entity_id, _SNAPSHOT.id, _SNAPSHOT.content).where(_SNAPSHOT.id.in_(last))
        snapshots |= {row.entity_id: _Snapshot(row.id, row.content) for row in connection.execute(query)}
    return snapshots


def _difference_columns(connection: Connection, entity_id: str, text: bytes, newest: dict[str, _Snapshot]) -> Row:
    """Return the columns of a large text, and note its snapshot where it becomes one."""
    snapshot = newest.get(entity_id)
    if snapshot is not None:
        change = difference(text, decompress_snapshot(snapshot.content))
        if len(change) <= max(_SMALL_BYTES, len(snapshot.content) // _LARGE_SHARE):
            return _columns(text, snapshot, change)
    newest[entity_id] = new_snapshot = _add_snapshot(connection, entity_id, text)
    return _columns(text, new_snapshot, difference(text, text))


def _add_snapshot(connection: Connection, entity_id: str, text: bytes) -> _Snapshot:
    content = compress_snapshot(text)
    inserted = connection.execute(insert(document_snapshot), {"entity_id": entity_id, "content": content})
    key = inserted.inserted_primary_key
    assert key is not None, "both stores number rows"  # noqa: S101
    return _Snapshot(int(key[0]), content)


def _columns(text: bytes, snapshot: _Snapshot, change: bytes) -> Row:
    return {"document": "", "document_bytes": len(text), "snapshot_id": snapshot.id, "difference": change}
