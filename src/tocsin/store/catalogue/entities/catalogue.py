"""Catalogue in SQL: every read of entities, versions and followers, and the entry point to its writes.

Next: ``store/catalogue/entities/listing.py`` for pages, ``store/catalogue/entities/write.py`` for writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, Literal

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from tocsin.access.nodes import Condition
from tocsin.catalogue.governance.labels import TYPES, Name
from tocsin.errors import NotFound
from tocsin.flow.capture.ports import Collision, MustWriteError
from tocsin.model.entity import Document, version_from_tenths
from tocsin.model.inheritance import Entry, Heritage
from tocsin.model.relations import Relation
from tocsin.model.stored import Key, not_found
from tocsin.store.catalogue.access import rules_revision
from tocsin.store.catalogue.access.revision import PeopleRevision
from tocsin.store.catalogue.access.visibility import Scopes, visible
from tocsin.store.catalogue.entities.batch import Rehearsal, SqlBatch
from tocsin.store.catalogue.entities.counts import Totals
from tocsin.store.catalogue.entities.listing import Listing, page_of
from tocsin.store.catalogue.entities.relations import related_entities
from tocsin.store.catalogue.entities.write import SqlTransaction, by_value, lies_under, row_of, title_of
from tocsin.store.catalogue.people import teams
from tocsin.store.catalogue.relations import projections
from tocsin.store.catalogue.relations.inheritance import heritage_on
from tocsin.store.database import tables
from tocsin.store.database.cursors import DocumentPage
from tocsin.store.database.documents import (
    REFERENCE,
    STORED,
    entity_of,
    from_text,
    reference_of,
    references_by_id,
    references_by_key,
    tenths_of,
)
from tocsin.store.database.engine import asking, fetch_rows, reading, writing
from tocsin.store.database.keys import is_one_of, rows_by_key
from tocsin.store.database.near_texts import near_texts
from tocsin.store.database.page_bytes import BoundedList, bounded_list
from tocsin.store.database.snapshots import VERSION_TEXT, Texts, newest_version
from tocsin.store.eventlog.log import deleted_ids_on

Include = Literal["non-deleted", "deleted", "all"]

_ENTITY = tables.entity.c
_DECIDING = rules_revision.DECIDING | {"bot"}
# Made once: making a statement costs more than running it.
_FOUND = {column: by_value(select(*STORED), column) for column in ("id", "fqn")}
_REFERRED = {column: by_value(select(*REFERENCE), column) for column in ("id", "fqn")}
_LIVE = select(*REFERENCE).where(_ENTITY.deleted.is_(False))
_NEIGHBOURS = 100
_RACES = frozenset({"40001", "40P01"})  # PostgreSQL: serialization failure, deadlock


class SqlCatalogue:
    """The catalogue in the store; one per engine, safe to share between threads.

    ``people`` is raised by every commit that changes people or their permissions.
    """

    def __init__(self, engine: Engine, people: PeopleRevision | None = None, *, page_bytes: int | None = None) -> None:
        self._engine, self._page_bytes = engine, page_bytes
        self._totals = Totals()
        self._people = people or PeopleRevision()

    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        """Open a write transaction: committed at the end, rolled back on an error.

        Raises
        ------
        Collision : another transaction wrote the same row at the same time; try again.
        """
        with self._transaction() as connection:
            transaction = SqlTransaction(connection)
            yield transaction
        self._note(transaction)

    @contextmanager
    def batch(self) -> Iterator[SqlBatch]:
        """Open a write transaction for many writes. Raises as ``transaction``."""
        with self._transaction() as connection:
            batch = SqlBatch(connection)
            yield batch
            batch.write_out()
        self._note(batch)

    @contextmanager
    def rehearsal(self) -> Iterator[SqlBatch]:
        """Open a transaction that is rolled back; on SQLite it takes no write lock. Raises as the port."""
        if self._engine.dialect.name != "sqlite":
            raise MustWriteError
        with reading(self._engine) as connection:
            yield Rehearsal(connection)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            with writing(self._engine) as connection:
                yield connection
        except DBAPIError as error:
            if isinstance(error, IntegrityError) or getattr(error.orig, "sqlstate", None) in _RACES:
                raise Collision() from error
            raise

    def _note(self, transaction: SqlTransaction) -> None:
        if transaction.touched & _DECIDING:
            self._people.note()

    def get(self, entity_type: str, key: Key, include: Include = "non-deleted") -> Document:
        """Return an entity's document.

        Raises
        ------
        NotFound : there is none, or none of that deletedness
        """
        with reading(self._engine) as connection:
            row = row_of(connection, _FOUND, entity_type, key)
            stored = None if row is None else entity_of(*row)
            if stored is None or include not in ("all", "deleted" if stored.is_deleted else "non-deleted"):
                raise not_found(entity_type, key)
            projections.add_memberships(connection, entity_type, [stored.document])
        return stored.document

    def list_entities(self, entity_type: str, listing: Listing) -> DocumentPage:
        """Return one page of entities of a type, in FQN order."""
        with reading(self._engine) as connection:
            return page_of(connection, entity_type, listing, totals=self._totals, most_bytes=self._page_bytes)

    def documents(self, entity_type: str, ids: Collection[str], visible_to: Condition) -> list[Document]:
        """Return those of these entities that are not deleted and that the condition holds for, by FQN."""
        with reading(self._engine) as connection:
            is_shown = (_ENTITY.entity_type == entity_type, _ENTITY.deleted.is_(False), visible(visible_to))
            query = select(*STORED).where(*is_shown).order_by(_ENTITY.fqn)
            documents = [entity_of(*row).document for row in rows_by_key(connection, query, _ENTITY.id, ids)]
            projections.add_memberships(connection, entity_type, documents)
        return documents

    def visible_ids(self, entity_type: str, ids: Collection[str], visible_to: Condition) -> set[str]:
        """Return the ids of those of these entities that the condition holds for."""
        with reading(self._engine) as connection:
            is_visible = visible(visible_to)
            query = select(_ENTITY.id).where(_ENTITY.entity_type == entity_type, is_visible)
            return {row.id for row in rows_by_key(connection, query, _ENTITY.id, ids)}

    def neighbours(self, entity_type: str, fqn: str) -> list[Document]:
        """Return references to the live entities of a type whose FQNs come next before and after one, in no order."""
        live = _LIVE.where(_ENTITY.entity_type == entity_type)
        before = live.where(_ENTITY.fqn < fqn).order_by(_ENTITY.fqn.desc())
        after = live.where(_ENTITY.fqn > fqn).order_by(_ENTITY.fqn)
        with reading(self._engine) as connection:
            return [
                reference_of(*row) for query in (before, after) for row in connection.execute(query.limit(_NEIGHBOURS))
            ]

    def near(self, entity_type: str, fqn: str) -> list[Document]:
        """Return references to the live entities of a type whose FQNs differ from one by a single edit, by FQN."""
        of_type = _ENTITY.entity_type == entity_type
        with reading(self._engine) as connection:
            fqns = near_texts(connection, _ENTITY.fqn, fqn, of_type)
            query = _LIVE.where(of_type, is_one_of(connection, _ENTITY.fqn, fqns)).order_by(_ENTITY.fqn)
            return [reference_of(*row) for row in connection.execute(query.limit(_NEIGHBOURS))] if fqns else []

    def entities_under(self, entity_type: str, fqn: str) -> list[Document]:
        """Return every live entity of a type whose FQN is below ``fqn``, in FQN order."""
        query = select(*STORED).where(_ENTITY.entity_type == entity_type, lies_under(fqn), ~_ENTITY.deleted)
        return [entity_of(*row).document for row in fetch_rows(self._engine, query.order_by(_ENTITY.fqn))]

    def children(self, entity_type: str, parent_id: str) -> list[Document]:
        """Return every live child of a type of an entity, in FQN order."""
        is_child = _ENTITY.entity_type == entity_type, _ENTITY.parent_id == parent_id, ~_ENTITY.deleted
        with reading(self._engine) as connection:
            child_rows = connection.execute(select(*STORED).where(*is_child).order_by(_ENTITY.fqn))
            return [entity_of(*row).document for row in child_rows]

    def teams_under(self, team_id: str) -> list[Document]:
        """Return every descendant of a team, each once and after its ancestors."""
        with reading(self._engine) as connection:
            ids = teams.descendants_of(connection, team_id)
            team_rows = rows_by_key(connection, select(*STORED), _ENTITY.id, ids)
            documents_by_id = {one.id: one.document for one in (entity_of(*row) for row in team_rows)}
            documents = [documents_by_id[one] for one in ids if one in documents_by_id]
            projections.add_memberships(connection, "team", documents)
        return documents

    def versions(self, entity_id: str) -> BoundedList[Document]:
        """Return the versions an entity ever had, newest first, as many as fit a page; of one that is gone, too.

        Raises
        ------
        NotFound : there never was such an entity
        """
        version = tables.entity_version.c
        query = select(*VERSION_TEXT).where(version.entity_id == entity_id).order_by(version.version_tenths.desc())
        with reading(self._engine) as connection:
            texts = Texts(connection)
            page = bounded_list(connection, query, lambda row: from_text(texts.of(row)), self._page_bytes)
        if not page:
            raise NotFound(f"entity {entity_id} not found")
        return page

    def reasons(self, entity_id: str) -> dict[str, str]:
        """Return why versions of an entity were written, as their authors say, by version: ``0.3``."""
        version = tables.entity_version.c
        query = select(version.version_tenths, version.reason).where(version.entity_id == entity_id)
        with reading(self._engine) as connection:
            reasoned = connection.execute(query.where(version.reason.is_not(None)))
            return {str(version_from_tenths(row.version_tenths)): row.reason for row in reasoned}

    def version(self, entity_id: str, number: str) -> Document:
        """Return one version of an entity; ``number`` is written ``0.3``.

        Raises
        ------
        NotFound : the entity has no such version
        """
        with reading(self._engine) as connection:
            is_it = tables.entity_version.c.version_tenths == tenths_of(number)
            document = newest_version(connection, entity_id, is_it)
            if document is None:
                raise NotFound(f"{title_of(connection, entity_id)} has no version {number}")
        return document

    def related_entities(
        self, relation: Relation, documents: Sequence[Document], *, scopes: Scopes | None = None
    ) -> dict[str, list[Document] | int]:
        """Return the related entities of each entity, or the number of those in ``scopes``, by the entity's id."""
        with reading(self._engine) as connection:
            return related_entities(connection, relation, documents, scopes or {})

    def live(self, ids: Sequence[str]) -> list[Document]:
        """Return references to the entities of these ids that are not deleted, by FQN."""
        with reading(self._engine) as connection:
            references = [reference_of(*row) for row in rows_by_key(connection, _LIVE, _ENTITY.id, ids)]
        return sorted(references, key=itemgetter("fullyQualifiedName"))

    def deleted_ids_among(self, ids: Collection[str]) -> frozenset[str]:
        """Return the ids of those of these entities that are deleted softly."""
        with asking(self._engine) as connection:
            return deleted_ids_on(connection, ids)

    def heritage(self, entries: Collection[Entry]) -> dict[Entry, Heritage]:
        """Return what each of these entities (type and FQN) inherits if it has nothing of its own."""
        with reading(self._engine) as connection:
            return heritage_on(connection, entries)

    def team_domains(self, ids: Sequence[str]) -> dict[str, list[Document]]:
        """Return the domains that come down to each of these teams or people from the teams they are in."""
        with reading(self._engine) as connection:
            return teams.domains(connection, ids)

    def domains_of(self, ids: Sequence[str]) -> dict[str, list[Document]]:
        """Return the domains of each of these teams or people: their own, else those of the teams they are in."""
        with reading(self._engine) as connection:
            return teams.own_or_inherited_domains(connection, ids)

    def root_team(self) -> Document | None:
        """Return a reference to the team above all teams; None before the first start."""
        with reading(self._engine) as connection:
            return teams.root_of(connection)

    def labels(self, names: Collection[Name]) -> dict[Name, Document]:
        """Return the documents of the tags and terms that these labels (source and FQN) name."""
        documents: dict[Name, Document] = {}
        with reading(self._engine) as connection:
            for source, entity_type in TYPES.items():
                query = select(_ENTITY.fqn, _ENTITY.document).where(_ENTITY.entity_type == entity_type)
                label_rows = rows_by_key(connection, query, _ENTITY.fqn, {fqn for one, fqn in names if one == source})
                documents |= {(source, fqn): from_text(text) for fqn, text in label_rows}
        return documents

    def reference(self, entity_type: str, key: Key) -> Document | None:
        """Return the full reference to an entity, deleted or not; None if there is none."""
        with reading(self._engine) as connection:
            row = row_of(connection, _REFERRED, entity_type, key)
        return None if row is None else reference_of(*row)

    def references(self, ids: Collection[str]) -> dict[str, Document]:
        """Return references to the entities of these ids, deleted ones included, by id."""
        with reading(self._engine) as connection:
            return references_by_id(connection, ids)

    def followers(self, entity_id: str) -> list[Document]:
        """Return references to the users who follow an entity, by name."""
        follow = tables.follow.c
        return self._references(select(follow.user_id).where(follow.entity_id == entity_id))

    def followers_of(self, entity_ids: Sequence[str]) -> dict[str, list[Document]]:
        """Return for each of these entities that has any who follows it, by name."""
        follow = tables.follow.c
        query = select(follow.entity_id, *REFERENCE).join(tables.entity, _ENTITY.id == follow.user_id)
        with reading(self._engine) as connection:
            return references_by_key(rows_by_key(connection, query.order_by(_ENTITY.fqn), follow.entity_id, entity_ids))

    def follows(self, user_id: str) -> list[Document]:
        """Return references to the entities a user follows, by FQN."""
        return self._references(projections.ids_followed_by(user_id))

    def owns(self, owner_id: str) -> list[Document]:
        """Return references to the entities a user or a team owns, by FQN."""
        ownership = tables.ownership.c
        return self._references(select(ownership.entity_id).where(ownership.owner_id == owner_id))

    def _references(self, ids: Any) -> list[Document]:  # Any: SQLAlchemy's select of one column
        query = select(*REFERENCE).where(_ENTITY.id.in_(ids)).order_by(_ENTITY.fqn)
        return [reference_of(*row) for row in fetch_rows(self._engine, query)]
