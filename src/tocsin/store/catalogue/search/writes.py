"""Writes to the search index: an entry replaces entries of an earlier offset.

Writers exclude each other, so an older entry never replaces a newer one, in whatever order the pipeline and a rebuild
write. Next: ``store/catalogue/search/results.py`` for queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import ge, gt
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, delete, func, insert, or_, select, text

from tocsin.chunks import chunks_of
from tocsin.search.fields import WORD_COLUMNS
from tocsin.store.catalogue.relations.label_names import ids_with_renamed_labels
from tocsin.store.database import tables
from tocsin.store.database.engine import fetch_value, fetch_values, is_sqlite, reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.search_tables import NUMBER, search_entry, search_gone, search_words

Entry = Mapping[str, Any]  # Any: the columns of spark/search.py's entries

_ENTRY = search_entry.c
_COLUMNS = tuple(column.name for column in search_entry.columns if column.name != "number")
_ROWS_PER_STATEMENT = 2_000
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('tocsin search index'))")
_INSERT_WORDS = {
    True: text(
        f"INSERT INTO search_words (rowid, {', '.join(WORD_COLUMNS)}, keys)"  # noqa: S608  # our own names
        f" VALUES (:number, {', '.join(f':{name}' for name in WORD_COLUMNS)}, :keys)"
    ),
    False: text(
        "INSERT INTO search_words (number, names, words, keys) VALUES (:number,"
        " setweight(to_tsvector('simple', :name), 'A') || setweight(to_tsvector('simple', :display_name), 'B'),"
        " setweight(to_tsvector('simple', :path), 'A') || setweight(to_tsvector('simple', :members), 'B') ||"
        " setweight(to_tsvector('simple', :description), 'C') || setweight(to_tsvector('simple', :member_texts), 'D'),"
        " array_to_tsvector(string_to_array(:keys, ' ')))"
    ),
}
_DELETE_WORDS = delete(search_words).where(bindparam("number") == NUMBER)
_LAST_WORDS = select(NUMBER).select_from(search_words).order_by(NUMBER.desc()).limit(1)
_DELETE_STRAY_WORDS = delete(search_words).where(NUMBER.not_in(select(_ENTRY.number)))


class SearchWrites:
    """Writes the index; one per engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, entries: Sequence[Entry]) -> int:
        """Store entries that are newer than the stored ones; return how many there were. Idempotent.

        An entry whose ``is_gone`` is set removes its entity from the index, for good.
        """
        return self._store(entries, gt)

    def renew(self, entries: Sequence[Entry]) -> int:
        """Store entries that are at least as new as the stored ones, for a rebuild; return how many there were."""
        return self._store(entries, ge)

    def sweep(self, before_offset: int) -> int:
        """Remove entries that a rebuild at ``before_offset`` did not find in the catalogue; return how many there were.

        Words without an entry, which was removed by hand, are removed as well.
        """
        with self._alone() as connection:
            old = connection.execute(select(_ENTRY.number).where(_ENTRY.log_offset < before_offset)).scalars().all()
            _remove(connection, old)
            connection.execute(_DELETE_STRAY_WORDS)
        return len(old)

    def forget_gone(self, through_offset: int) -> None:
        """Drop records of hard deletes up to ``through_offset``: the catalogue no longer has those entities."""
        with self._alone() as connection:
            connection.execute(delete(search_gone).where(search_gone.c.log_offset <= through_offset))

    def id_cuts(self, stride: int) -> list[str]:
        """Return every ``stride``-th id of the catalogue in their order, and the last one: where a rebuild cuts it."""
        numbered = select(
            tables.entity.c.id, func.row_number().over(order_by=tables.entity.c.id).label("place")
        ).subquery()
        total = select(func.count()).select_from(tables.entity).scalar_subquery()
        at_cut = or_(numbered.c.place % stride == 0, numbered.c.place == total)
        return list(fetch_values(self._engine, select(numbered.c.id).where(at_cut).order_by(numbered.c.id)))

    def relabelled_cuts(self, after: int, through: int, stride: int) -> list[str]:
        """Return every ``stride``-th id, and the last one, of entities with a label renamed in (after, through]."""
        with reading(self._engine) as connection:
            ids = ids_with_renamed_labels(connection, after, through)
        return [*ids[stride - 1 : -1 : stride], *ids[-1:]]

    def count(self) -> int:
        """Return how many entries there are."""
        return fetch_value(self._engine, select(func.count()).select_from(search_entry)) or 0

    def _store(self, entries: Sequence[Entry], is_newer: Callable[[int, int], bool]) -> int:
        with self._alone() as connection:
            known_offsets = _known_offsets(connection, [entry["entity_id"] for entry in entries])
            newer = [
                entry for entry in entries if is_newer(entry["log_offset"], known_offsets.get(entry["entity_id"], -1))
            ]
            _replace(connection, newer)
        return len(newer)

    @contextmanager
    def _alone(self) -> Iterator[Connection]:
        """Yield a connection inside a write transaction that no other writer of the index enters meanwhile."""
        with writing(self._engine) as connection:
            if not is_sqlite(connection):  # SQLite has one writer anyway
                connection.execute(_LOCK)
            yield connection


