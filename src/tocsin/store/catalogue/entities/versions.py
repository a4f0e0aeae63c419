"""Versions of one type's entities in a time window, newest first, in pages.

Versions are found by their time, or, for a type with few entities, by entity, so that neither many versions of other
types nor many of this one make a page expensive. Next: ``store/catalogue/entities/history.py`` for one entity's
versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select, tuple_

from tocsin.access.nodes import Condition
from tocsin.logic import ALWAYS
from tocsin.store.catalogue.access.visibility import visible_of
from tocsin.store.catalogue.entities.counts import Totals
from tocsin.store.database import tables
from tocsin.store.database.cursors import DocumentPage, not_a_cursor, place_of, place_text
from tocsin.store.database.documents import from_text
from tocsin.store.database.page_bytes import cut_page, portion
from tocsin.store.database.snapshots import VERSION_TEXT, Texts

_VERSION = tables.entity_version.c
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


def versions_in(
    connection: Connection, entity_type: str, selection: VersionsAsked, *, totals: Totals, most_bytes: int | None = None
) -> DocumentPage:
    """Return a page of the versions of the entities of this type that there are, soft-deleted ones included."""
    conditions = _conditions(connection, entity_type, selection)
    counted = select(func.count()).select_from(tables.entity_version).where(*conditions)
    question = (entity_type, selection.start_ms, selection.end_ms, selection.visible)
    total = totals.of(question, lambda: int(connection.execute(counted).scalar_one()))
    query = select(*_PLACE, *VERSION_TEXT).where(*conditions)
    page = portion(connection, _order(query, selection).limit(selection.limit + 1), lambda row: row, most_bytes)
    versions, has_next, has_previous = cut_page(page, selection.limit, after=selection.after, before=selection.before)
    texts = Texts(connection)
    return DocumentPage(
        [from_text(texts.of(row)) for row in versions],
        total,
        after=_cursor(versions[-1]) if has_next else None,
        before=_cursor(versions[0]) if has_previous else None,
    )


def _conditions(connection: Connection, entity_type: str, selection: VersionsAsked) -> list[Any]:  # Any: SQLAlchemy's
    conditions = [_ENTITY.entity_type == entity_type]
    if selection.visible is not ALWAYS:
        conditions.append(visible_of(connection, entity_type, selection.visible))
    of_type = select(_ENTITY.id).where(_ENTITY.entity_type == entity_type)
    if len(connection.execute(of_type.limit(_FEW + 1)).all()) <= _FEW:
        at_ms = _VERSION.updated_at_ms + 0  # not by the index of times
        return [
            at_ms.between(selection.start_ms, selection.end_ms),
            _VERSION.entity_id.in_(select(_ENTITY.id).where(*conditions)),
        ]
    entity_exists = select(_ENTITY.id).where(_ENTITY.id == _VERSION.entity_id, *conditions).exists()
    return [_VERSION.updated_at_ms.between(selection.start_ms, selection.end_ms), entity_exists]


def _order(query: Select[Any], selection: VersionsAsked) -> Select[Any]:
    """Return the query with its order, continued after a cursor."""
    if selection.before is not None:
        return query.where(tuple_(*_PLACE) > tuple_(*_place(selection.before))).order_by(*_PLACE)
    if selection.after is not None:
        query = query.where(tuple_(*_PLACE) < tuple_(*_place(selection.after)))
    return query.order_by(*(column.desc() for column in _PLACE))


def _cursor(row: Any) -> str:  # Any: a row with a place
    return place_text(row.updated_at_ms, f"{row.entity_id}|{row.version_tenths}")


def _place(cursor: str) -> tuple[int, str, int]:
    at_ms, name = place_of(cursor)
    entity_id, _, tenths = name.partition("|")
    if not (tenths.isascii() and tenths.isdigit() and len(tenths) < 9 and len(entity_id) <= _LONGEST_ID):
        raise not_a_cursor(cursor)
    return at_ms, entity_id, int(tenths)
