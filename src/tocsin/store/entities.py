"""What does the catalogue hold? Every read of entities, versions and followers; and the door to its writes.

Next: ``store/listing.py`` for pages, ``store/catalogue.py`` for writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from tocsin.errors import NotFound
from tocsin.flow.capture.ports import Collision, Key, Stored
from tocsin.model.entity import Document
from tocsin.model.people import Person
from tocsin.store import projections, tables
from tocsin.store.catalogue import REFERENCE, STORED, SqlTransaction, by_value, lookups
from tocsin.store.documents import from_text, reference_of, stored_of, tenths_of
from tocsin.store.engine import reading, writing
from tocsin.store.listing import Listing, Page, page_of

Include = Literal["non-deleted", "deleted", "all"]

_ENTITY = tables.entity.c
_RACES = frozenset({"40001", "40P01"})  # PostgreSQL: serialization failure, deadlock


class SqlCatalogue:
    """The catalogue in the store; one per engine, safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        """Open a write transaction: committed at the end, rolled back on an error.

        Raises
        ------
        Collision : somebody else wrote the same thing at the same moment; try again.
        """
        try:
            with writing(self._engine) as connection:
                yield SqlTransaction(connection)
        except DBAPIError as error:
            if isinstance(error, IntegrityError) or getattr(error.orig, "sqlstate", None) in _RACES:
                raise Collision() from error
            raise

    def get(self, entity_type: str, key: Key, include: Include = "non-deleted") -> Document:
        """Return an entity's document; ``NotFound`` if there is none, or none of that deletedness."""
        with reading(self._engine) as connection:
            found = _find(connection, entity_type, key)
        if found is None or not _is_included(found.deleted, include):
            raise NotFound(f"{entity_type} instance for {key} not found")
        return found.document

    def list_entities(self, entity_type: str, listing: Listing) -> Page:
        """Return one page of entities of a type, in FQN order."""
        with reading(self._engine) as connection:
            return page_of(connection, entity_type, listing)

    def versions(self, entity_id: str) -> list[Document]:
        """Return every version an entity ever had, newest first; of one that is gone, too."""
        version = tables.entity_version.c
        query = select(version.document).where(version.entity_id == entity_id).order_by(version.version_tenths.desc())
        with reading(self._engine) as connection:
            found = [from_text(text) for text in connection.execute(query).scalars()]
        if not found:
            raise NotFound(f"no entity with id {entity_id}")
        return found

    def version(self, entity_id: str, number: str) -> Document:
        """Return one version of an entity; ``number`` is written ``0.3``."""
        version = tables.entity_version.c
        query = select(version.document).where(
            version.entity_id == entity_id, version.version_tenths == tenths_of(number)
        )
        with reading(self._engine) as connection:
            text = connection.execute(query).scalar_one_or_none()
        if text is None:
            raise NotFound(f"entity {entity_id} has no version {number}")
        return from_text(text)

    def reference(self, entity_type: str, key: Key) -> Document | None:
        """Return the full reference to an entity, deleted or not; None if there is none."""
        with reading(self._engine) as connection:
            row = _row(connection, select(*REFERENCE), entity_type, key)
        return None if row is None else reference_of(*row)

    def followers(self, entity_id: str) -> list[Document]:
        """Return references to the users who follow an entity, by name."""
        follow = tables.follow.c
        return self._references(select(follow.user_id).where(follow.entity_id == entity_id))

    def follows(self, user_id: str) -> list[Document]:
        """Return references to the entities a user follows, by FQN."""
        follow = tables.follow.c
        return self._references(select(follow.entity_id).where(follow.user_id == user_id))

    def owns(self, owner_id: str) -> list[Document]:
        """Return references to the entities a user or a team owns, by FQN."""
        ownership = tables.ownership.c
        return self._references(select(ownership.entity_id).where(ownership.owner_id == owner_id))

    def person(self, user_id: str) -> Person | None:
        """Return somebody by their id, deleted or not; None if there is nobody."""
        who = tables.person.c
        query = select(who.user_id, who.name, who.display_name, who.email, who.is_admin, who.is_bot, who.deleted)
        with reading(self._engine) as connection:
            row = connection.execute(query.where(who.user_id == user_id)).one_or_none()
        return None if row is None else Person(*row)

    def reports(self, entity_type: Literal["testCase", "pipeline"], entity_id: str, *, limit: int) -> list[Document]:
        """Return the latest test results or pipeline runs, newest first."""
        table, key = (
            (tables.test_case_result, "test_case_id")
            if entity_type == "testCase"
            else (tables.pipeline_run, "pipeline_id")
        )
        query = select(table.c.document).where(table.c[key] == entity_id).order_by(table.c.timestamp_ms.desc())
        with reading(self._engine) as connection:
            return [from_text(text) for text in connection.execute(query.limit(limit)).scalars()]

    def _references(self, ids: Any) -> list[Document]:  # Any: SQLAlchemy's select of one column
        query = select(*REFERENCE).where(_ENTITY.id.in_(ids)).order_by(_ENTITY.fqn)
        with reading(self._engine) as connection:
            return [reference_of(*row) for row in connection.execute(query)]


def _find(connection: Connection, entity_type: str, key: Key) -> Stored | None:
    row = _row(connection, select(*STORED), entity_type, key)
    if row is None:
        return None
    found = stored_of(*row)
    projections.add_memberships(connection, entity_type, [found.document])
    return found


def _row(connection: Connection, query: Any, entity_type: str, key: Key) -> Any:  # Any: SQLAlchemy's query and row
    column, values = lookups(entity_type, key)
    tries = (
        connection.execute(by_value(query, column), {"entity_type": entity_type, "value": value}).one_or_none()
        for value in values
    )
    return next((row for row in tries if row), None)


def _is_included(deleted: bool, include: Include) -> bool:
    return include == "all" or deleted == (include == "deleted")