def _known_offsets(connection: Connection, entity_ids: Sequence[str]) -> dict[str, int]:
    """Return the offset at which each of these entities was last written or went for good."""
    offsets: dict[str, int] = {}
    for table in (search_entry, search_gone):
        query = select(table.c.entity_id, table.c.log_offset)
        for entity_id, log_offset in rows_by_key(connection, query, table.c.entity_id, entity_ids):
            offsets[entity_id] = max(log_offset, offsets.get(entity_id, -1))
    return offsets


def _replace(connection: Connection, entries: Sequence[Entry]) -> None:
    query = select(_ENTRY.entity_id, _ENTRY.number)
    entry_rows = rows_by_key(connection, query, _ENTRY.entity_id, [entry["entity_id"] for entry in entries])
    numbers = {row.entity_id: row.number for row in entry_rows}
    next_number = _last_number(connection) + 1
    _remove(connection, list(numbers.values()))
    gone_entries = [entry for entry in entries if entry["is_gone"]]
    _note_gone(connection, gone_entries)
    present_entries = [entry for entry in entries if not entry["is_gone"]]
    numbered_entries = []
    for entry in present_entries:
        number = numbers.get(entry["entity_id"])
        if number is None:
            number, next_number = next_number, next_number + 1
        numbered_entries.append({"number": number, **entry})
    for chunk in chunks_of(numbered_entries, _ROWS_PER_STATEMENT):
        connection.execute(insert(search_entry), [{key: row[key] for key in ("number", *_COLUMNS)} for row in chunk])
        words = [{key: row[key] for key in ("number", *WORD_COLUMNS, "keys")} for row in chunk]
        connection.execute(_INSERT_WORDS[is_sqlite(connection)], words)


def _last_number(connection: Connection) -> int:
    """Return the highest number in use, of an entry or of words that lost theirs; 0 where there is none."""
    entries = connection.execute(select(func.max(_ENTRY.number))).scalar_one() or 0
    words = connection.execute(_LAST_WORDS).scalar() or 0
    return max(int(entries), int(words))


def _remove(connection: Connection, numbers: Sequence[int]) -> None:
    if not numbers:
        return
    word_keys = [{"number": number} for number in numbers]
    connection.execute(_DELETE_WORDS, word_keys)
    for part in chunks_of(numbers):
        connection.execute(delete(search_entry).where(_ENTRY.number.in_(part)))


def _note_gone(connection: Connection, gone_entries: Sequence[Entry]) -> None:
    if not gone_entries:
        return
    gone_rows = [{"entity_id": entry["entity_id"], "log_offset": entry["log_offset"]} for entry in gone_entries]
    for ids in chunks_of(row["entity_id"] for row in gone_rows):
        connection.execute(delete(search_gone).where(search_gone.c.entity_id.in_(ids)))
    connection.execute(insert(search_gone), gone_rows)
