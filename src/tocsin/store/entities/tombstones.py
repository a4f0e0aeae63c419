"""Tombstones of hard-deleted entities: their owners, followers and downstream assets, kept until notified.

The write transaction reads the relations before it deletes them and stores them with the event's offset;
``store/alerts/directory.py`` reads them; ``store/outbox/notifications.py`` removes those that every reader has passed,
with the participants of the threads about the entity (``store/feed/rows.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, insert, literal, select

from tocsin.model.notification import ReasonKind
from tocsin.store.chunks import in_lots
from tocsin.store.entities.inheritance import heritage_on
from tocsin.store.feed.tables import tombstone_part
from tocsin.store.tables import entity, follow, lineage_edge, ownership, tombstone, tombstone_relation

DOWNSTREAM = "downstream"
Relation = Mapping[str, object]
"""Columns of ``tombstone_relation`` without the offset."""


def relations_of(connection: Connection, entity_ids: Collection[str]) -> dict[str, list[Relation]]:
    """Return the owners and followers of each of these entities, and its downstream assets."""
    found: dict[str, list[Relation]] = {one: [] for one in entity_ids}
    for some in in_lots(sorted(entity_ids)):
        for row in _standing(connection, some):
            found[row.entity_id].append(dict(row._mapping))
    owned = {one for one, relations in found.items() if any(r["relation"] == ReasonKind.OWNER for r in relations)}
    for one, relation in _inherited_owners(connection, sorted(found.keys() - owned)):
        found[one].append(relation)
    return found


def _standing(connection: Connection, ids: Sequence[str]) -> Iterator[Row[Any]]:  # Any: a column's value
    owners = _relations(ownership.c.entity_id, ReasonKind.OWNER, ownership.c.owner_id, ownership.c.owner_type)
    followers = _relations(follow.c.entity_id, ReasonKind.FOLLOWER, follow.c.user_id, literal("user"))
    downstream = _relations(lineage_edge.c.from_id, DOWNSTREAM, lineage_edge.c.to_id, lineage_edge.c.to_type)
    yield from connection.execute(
        owners.add_columns(literal(0).label("since_offset")).where(ownership.c.entity_id.in_(ids))
    )
    since = follow.c.since_offset
    yield from connection.execute(followers.add_columns(since).where(follow.c.entity_id.in_(ids)))
    yield from connection.execute(
        downstream.add_columns(literal(0).label("since_offset")).where(lineage_edge.c.from_id.in_(ids))
    )


def _relations(of: Any, relation: str, other_id: Any, other_type: Any) -> Select[Any]:  # Any: SQLAlchemy's columns
    names = ("entity_id", "relation", "other_id", "other_type")
    columns = (of, literal(str(relation)), other_id, other_type)
    return select(*(column.label(name) for column, name in zip(columns, names, strict=True)))


def _inherited_owners(connection: Connection, entity_ids: Sequence[str]) -> Iterator[tuple[str, Relation]]:
    """Yield the inherited owners of entities without their own."""
    places: dict[str, tuple[str, str]] = {}
    for some in in_lots(entity_ids):
        query = select(entity.c.id, entity.c.entity_type, entity.c.fqn).where(entity.c.id.in_(some))
        places |= {row.id: (row.entity_type, row.fqn) for row in connection.execute(query)}
    inherited = heritage_on(connection, list(places.values()))
    for one, place in places.items():
        for owner in inherited.get(place, {}).get("owners", ()):
            relation = {"entity_id": one, "relation": ReasonKind.OWNER.value, "since_offset": 0}
            yield one, relation | {"other_id": owner["id"], "other_type": owner["type"]}


def keep(connection: Connection, log_offset: int, entity_id: str, relations: Sequence[Relation]) -> None:
    """Store the tombstone of an entity whose deletion has that offset in the log."""
    stone = {"log_offset": log_offset, "entity_id": entity_id, "relation_count": len(relations)}
    connection.execute(insert(tombstone), stone)
    if relations:
        connection.execute(insert(tombstone_relation), [{"log_offset": log_offset, **one} for one in relations])


def let_go(connection: Connection, through: int) -> None:
    """Drop the relations of deletions up to an offset; that they were, and how many, stays for the audit."""
    for table in (tombstone_relation, tombstone_part):
        connection.execute(delete(table).where(table.c.log_offset <= through))


def forget(connection: Connection, through: int) -> None:
    """Delete the tombstones up to an offset whose relations are dropped: the audit does not need them any more."""
    needed = select(tombstone_relation.c.log_offset)
    connection.execute(
        delete(tombstone).where(tombstone.c.log_offset <= through, tombstone.c.log_offset.not_in(needed))
    )


def missing(connection: Connection, offsets: Collection[int]) -> dict[int, int]:
    """Return, of the deletions at these offsets that have lost some of their relations, how many each has lost."""
    if not offsets:
        return {}
    kept: dict[int, int] = defaultdict(int)
    one = tombstone_relation.c.log_offset
    counted = select(one, func.count()).where(one.between(min(offsets), max(offsets))).group_by(one)
    kept.update((int(offset), int(count)) for offset, count in connection.execute(counted))
    stone = tombstone.c.log_offset
    expected = select(stone, tombstone.c.relation_count).where(stone.between(min(offsets), max(offsets)))
    lost = {int(offset): int(count) - kept[int(offset)] for offset, count in connection.execute(expected)}
    return {offset: count for offset, count in lost.items() if count > 0}
