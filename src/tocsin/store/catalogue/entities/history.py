"""Versions of entities by number and by time, also of deleted ones.

Next: ``store/catalogue/entities/catalogue.py`` for the current state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Select, func, select, true, tuple_

from tocsin.access.nodes import Condition
from tocsin.errors import NotFound
from tocsin.logic import ALWAYS
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.stored import Key, not_found
from tocsin.store.catalogue.access.visibility import visible_of
from tocsin.store.catalogue.entities.counts import Totals
from tocsin.store.catalogue.entities.write import by_value, row_of, title_of
from tocsin.store.catalogue.relations.label_names import as_called
from tocsin.store.database import tables
from tocsin.store.database.cursors import DocumentPage, not_a_cursor, place_of, place_text
from tocsin.store.database.documents import from_text, tenths_of
from tocsin.store.database.engine import reading
from tocsin.store.database.page_bytes import bounded_list, cut_page
from tocsin.store.database.retention_tables import deleted_entity
from tocsin.store.database.snapshots import VERSION_TEXT, Texts, newest_version

_VERSION = tables.entity_version.c
_EVENT = tables.change_event.c
_GONE = deleted_entity.c
_IDS = {column: by_value(select(tables.entity.c.id), column) for column in ("id", "fqn")}
_ENTITY = tables.entity.c
_PLACE = (_VERSION.updated_at_ms, _VERSION.entity_id, _VERSION.version_tenths)
_FEW = 500
_LONGEST_ID = 36


@dataclass(frozen=True)
class VersionsAsked:
    """Which versions are wanted: between two moments (both included), of what may be seen, one page of them.

    ``after`` and ``before`` are cursors of an earlier page, at most one of them.
    """

    start_ms: int
    end_ms: int
    limit: int = 10
    after: str | None = None
    before: str | None = None
    visible: Condition = ALWAYS


class History:
    """Reads what entities were."""

    def __init__(self, engine: Engine, *, page_bytes: int | None = None) -> None:
        self._engine, self._page_bytes = engine, page_bytes
        self._totals = Totals()

    def versions_written(self, entity_type: str, selection: VersionsAsked) -> DocumentPage:
        """Return a page of the versions that entities of a type got in a window of time, newest first."""
        with reading(self._engine) as connection:
            return _versions_in(connection, entity_type, selection, totals=self._totals, most_bytes=self._page_bytes)

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
            if document is None or _was_deleted(connection, entity_id, until_ms=at_ms):
                raise NotFound(f"{entity_type} {key} did not exist at {at_ms}")
            return as_called(connection, document, at_ms=at_ms)

    def version(self, entity_type: str, key: Key, number: str) -> Document:
        """Return one version of an entity, which may be gone if it is named by id; ``number`` is written ``0.3``.

        Its labels have their names of now.

        Raises
        ------
        NotFound : the entity has no such version
        """
        return self._newest(entity_type, key, _VERSION.version_tenths == tenths_of(number), f"version {number}")

    def newest(self, entity_type: str, key: Key, *, before: str | None = None) -> Document:
        """Return the newest version of an entity, or the newest one below the version ``before``.

        Its labels have their names of now.

        Raises
        ------
        NotFound : there is no such entity, or no version below that one.
        """
        is_before = true() if before is None else _VERSION.version_tenths < tenths_of(before)
        return self._newest(entity_type, key, is_before, f"version before {before}")

    def _newest(self, entity_type: str, key: Key, condition: ColumnElement[bool], title: str) -> Document:
        """Return the newest version that meets a condition, its labels under their names of now."""
        with reading(self._engine) as connection:
            entity_id = self._id_of(connection, entity_type, key)
            document = newest_version(connection, entity_id, condition)
            if document is None:
                raise NotFound(f"{title_of(connection, entity_id)} has no {title}")
            return as_called(connection, document)

    def _id_of(self, connection: Connection, entity_type: str, key: Key) -> str:
        row = row_of(connection, _IDS, entity_type, key)
        if row is not None:
            return str(row.id)
        if key.id is not None and _was_deleted(connection, key.id, entity_type=entity_type):
            return key.id
        raise not_found(entity_type, key)


def _was_deleted(
    connection: Connection, entity_id: str, *, entity_type: str | None = None, until_ms: int | None = None
) -> bool:
    """Return whether an entity of a type was deleted for good, until a moment.

    Retention keeps the time of a deletion whose event it has removed.
    """
    is_deletion = _EVENT.event_type == EventType.ENTITY_DELETED.value
    of_event = select(_EVENT.entity_id).where(_EVENT.entity_id == entity_id, is_deletion)
    of_state = select(_GONE.entity_id).where(_GONE.entity_id == entity_id)
    for query, type_column, time_column in (
        (of_event, _EVENT.entity_type, _EVENT.timestamp_ms),
        (of_state, _GONE.entity_type, _GONE.deleted_at_ms),
    ):
        restricted = query if entity_type is None else query.where(type_column == entity_type)
        restricted = restricted if until_ms is None else restricted.where(time_column <= until_ms)
        if connection.execute(restricted.limit(1)).first() is not None:
            return True
    return False


def _versions_in(
    connection: Connection, entity_type: str, selection: VersionsAsked, *, totals: Totals, most_bytes: int | None = None
) -> DocumentPage:
    """Return a page of the versions of the entities of this type that there are, soft-deleted ones included."""
    conditions = _conditions(connection, entity_type, selection)
    count_query = select(func.count()).select_from(tables.entity_version).where(*conditions)
    question = (entity_type, selection.start_ms, selection.end_ms, selection.visible)
    total = totals.of(question, lambda: int(connection.execute(count_query).scalar_one()))
    query = select(*_PLACE, *VERSION_TEXT).where(*conditions)
    page = bounded_list(
        connection, _continue_in_order(query, selection).limit(selection.limit + 1), lambda row: row, most_bytes
    )
    versions, has_next, has_previous = cut_page(page, selection.limit, after=selection.after, before=selection.before)
    texts = Texts(connection)
    return DocumentPage(
        [from_text(texts.of(row)) for row in versions],
        total,
        after=_cursor(versions[-1]) if has_next else None,
        before=_cursor(versions[0]) if has_previous else None,
    )


def _conditions(connection: Connection, entity_type: str, selection: VersionsAsked) -> list[Any]:  # Any: SQLAlchemy's
    conditions = [_ENTITY.entity_type == entity_type, visible_of(connection, entity_type, selection.visible)]
    of_type = select(_ENTITY.id).where(_ENTITY.entity_type == entity_type)
    if len(connection.execute(of_type.limit(_FEW + 1)).all()) <= _FEW:
        at_ms = _VERSION.updated_at_ms + 0  # not by the index of times
        return [
            at_ms.between(selection.start_ms, selection.end_ms),
            _VERSION.entity_id.in_(select(_ENTITY.id).where(*conditions)),
        ]
    entity_exists = select(_ENTITY.id).where(_ENTITY.id == _VERSION.entity_id, *conditions).exists()
    return [_VERSION.updated_at_ms.between(selection.start_ms, selection.end_ms), entity_exists]


def _continue_in_order(query: Select[Any], selection: VersionsAsked) -> Select[Any]:
    """Return the query with its order, continued after a cursor."""
    if selection.before is not None:
        return query.where(tuple_(*_PLACE) > tuple_(*_place_of(selection.before))).order_by(*_PLACE)
    if selection.after is not None:
        query = query.where(tuple_(*_PLACE) < tuple_(*_place_of(selection.after)))
    return query.order_by(*(column.desc() for column in _PLACE))


def _cursor(row: Any) -> str:  # Any: a row with a place
    return place_text(row.updated_at_ms, f"{row.entity_id}|{row.version_tenths}")


def _place_of(cursor: str) -> tuple[int, str, int]:
    at_ms, name = place_of(cursor)
    entity_id, _, tenths = name.partition("|")
    if not (tenths.isascii() and tenths.isdigit() and len(tenths) < 9 and len(entity_id) <= _LONGEST_ID):
        raise not_a_cursor(cursor)
    return at_ms, entity_id, int(tenths)
