"""Versions of entities by number and by time, also of deleted ones.

Next: ``store/catalogue/entities/catalogue.py`` for the current state.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Engine, select, true

from tocsin.errors import NotFound
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.stored import Key, missing
from tocsin.store.catalogue.entities.counts import Totals
from tocsin.store.catalogue.entities.versions import VersionsAsked, versions_in
from tocsin.store.catalogue.entities.write import by_value, row_of, title_of
from tocsin.store.catalogue.relations.label_names import as_called
from tocsin.store.database import tables
from tocsin.store.database.cursors import DocumentPage
from tocsin.store.database.documents import tenths_of
from tocsin.store.database.engine import reading
from tocsin.store.database.snapshots import newest_version

_VERSION = tables.entity_version.c
_EVENT = tables.change_event.c
_IDS = {column: by_value(select(tables.entity.c.id), column) for column in ("id", "fqn")}


class History:
    """Reads what entities were."""

    def __init__(self, engine: Engine, *, page_bytes: int | None = None) -> None:
        self._engine, self._page_bytes = engine, page_bytes
        self._totals = Totals()

    def versions_written(self, entity_type: str, selection: VersionsAsked) -> DocumentPage:
        """Return a page of the versions that entities of a type got in a window of time, newest first."""
        with reading(self._engine) as connection:
            return versions_in(connection, entity_type, selection, totals=self._totals, most_bytes=self._page_bytes)

    def identify(self, entity_type: str, key: Key) -> str:
        """Return the id of a live entity with this name, or of a current or former entity with this id.

        Raises
        ------
        NotFound : there is no such entity, and never was.
        """
        with reading(self._engine) as connection:
            return self._id_of(connection, entity_type, key)

    def as_of(self, entity_type: str, key: Key, at_ms: int) -> Document:
        """Return the version of an entity that was valid at a moment, its labels under their names of that moment.

        By name it is the entity that has this name now; by id it may be one that is gone for good.

        Raises
        ------
        NotFound : there is no such entity, or it was not there yet, or no longer.
        """
        with reading(self._engine) as connection:
            entity_id = self._id_of(connection, entity_type, key)
            document = newest_version(connection, entity_id, _VERSION.updated_at_ms <= at_ms)
            if document is None or _was_deleted(connection, entity_id, _EVENT.timestamp_ms <= at_ms):
                raise NotFound(f"{entity_type} {key} did not exist at {at_ms}")
            return as_called(connection, document, at_ms=at_ms)

    def version(self, entity_type: str, key: Key, number: str) -> Document:
        """Return one version of an entity, which may be gone if it is named by id; ``number`` is written ``0.3``.

        Its labels have their names of now.

        Raises
        ------
        NotFound : the entity has no such version
        """
        with reading(self._engine) as connection:
            entity_id = self._id_of(connection, entity_type, key)
            document = newest_version(connection, entity_id, _VERSION.version_tenths == tenths_of(number))
            if document is None:
                raise NotFound(f"{title_of(connection, entity_id)} has no version {number}")
            return as_called(connection, document)

    def newest(self, entity_type: str, key: Key, *, before: str | None = None) -> Document:
        """Return the newest version of an entity, or the newest one below the version ``before``.

        Its labels have their names of now.

        Raises
        ------
        NotFound : there is no such entity, or no version below that one.
        """
        with reading(self._engine) as connection:
            entity_id = self._id_of(connection, entity_type, key)
            is_wanted = true() if before is None else _VERSION.version_tenths < tenths_of(before)
            document = newest_version(connection, entity_id, is_wanted)
            if document is None:
                raise NotFound(f"{title_of(connection, entity_id)} has no version before {before}")
            return as_called(connection, document)

    def _id_of(self, connection: Connection, entity_type: str, key: Key) -> str:
        row = row_of(connection, _IDS, entity_type, key)
        if row is not None:
            return str(row.id)
        if key.id is not None and _was_deleted(connection, key.id, _EVENT.entity_type == entity_type):
            return key.id
        raise missing(entity_type, key)


def _was_deleted(connection: Connection, entity_id: str, condition: ColumnElement[bool]) -> bool:
    """Return whether an entity was deleted for good by an event that meets a condition."""
    is_deletion = _EVENT.event_type == EventType.ENTITY_DELETED.value
    query = select(_EVENT.log_offset).where(_EVENT.entity_id == entity_id, is_deletion, condition)
    return connection.execute(query.limit(1)).first() is not None
