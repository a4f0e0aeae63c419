"""Who must still hear that an entity is gone? A hard delete removes its rows; these outlive it until that is told.

A hard delete keeps them, ``store/alerts/directory.py`` asks, and the pipeline's progress lets go.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, literal, select

from tocsin.model.change import EventType
from tocsin.model.notification import ReasonKind
from tocsin.store.catalogue.heritage import heritage_on
from tocsin.store.tables import change_event, entity, follow, lineage_edge, ownership, parting

DOWNSTREAM = "downstream"
_COLUMNS = [column.name for column in parting.columns]


def keep(connection: Connection, entity_id: str) -> None:
    """Keep owners, followers and what lies downstream of an entity that is about to be erased."""
    owners = select(
        ownership.c.entity_id, literal(ReasonKind.OWNER.value), ownership.c.owner_id, ownership.c.owner_type, literal(0)
    ).where(ownership.c.entity_id == entity_id)
    followers = select(
        follow.c.entity_id,
        literal(ReasonKind.FOLLOWER.value),
        follow.c.user_id,
        literal("user"),
        follow.c.followed_at_ms,
    ).where(follow.c.entity_id == entity_id)
    downstream = select(
        lineage_edge.c.from_id, literal(DOWNSTREAM), lineage_edge.c.to_id, lineage_edge.c.to_type, literal(0)
    ).where(lineage_edge.c.from_id == entity_id)
    for rows in (owners, followers, downstream):
        connection.execute(insert(parting).from_select(_COLUMNS, rows))
    _keep_inherited_owners(connection, entity_id)


def _keep_inherited_owners(connection: Connection, entity_id: str) -> None:
    """Keep the owners of what lies above an entity that nobody owns by name."""
    if connection.execute(select(ownership.c.owner_id).where(ownership.c.entity_id == entity_id)).first():
        return
    place = connection.execute(select(entity.c.entity_type, entity.c.fqn).where(entity.c.id == entity_id)).one_or_none()
    entry = (place.entity_type, place.fqn) if place else ("", "")
    owners = heritage_on(connection, [entry]).get(entry, {}).get("owners", ()) if place else ()
    rows = [(entity_id, ReasonKind.OWNER.value, owner["id"], owner["type"], 0) for owner in owners]
    if rows:
        connection.execute(insert(parting), [dict(zip(_COLUMNS, row, strict=True)) for row in rows])


def let_go(connection: Connection, after: int, through: int) -> None:
    """Remove what was kept for deletions that are told: those with offsets above ``after``, up to ``through``."""
    told = select(change_event.c.entity_id).where(
        change_event.c.log_offset > after,
        change_event.c.log_offset <= through,
        change_event.c.event_type == EventType.ENTITY_DELETED.value,
    )
    connection.execute(delete(parting).where(parting.c.entity_id.in_(told)))
