"""Rows of the edges and followers that sources brought, on the connection of a write transaction.

A row commits with the edge or the follower itself. Next: ``sources/openmetadata/links.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, and_, delete, select

from tocsin.model.source_link import SourceLink
from tocsin.store.database.engine import insert_into
from tocsin.store.database.keys import delete_by_key
from tocsin.store.database.source_tables import source_link
from tocsin.store.database.tables import change_event, follow

_LINK = source_link.c
_KEY = ["source", "kind", "from_id", "to_id"]


class SqlSourceLinks:
    """The rows, on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, source: str, link: SourceLink) -> None:
        """Remember a link in the place of what was remembered of it."""
        row = {"source": source, "kind": link.kind.value, "from_id": link.from_id, "to_id": link.to_id}
        upsert = insert_into(self._connection, source_link).values(row | {"digest": link.digest})
        self._connection.execute(upsert.on_conflict_do_update(index_elements=_KEY, set_={"digest": link.digest}))

    def forget(self, source: str, link: SourceLink) -> None:
        """Forget a link."""
        ends = and_(_LINK.from_id == link.from_id, _LINK.to_id == link.to_id)
        is_it = and_(_LINK.source == source, _LINK.kind == link.kind.value, ends)
        self._connection.execute(delete(source_link).where(is_it))

    def follow_event_id(self, entity_id: str, user_id: str) -> str | None:
        """Return the id of the event by which a user follows an entity; None if they do not, or it is not kept."""
        is_it = and_(follow.c.entity_id == entity_id, follow.c.user_id == user_id)
        query = select(change_event.c.id).join(follow, follow.c.since_offset == change_event.c.log_offset)
        return self._connection.execute(query.where(is_it)).scalar_one_or_none()

    def is_following(self, entity_id: str, user_id: str) -> bool:
        """Return whether a user follows an entity."""
        is_it = and_(follow.c.entity_id == entity_id, follow.c.user_id == user_id)
        return self._connection.execute(select(follow.c.user_id).where(is_it)).first() is not None


def erase(connection: Connection, entity_ids: Collection[str]) -> None:
    """Remove every row that names entities or people who are about to go."""
    for column in (_LINK.from_id, _LINK.to_id):
        delete_by_key(connection, column, entity_ids)
