"""Activity feed of a person: recent events of followed assets, of their tests and of their threads, newest first.

Next: ``server/routes/people/users.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import CompoundSelect, Engine, Select, select, union_all

from tocsin.model.change import FOR_ALERTS, LoggedEvent
from tocsin.store.database.engine import reading
from tocsin.store.database.feed_tables import thread
from tocsin.store.database.page_bytes import BoundedList, portion
from tocsin.store.database.snapshots import Texts
from tocsin.store.database.tables import change_event, entity, follow
from tocsin.store.eventlog.log import LOGGED, logged_event_of

# What capture derives from an event whose only change is who follows, as store/database/documents.py writes it.
_FOLLOWED_ONLY = '%"fieldChanged":["followers"]%'


class Activity:
    """What happens to followed assets, in one store."""

    def __init__(self, engine: Engine, *, page_bytes: int | None = None) -> None:
        self._engine, self._page_bytes = engine, page_bytes

    def events_for_follower(
        self,
        user_id: str,
        *,
        since_ms: int = 0,
        event_types: Collection[str] = (),
        below: int | None = None,
        limit: int = 20,
    ) -> BoundedList[LoggedEvent]:
        """Return what happened since ``since_ms`` to the assets a user follows, newest first.

        Tests of a followed table, and threads about a followed asset, count as the asset does. That others follow
        the assets too is left out. ``event_types`` narrows to these (none: all but ``FOR_ALERTS``); ``below`` is the
        log offset the last page ended with.
        """
        query = (
            select(*LOGGED)
            .where(change_event.c.entity_id.in_(_ids_followed(user_id)), change_event.c.timestamp_ms >= since_ms)
            .where(change_event.c.derived.not_like(_FOLLOWED_ONLY))
        )
        event_type = change_event.c.event_type
        query = query.where(event_type.in_(sorted(event_types)) if event_types else event_type.not_in(FOR_ALERTS))
        if below is not None:
            query = query.where(change_event.c.log_offset < below)
        with reading(self._engine) as connection:
            ordered_query = query.order_by(change_event.c.log_offset.desc()).limit(limit)
            texts = Texts(connection)
            return portion(connection, ordered_query, lambda row: logged_event_of(row, texts), self._page_bytes)


def _ids_followed(user_id: str) -> CompoundSelect[tuple[str]]:
    """Return the query for the ids of the assets that a user follows, of their tests and of their threads."""
    of_user, table, test = follow.c.user_id == user_id, entity.alias("followed_table").c, entity.alias("test").c
    tests: Select[tuple[str]] = (
        select(test.id)
        .select_from(follow.join(table.id.table, table.id == follow.c.entity_id))
        .join(test.id.table, (test.fqn > table.fqn + ".") & (test.fqn < table.fqn + "/"))  # "/" comes after "."
        .where(of_user, table.entity_type == "table", test.entity_type == "testCase")
    )
    threads = select(thread.c.id).join(follow, follow.c.entity_id == thread.c.about_id).where(of_user)
    return union_all(select(follow.c.entity_id).where(of_user), tests, threads)
