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
from tocsin.store.catalogue.entities.versions import VersionPage, VersionsAsked, versions_in
from tocsin.store.catalogue.entities.write import by_value, lookups, title_of
from tocsin.store.catalogue.relations.label_names import as_called
from tocsin.store.database import tables
from tocsin.store.database.documents import from_text, tenths_of
from tocsin.store.database.engine import reading
from tocsin.store.database.snapshots import VERSION_TEXT, Texts

_VERSION = tables.entity_version.c
_EVENT = tables.change_event.c


class History:
    """Reads what entities were."""

    def __init__(self, engine: Engine, *, page_bytes: int | None = None) -> None:
        self._engine, self._page_bytes = engine, page_bytes
        self._totals = Totals()

    def versions_written(self, entity_type: str, selection: VersionsAsked) -> VersionPage:
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
            document = _newest(connection, entity_id, _VERSION.updated_at_ms <= at_ms)
            if document is None or _gone_at_ms(connection, entity_id, at_ms):
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
            document = _newest(connection, entity_id, _VERSION.version_tenths == tenths_of(number))
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
            document = _newest(
                connection, entity_id, true() if before is None else _VERSION.version_tenths < tenths_of(before)
            )
            if document is None:
                raise NotFound(f"{title_of(connection, entity_id)} has no version before {before}")
            return as_called(connection, document)

    def _id_of(self, connection: Connection, entity_type: str, key: Key) -> str:
        column, values = lookups(entity_type, key)
        for value in values:
            query = by_value(select(tables.entity.c.id), column)
            entity_id = connection.execute(query, {"entity_type": entity_type, "value": value}).scalar_one_or_none()
            if entity_id is not None:
                return str(entity_id)
        if key.id is not None and _was(connection, entity_type, key.id):
            return key.id
        raise missing(entity_type, key)


def _newest(connection: Connection, entity_id: str, condition: ColumnElement[bool]) -> Document | None:
    """Return the newest version of an entity that meets a condition."""
    query = select(*VERSION_TEXT).where(_VERSION.entity_id == entity_id).order_by(_VERSION.version_tenths.desc())
    row = connection.execute(query.where(condition).limit(1)).first()
    return None if row is None else from_text(Texts(connection).of(row))


def _was(connection: Connection, entity_type: str, entity_id: str) -> bool:
    """Return whether an entity of this type with this id was deleted for good."""
    query = select(_EVENT.log_offset).where(
        _EVENT.entity_id == entity_id,
        _EVENT.entity_type == entity_type,
        _EVENT.event_type == EventType.ENTITY_DELETED.value,
    )
    return connection.execute(query.limit(1)).first() is not None


def _gone_at_ms(connection: Connection, entity_id: str, at_ms: int) -> bool:
    """Return whether an entity had been deleted for good by then."""
    query = select(_EVENT.log_offset).where(
        _EVENT.entity_id == entity_id,
        _EVENT.event_type == EventType.ENTITY_DELETED.value,
        _EVENT.timestamp_ms <= at_ms,
    )
    return connection.execute(query.limit(1)).first() is not None
