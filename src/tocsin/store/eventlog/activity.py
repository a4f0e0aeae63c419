"""Activity feed of a person: recent events of followed entities, newest first.

Next: ``server/routes/people/users.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Engine, select

from tocsin.model.change import LoggedEvent
from tocsin.store.engine import reading
from tocsin.store.eventlog.log import LOGGED, logged_of
from tocsin.store.page_bytes import BoundedList, portion
from tocsin.store.snapshots import Texts
from tocsin.store.tables import change_event, follow

# What capture derives from an event whose only change is who follows; the text is as store/documents.py writes it.
_FOLLOWED_ONLY = '%"fieldChanged":["followers"]%'


class Activity:
    """What happens to followed assets, in one store."""

    def __init__(self, engine: Engine, *, page_bytes: int | None = None) -> None:
        self._engine, self._page_bytes = engine, page_bytes

    def followed_by(
        self,
        user_id: str,
        *,
        since_ms: int = 0,
        event_types: Collection[str] = (),
        below: int | None = None,
        limit: int = 20,
    ) -> BoundedList[LoggedEvent]:
        """Return what happened since ``since_ms`` to the assets a user follows, newest first.

        That others follow them too is left out. ``event_types`` narrows to these (none: all); ``below`` is the
        log offset the last page ended with.
        """
        query = (
            select(*LOGGED)
            .join(follow, follow.c.entity_id == change_event.c.entity_id)
            .where(follow.c.user_id == user_id, change_event.c.timestamp_ms >= since_ms)
            .where(change_event.c.derived.not_like(_FOLLOWED_ONLY))
        )
        if event_types:
            query = query.where(change_event.c.event_type.in_(sorted(event_types)))
        if below is not None:
            query = query.where(change_event.c.log_offset < below)
        with reading(self._engine) as connection:
            placed = query.order_by(change_event.c.log_offset.desc()).limit(limit)
            texts = Texts(connection)
            return portion(connection, placed, lambda row: logged_of(row, texts), self._page_bytes)
