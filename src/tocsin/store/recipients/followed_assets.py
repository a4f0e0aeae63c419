"""Assets that a person follows, each with the time of the follow and of its last version.

Next: ``store/outbox/told_counts.py``.
"""

from __future__ import annotations

from sqlalchemy import Engine, select

from tocsin.model.entity import version_from_tenths
from tocsin.model.follow_review import AssetFollow
from tocsin.store.database.documents import REFERENCE, reference_of
from tocsin.store.database.engine import fetch_rows
from tocsin.store.database.tables import change_event, entity, follow


class FollowedAssets:
    """What people follow, in one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, user_id: str) -> list[AssetFollow]:
        """Return what a person follows, deleted assets included, in no order; what it has told them is not read."""
        columns = (*REFERENCE, entity.c.updated_at_ms, entity.c.version_tenths, change_event.c.timestamp_ms)
        begun = change_event.c.log_offset == follow.c.since_offset
        query = select(*columns).select_from(follow.join(entity, entity.c.id == follow.c.entity_id))
        query = query.outerjoin(change_event, begun).where(follow.c.user_id == user_id)
        return [
            AssetFollow(reference_of(*reference), since_ms, changed_ms, version_from_tenths(tenths))
            for *reference, changed_ms, tenths, since_ms in fetch_rows(self._engine, query)
        ]
