"""Records of a source in the store; implements ``sources/records.py``.

Next: ``store/database/source_tables.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import orjson
from sqlalchemy import Engine, delete, select

from tocsin.access.unmapped import UNMAPPED
from tocsin.model.labels import SOURCES
from tocsin.store.catalogue.people.identities import People
from tocsin.store.database.engine import fetch_values, insert_into, reading, writing
from tocsin.store.database.source_tables import source_entity, source_link, source_state
from tocsin.store.database.tables import change_event, entity, entity_tag

Row = dict[str, object]
_IS_SHOWN = entity.c.id.not_in(select(entity_tag.c.entity_id).where(entity_tag.c.tag_fqn == UNMAPPED))


def last_runs(engine: Engine) -> dict[str, Row]:
    """Return the report of the last run of each source, by its name."""
    with reading(engine) as connection:
        states = connection.execute(select(source_state).order_by(source_state.c.source)).all()
    return {state.source: orjson.loads(state.document).get("last_run") or {} for state in states}


class StoredSource:
    """What the store holds of one source, as plain rows."""

    def __init__(self, engine: Engine, source: str) -> None:
        self._engine, self._source = engine, source
        self._people = People(engine)

    def state(self) -> Row:
        """Return how far the source is; empty if it never ran."""
        query = select(source_state.c.document).where(source_state.c.source == self._source)
        texts = fetch_values(self._engine, query)
        return orjson.loads(texts[0]) if texts else {}

    def save_state(self, state: Row) -> None:
        """Keep how far the source is."""
        document = orjson.dumps(state).decode()
        with writing(self._engine) as connection:
            upsert = insert_into(connection, source_state).values(source=self._source, document=document)
            connection.execute(upsert.on_conflict_do_update(index_elements=["source"], set_={"document": document}))

    def rows(self) -> Iterator[Row]:
        """Yield the entities of the source."""
        columns = [column for column in source_entity.c if column.name != "source"]
        with reading(self._engine) as connection:
            result = connection.execute(select(*columns).where(source_entity.c.source == self._source)).all()
        yield from (dict(row._mapping) for row in result)

    def put_row(self, row: Row) -> None:
        """Keep an entity of the source in the place of what was kept of it."""
        with writing(self._engine) as connection:
            upsert = insert_into(connection, source_entity).values({"source": self._source, **row})
            connection.execute(upsert.on_conflict_do_update(index_elements=["source", "source_id"], set_=row))

    def forget(self, source_id: str) -> None:
        """Forget an entity of the source."""
        of_source = source_entity.c.source == self._source
        with writing(self._engine) as connection:
            connection.execute(delete(source_entity).where(of_source, source_entity.c.source_id == source_id))

    def labels(self) -> set[str]:
        """Return the FQNs of all live tags and glossary terms but those that are not mapped."""
        query = select(entity.c.fqn).where(entity.c.entity_type.in_(SOURCES), ~entity.c.deleted)
        return set(fetch_values(self._engine, query.where(_IS_SHOWN)))

    def list_shown(self, entity_types: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return type, id and FQN of what the source brought of these types and does not carry the mark."""
        is_brought = (source_entity.c.source == self._source) & source_entity.c.is_brought
        query = select(entity.c.entity_type, entity.c.id, entity.c.fqn).join(
            source_entity, source_entity.c.entity_id == entity.c.id
        )
        query = query.where(is_brought, entity.c.entity_type.in_(list(entity_types)), _IS_SHOWN)
        with reading(self._engine) as connection:
            return [(row[0], row[1], row[2]) for row in connection.execute(query)]

    def list_live(self, entity_types: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return id in the source, and id and FQN here, of what is live and not marked of these types, by the first."""
        query = select(source_entity.c.source_id, entity.c.id, entity.c.fqn).join(
            source_entity, source_entity.c.entity_id == entity.c.id
        )
        is_of_source = (source_entity.c.source == self._source) & ~entity.c.deleted
        query = query.where(is_of_source, entity.c.entity_type.in_(list(entity_types))).where(_IS_SHOWN)
        with reading(self._engine) as connection:
            return [(row[0], row[1], row[2]) for row in connection.execute(query.order_by(source_entity.c.source_id))]

    def links(self) -> Iterator[Row]:
        """Yield the edges and followers of the source."""
        columns = [column for column in source_link.c if column.name != "source"]
        with reading(self._engine) as connection:
            result = connection.execute(select(*columns).where(source_link.c.source == self._source)).all()
        yield from (dict(row._mapping) for row in result)

    def person_at(self, email: str) -> str | None:
        """Return the id of the live person with this address."""
        person = self._people.by_email(email)
        return None if person is None or person.deleted or person.is_bot else person.id

    def holds_entity(self, entity_id: str, *, written_by: str | None = None) -> bool:
        """Return whether an entity with this id is here; with ``written_by``, whether that actor wrote it last."""
        query = select(entity.c.id).where(entity.c.id == entity_id)
        by_actor = query if written_by is None else query.where(entity.c.updated_by_id == written_by)
        return bool(fetch_values(self._engine, by_actor))

    def is_recorded(self, entity_id: str) -> bool:
        """Return whether an entity stands for one of this source or of another."""
        query = select(source_entity.c.entity_id).where(source_entity.c.entity_id == entity_id)
        return bool(fetch_values(self._engine, query))

    def holds_event(self, event_id: str) -> bool:
        """Return whether the log holds an event."""
        return bool(fetch_values(self._engine, select(change_event.c.log_offset).where(change_event.c.id == event_id)))
