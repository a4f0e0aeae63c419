"""Traces of entities whose events are removed: the last state of what is gone, and snapshots that nothing names.

Versions of what exists are never touched, nor those of a hard-deleted entity while the log has an event of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Connection, delete, exists, func, or_, select

from tocsin.chunks import chunks_of
from tocsin.model.change import EventType
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.engine import insert_into
from tocsin.store.database.keys import delete_by_key, is_one_of, present_keys, rows_by_key
from tocsin.store.database.retention_tables import deleted_entity
from tocsin.store.database.snapshots import EVENT_TEXT, Texts
from tocsin.store.database.tables import change_event, document_snapshot, entity, entity_version
from tocsin.store.upkeep.retention.protection import ExpiredEvent

_SNAPSHOT = document_snapshot.c
_DELETED = EventType.ENTITY_DELETED.value


def keep_deleted_states(connection: Connection, events: Sequence[ExpiredEvent]) -> None:
    """Note the last state of the entities whose deletion events are about to go.

    It says who may view what the past of others, and the lake, say of them, so it stays.
    """
    deletions = {one.log_offset: one for one in events if one.event_type == _DELETED}
    if not deletions:
        return
    query, texts = select(change_event.c.log_offset, *EVENT_TEXT), Texts(connection)
    statement = insert_into(connection, deleted_entity)
    for row in rows_by_key(connection, query, change_event.c.log_offset, deletions):
        event = deletions[row.log_offset]
        state = {
            "entity_type": event.entity_type,
            "deleted_at_ms": event.timestamp_ms,
            "document": to_text(from_text(texts.of(row)).get("entity") or {}),
        }
        upsert = statement.values(entity_id=event.entity_id, **state)
        connection.execute(upsert.on_conflict_do_update(index_elements=["entity_id"], set_=state))


def forget_entities(connection: Connection, entity_ids: Collection[str]) -> None:
    """Remove the versions of hard-deleted entities without events, and snapshots that nothing names."""
    existing = {row.id for row in rows_by_key(connection, select(entity.c.id), entity.c.id, entity_ids)}
    with_events = present_keys(connection, change_event.c.entity_id, set(entity_ids) - existing)
    forgotten = [one for one in entity_ids if one not in existing and one not in with_events]
    for column in (entity_version.c.entity_id, _SNAPSHOT.entity_id):
        delete_by_key(connection, column, forgotten)
    _remove_unnamed_snapshots(connection, existing | with_events)


def _remove_unnamed_snapshots(connection: Connection, entity_ids: Iterable[str]) -> None:
    """Remove all but the newest snapshot of an entity that neither a version nor an event is a difference to.

    The newest stays: a write that is under way may name it.
    """
    for chunk in chunks_of(sorted(entity_ids)):
        is_theirs = is_one_of(connection, _SNAPSHOT.entity_id, chunk)
        newest = select(func.max(_SNAPSHOT.id)).where(is_theirs).group_by(_SNAPSHOT.entity_id)
        is_named = or_(
            *(
                exists().where(table.c.entity_id == _SNAPSHOT.entity_id, table.c.snapshot_id == _SNAPSHOT.id)
                for table in (entity_version, change_event)
            )
        )
        older = select(_SNAPSHOT.id).where(is_theirs, _SNAPSHOT.id.not_in(newest), ~is_named)
        unnamed_ids = list(connection.execute(older).scalars())
        for ids in chunks_of(unnamed_ids):
            connection.execute(delete(document_snapshot).where(_SNAPSHOT.id.in_(ids)))
