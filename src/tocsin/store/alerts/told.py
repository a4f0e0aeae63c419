"""What are events about, and who made the alerts that tell of them? Asked before anybody is told.

An event of a thread is about the asset that the thread is about. Next: ``flow/resolve/visibility.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Engine, select

from tocsin.model.entity import Document
from tocsin.model.thread import THREAD
from tocsin.store.documents import from_text
from tocsin.store.engine import reading
from tocsin.store.lots import in_lots
from tocsin.store.tables import change_event, entity, entity_version, person


class SqlEvents:
    """The events and alerts of one store, as far as visibility asks about them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def subjects(self, offsets: Collection[int]) -> dict[int, tuple[str, Document]]:
        """Return the type and document of the entity that each of these events is about."""
        found: dict[int, tuple[str, Document]] = {}
        with reading(self._engine) as connection:
            event = change_event.c
            for some in in_lots(sorted(offsets)):
                query = select(event.log_offset, event.entity_type, event.document).where(event.log_offset.in_(some))
                for offset, entity_type, text in connection.execute(query):
                    found[offset] = (entity_type, from_text(text).get("entity") or {})
        return found | self._assets({offset: one for offset, (kind, one) in found.items() if kind == THREAD})

    def makers(self, subscription_ids: Collection[str]) -> dict[str, str | None]:
        """Return who made each of these alerts, by id; None for those that Tocsin made itself."""
        version, made = entity_version.c, dict[str, str | None]()
        with reading(self._engine) as connection:
            for some in in_lots(sorted(subscription_ids)):
                query = select(version.entity_id, version.document).where(
                    version.entity_id.in_(some), version.version_tenths == 1
                )
                names = {one: str(from_text(text)["updatedBy"]) for one, text in connection.execute(query)}
                people = select(person.c.name, person.c.user_id).where(person.c.name.in_(set(names.values())))
                ids = {row.name: row.user_id for row in connection.execute(people)}
                made |= {one: ids.get(name) for one, name in names.items()}
        return made

    def _assets(self, threads: dict[int, Document]) -> dict[int, tuple[str, Document]]:
        """Return what the threads are about; of an asset that is gone, its reference says what there is to say."""
        about = {offset: thread.get("entityRef") or {} for offset, thread in threads.items()}
        ids = {str(reference.get("id")) for reference in about.values()}
        documents: dict[str, Document] = {}
        with reading(self._engine) as connection:
            for some in in_lots(sorted(ids)):
                query = select(entity.c.id, entity.c.document).where(entity.c.id.in_(some))
                documents |= {one: from_text(text) for one, text in connection.execute(query)}
        return {
            offset: (str(reference.get("type")), documents.get(str(reference.get("id")), reference))
            for offset, reference in about.items()
        }
