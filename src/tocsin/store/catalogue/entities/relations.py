"""Inverse relations of entities, for a page at once, from the projections of documents.

Next: ``model/relations.py``, which defines them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, distinct, func, literal, or_, select, union_all

from tocsin.chunks import chunks_of
from tocsin.model.entity import Document
from tocsin.model.relations import Relation
from tocsin.store.catalogue.access.visibility import Scopes, Sql, in_scopes
from tocsin.store.catalogue.entities.write import lies_under
from tocsin.store.catalogue.people import teams
from tocsin.store.database import tables
from tocsin.store.database.documents import REFERENCE, references_by_key
from tocsin.store.database.entity_tables import entity_reference

_ENTITY = tables.entity.c
_Select = Any  # Any: SQLAlchemy's select of whatever columns


def related_entities(
    connection: Connection, relation: Relation, documents: Sequence[Document], scopes: Scopes
) -> dict[str, list[Document] | int]:
    """Return the related entities of each entity, or their number; entities without any are left out.

    Counts include what ``scopes`` let the requester see; lists are filtered by the caller.
    """
    if relation.in_teams:
        return _in_teams(connection, relation, [document["id"] for document in documents])
    if relation.deep:
        return _deep(connection, relation, documents, scopes)
    by_entity: dict[str, list[Document] | int] = {}
    for chunk in _chunks(relation, [document["id"] for document in documents]):
        pairs, key = _pairs(relation, chunk)
        if relation.counted:
            visible = in_scopes(scopes)
            count_query = pairs.where(visible).with_only_columns(key, func.count()).group_by(key)
            by_entity |= {entity_id: int(number) for entity_id, number in connection.execute(count_query)}
            continue
        query = pairs.with_only_columns(key, *REFERENCE).order_by(_ENTITY.fqn).limit(relation.at_most)
        by_entity |= references_by_key(connection.execute(query))
    return by_entity


def _chunks(relation: Relation, ids: Sequence[str]) -> Iterable[Sequence[str]]:
    """Return the ids in chunks for one statement each; by one where each has its own limit."""
    return chunks_of(ids) if relation.at_most is None else [[one] for one in ids]


def _in_teams(connection: Connection, relation: Relation, ids: Sequence[str]) -> dict[str, list[Document] | int]:
    if relation.field == "defaultRoles":
        return dict(teams.inherited_roles(connection, ids))
    if relation.field == "teams":
        return dict(teams.user_counts(connection, ids))
    below = teams.children(connection, ids)
    return {one: len(many) for one, many in below.items()} if relation.counted else dict(below)


def _pairs(relation: Relation, ids: Sequence[str]) -> tuple[_Select, Any]:
    """Return the query for all related entities, and the column of the entity they are related to."""
    everybody = select(_ENTITY.id).where(_ENTITY.deleted.is_(False))
    if relation.types:
        everybody = everybody.where(_ENTITY.entity_type.in_(relation.types))
    if relation.field is None:
        return everybody.where(_ENTITY.parent_id.in_(ids)), _ENTITY.parent_id
    if relation.field == "owners":
        owner = tables.ownership.c
        return everybody.where(owner.entity_id == _ENTITY.id, owner.owner_id.in_(ids)), owner.owner_id
    refers = entity_reference.c
    naming = everybody.where(refers.entity_id == _ENTITY.id, refers.field == relation.field, refers.target_id.in_(ids))
    return naming, refers.target_id


def _deep(
    connection: Connection, relation: Relation, documents: Sequence[Document], scopes: Scopes
) -> dict[str, list[Document] | int]:
    visible = in_scopes(scopes) if scopes else None
    counts = [_count(relation, document, visible) for document in documents]
    return {one: int(number) for one, number in connection.execute(union_all(*counts))} if counts else {}


def _count(relation: Relation, document: Document, visible: Sql | None) -> _Select:
    """Return the query for the number of related entities: of all, where ``visible`` is None."""
    fqn = document["fullyQualifiedName"]
    if relation.field == "tags":
        tag = tables.entity_tag.alias("uses").c  # a condition on tags would take the table for its own
        below = or_(tag.tag_fqn == fqn, (tag.tag_fqn > f"{fqn}.") & (tag.tag_fqn < f"{fqn}/"))
        number = select(func.count(distinct(tag.entity_id))).where(below)
        if visible is not None:
            number = number.join(tables.entity, _ENTITY.id == tag.entity_id).where(visible)
    else:
        live = _ENTITY.deleted.is_(False)
        number = select(func.count()).where(_ENTITY.entity_type.in_(relation.types), live, lies_under(fqn))
        number = number if visible is None else number.where(visible)
    return select(literal(document["id"]), number.scalar_subquery())
