"""Assets that a person follows, each with the time of the follow and of its last version.

Next: ``store/outbox/told_counts.py``.
"""

from __future__ import annotations

from sqlalchemy import Engine, literal, select, union_all

from tocsin.flow.resolve.directory import NO_END
from tocsin.model.entity import version_from_tenths
from tocsin.model.follow_review import AssetFollow
from tocsin.store.database.documents import REFERENCE, reference_of
from tocsin.store.database.engine import reading
from tocsin.store.database.follow_tables import column_follow
from tocsin.store.database.tables import change_event, entity, follow

_COLUMN = column_follow.c


class FollowedAssets:
    """What people follow, in one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, user_id: str) -> list[AssetFollow]:
        """Return what a person follows, deleted assets included, in no order; what it has told them is not read."""
        columns = (*REFERENCE, entity.c.updated_at_ms, entity.c.version_tenths, change_event.c.timestamp_ms)
        is_begin = change_event.c.log_offset == follow.c.since_offset
        query = select(*columns, literal(None)).join_from(follow, entity, entity.c.id == follow.c.entity_id)
        query = query.outerjoin(change_event, is_begin).where(follow.c.user_id == user_id)
        is_current = (_COLUMN.user_id == user_id) & (_COLUMN.until_offset == NO_END)
        of_columns = select(*columns, _COLUMN.column_path).join_from(
            column_follow, entity, entity.c.id == _COLUMN.entity_id
        )
        of_columns = of_columns.outerjoin(change_event, change_event.c.log_offset == _COLUMN.since_offset)
        with reading(self._engine) as connection:
            follow_rows = connection.execute(union_all(query, of_columns.where(is_current))).all()
        return [
            AssetFollow(reference_of(*reference), since_ms, changed_ms, version_from_tenths(tenths), column=column)
            for *reference, changed_ms, tenths, since_ms, column in follow_rows
        ]
