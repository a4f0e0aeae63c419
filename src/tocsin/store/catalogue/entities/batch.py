"""Batched writes: prefetched reads, and rows that are written together.

A ``SqlBatch`` answers from what it has fetched or been given, and buffers rows until its end. A method that needs the
store itself uses ``_connection``, which first flushes the buffer: so everything that ``SqlTransaction`` can do
is correct here too, only slower. Next: ``store/catalogue/entities/changes.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, NestedTransaction, bindparam, select

from tocsin.chunks import chunks_of
from tocsin.flow.capture.ports import Hold, MustWriteError
from tocsin.model import fqn as names
from tocsin.model.entity import Document
from tocsin.model.inheritance import Heritage, types_above
from tocsin.model.list_identity import MEMBERSHIPS
from tocsin.model.stored import CapturedEvent, Key, Stored
from tocsin.store.catalogue.entities import changes
from tocsin.store.catalogue.entities.changes import EntityChange
from tocsin.store.catalogue.entities.write import SqlTransaction, lookups, reference_on, with_lock
from tocsin.store.catalogue.relations import projections
from tocsin.store.catalogue.relations.inheritance import heritage_on
from tocsin.store.database import tables
from tocsin.store.database.documents import STORED, entity_of, reference_of

_STRENGTH = {Hold.SHARED: 0, Hold.CHANGE: 1, Hold.REMOVE: 2}

_ENTITY = tables.entity.c
_FETCH = {
    (column, hold): with_lock(
        select(*STORED)
        .where(
            _ENTITY.entity_type == bindparam("entity_type"), _ENTITY[column].in_(bindparam("values", expanding=True))
        )
        .order_by(_ENTITY.fqn),  # two that lock the same rows lock them in the same order
        hold,
    )
    for column in ("id", "fqn")
    for hold in Hold
}

LookupKey = tuple[str, str, str]
"""Type, column and value by which an entity is looked up."""


class _Known(NamedTuple):
    stored: Stored | None
    hold: Hold


@dataclass
class _Kept:
    """Rows that wait to be written."""

    changes: list[EntityChange] = field(default_factory=list)
    events: list[CapturedEvent] = field(default_factory=list)
    types: set[str] = field(default_factory=set)

    def add(self, unwritten: _Kept) -> None:
        self.changes += unwritten.changes
        self.events += unwritten.events
        self.types |= unwritten.types

    def take(self) -> _Kept:
        unwritten = _Kept(self.changes, self.events, self.types)
        self.changes, self.events, self.types = [], [], set()
        return unwritten


class SqlBatch(SqlTransaction):
    """A write transaction for many writes, each inside ``row()``."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._known: dict[LookupKey, _Known | None] = {}
        self._references: dict[LookupKey, Document | None] = {}
        self._heritage: dict[tuple[str, str], Heritage] = {}
        self._before, self._row = _Kept(), _Kept()
        self._undo: list[tuple[LookupKey, _Known | None]] = []
        self._in_row = False
        self._savepoint: NestedTransaction | None = None

    @contextmanager
    def row(self) -> Iterator[None]:
        """Run the block in a savepoint, so that it succeeds or fails on its own."""
        self._undo.clear()
        self._in_row = True
        try:
            yield
        except BaseException:
            self._row.take()
            for place, entry in reversed(self._undo):
                self._known[place] = entry
            if self._savepoint is not None:
                self._savepoint.rollback()
                self._forget()
                self._relations.clear()
                self._renamed.clear()
                self._column_follows.clear()
                self._remembered.clear()
                self._edges.clear()
                self._parts.clear()
            raise
        else:
            self._before.add(self._row.take())
            if self._savepoint is not None:
                self.write_out()
                self._savepoint.commit()
        finally:
            self._in_row, self._savepoint = False, None

    def look_ahead(self, entity_type: str, fqns: Iterable[str]) -> None:
        """Fetch together the entities of these names, and remember which there are not."""
        names = list(dict.fromkeys(fqns))
        for chunk in chunks_of(names):
            self._prefetch(entity_type, "fqn", chunk, Hold.CHANGE)

    def find(self, entity_type: str, key: Key, hold: Hold = Hold.CHANGE) -> Stored | None:
        """Return the entity, soft-deleted or not, and hold it; None if there is none."""
        column, values = lookups(entity_type, key)
        for value in values:
            entry = self._known.get((entity_type, column, value))
            if entry is None or _STRENGTH[entry.hold] < _STRENGTH[hold]:
                self._prefetch(entity_type, column, [value], hold)
                entry = self._known[entity_type, column, value]
            if entry is not None and entry.stored is not None:
                return entry.stored
        return None

    def reference(self, entity_type: str, key: Key) -> Document | None:
        """Return the full reference to an entity (with ``deleted`` when it is), held as shared; None if none."""
        column, values = lookups(entity_type, key)
        for value in values:
            entry = self._known.get((entity_type, column, value))
            if entry is not None and entry.stored is not None:
                stored = entry.stored
                return reference_of(stored.id, entity_type, stored.document["name"], stored.fqn, stored.is_deleted)
        place = (entity_type, column, values[0])
        if place not in self._references:
            is_kept = entity_type in self._before.types | self._row.types
            connection = self._connection if is_kept else self._opened
            self._references[place] = reference_on(connection, entity_type, key)
        return self._references[place]

    def heritage(self, entity_type: str, fqn: str) -> Heritage:
        """Return what an entity at this place inherits; the same for all children of the same parent."""
        above = types_above(entity_type)
        if not (self._before.types.isdisjoint(above) and self._row.types.isdisjoint(above)):
            return self._heritage_now((entity_type, fqn))
        place = (entity_type, names.parent(fqn) or "")
        if place not in self._heritage:
            entry = (entity_type, fqn)
            self._heritage[place] = heritage_on(self._opened, [entry]).get(entry, {})
        return self._heritage[place]

    def append(self, events: Iterable[CapturedEvent]) -> Mapping[str, bool]:
        """Add events to the log, in this order."""
        self._row.events += events
        return {}

    def write_out(self) -> None:
        """Write everything that was cached."""
        for unwritten in (self._before.take(), self._row.take()):
            if unwritten.changes:
                changes.write(self._opened, unwritten.changes, self._relations)
            self._log(self._opened, unwritten.events)

    @property
    def _connection(self) -> Connection:
        """The connection, after a flush of the buffer; a row that gets this far has a savepoint.

        The cache is dropped: the caller may be about to change the rows.
        """
        if self._in_row and self._savepoint is None:
            row, self._row = self._row, _Kept()
            self.write_out()
            self._savepoint, self._row = self._opened.begin_nested(), row
        self.write_out()
        self._forget()
        return self._opened

    def _forget(self) -> None:
        self._known.clear()
        self._references.clear()

    def _write(self, change: EntityChange) -> None:
        new = change.new
        self.touched.add(new.entity_type)
        self._row.changes.append(change)
        self._row.types.add(new.entity_type)
        if new.entity_type in MEMBERSHIPS:  # what it says, others say too: nothing known is certain
            _ = self._connection
            return
        for place in ((new.entity_type, "id", new.id), (new.entity_type, "fqn", new.fqn)):
            self._undo.append((place, self._known.get(place)))
            self._known[place] = _Known(new, Hold.REMOVE)
            self._references.pop(place, None)

    def _prefetch(self, entity_type: str, column: str, values: Sequence[str], hold: Hold) -> None:
        """Look up these values, none of which is cached, and cache what is there."""
        entity_rows = self._opened.execute(_FETCH[column, hold], {"entity_type": entity_type, "values": list(values)})
        stored_by_key = {
            stored.id if column == "id" else stored.fqn: stored for stored in (entity_of(*row) for row in entity_rows)
        }
        projections.add_memberships(self._opened, entity_type, [stored.document for stored in stored_by_key.values()])
        for value in values:
            self._known[entity_type, column, value] = _Known(stored_by_key.get(value), hold)


class Rehearsal(SqlBatch):
    """A batch on a read-only connection, for dry runs that its cache can answer."""

    @property
    def _connection(self) -> Connection:
        raise MustWriteError
