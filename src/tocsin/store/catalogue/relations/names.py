"""Names of entities: which there are, and what entities were called before they were renamed.

Next: ``server/alerts/facts.py``, ``jobs/lost_names.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select, tuple_

from tocsin.chunks import chunks_of
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.store.database.documents import REFERENCE, from_text, reference_of
from tocsin.store.database.engine import insert_into, reading
from tocsin.store.database.entity_tables import earlier_holder, former_name
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.snapshots import VERSION_TEXT, Texts
from tocsin.store.database.tables import entity, entity_version

_ENTITY, _FORMER, _EARLIER, _VERSION = entity.c, former_name.c, earlier_holder.c, entity_version.c


TypedName = tuple[tuple[str, ...], str]
"""The types of entities that a text may name, and the text."""


@dataclass(frozen=True)
class Holder:
    """An entity that has, or had, a name since a time; it may have had it several times."""

    entity_id: str
    since_ms: int


class Names:
    """The names of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def references_of(self, types: Collection[str], texts: Collection[str]) -> dict[str, Document]:
        """Return references to the entities of these types that are called so, by what they are called.

        A text is an FQN, or a name without the quotation marks that its FQN needs. Soft-deleted ones are left out.
        """
        with reading(self._engine) as connection:
            return _references(connection, _ENTITY, types, texts)

    def references_now_and_formerly(
        self, texts: Mapping[tuple[str, ...], Collection[str]]
    ) -> tuple[dict[TypedName, Document], dict[TypedName, Document]]:
        """Return references to the entities that are called so, and to those that were, by types and what they say.

        ``texts`` are by the types of what they may name.
        """
        with reading(self._engine) as connection:
            existing, former = (
                {
                    (types, text): reference
                    for types, wording in texts.items()
                    for text, reference in _references(connection, table, types, wording).items()
                }
                for table in (_ENTITY, _FORMER)
            )
            return existing, former

    def lost_names(self, types: Collection[str], texts: Collection[str]) -> dict[str, str]:
        """Return those of these texts that were names and are no longer, with the type of what had them."""
        written = _texts_by_fqn(texts)
        types_by_text: dict[str, str] = {}
        with reading(self._engine) as connection:
            for table in (_FORMER, _ENTITY):
                query = select(table.entity_type, table.fqn).where(table.entity_type.in_(sorted(types)))
                name_rows = rows_by_key(connection, query, table.fqn, written)
                types_by_text |= {written[row.fqn]: row.entity_type for row in name_rows}
        existing = self.references_of(types, types_by_text)
        return {text: kind for text, kind in types_by_text.items() if text not in existing}

    def lost_below(self, types: Collection[str], prefix: str) -> str | None:
        """Return the type of what had a name that begins so, if nothing has one any more."""
        with reading(self._engine) as connection:
            live = select(_ENTITY.entity_type).where(~_ENTITY.deleted, *_begins(_ENTITY, types, prefix))
            if connection.execute(live.limit(1)).first() is not None:
                return None
            for table in (_FORMER, _ENTITY):
                query = select(table.entity_type).where(*_begins(table, types, prefix))
                if (row := connection.execute(query.limit(1)).first()) is not None:
                    return str(row.entity_type)
        return None


def current(connection: Connection, types: Collection[str], text: str) -> Document | None:
    """Return a reference to what was called so, while nothing of these types is; None if there is no such thing."""
    existing, former = (_references(connection, table, types, [text]) for table in (_ENTITY, _FORMER))
    return None if existing else former.get(text)


def holders(connection: Connection, types: Collection[str], text: str) -> list[Holder]:
    """Return who has a name now and who had it, each since when, in the order of these times."""
    written = _texts_by_fqn([text])
    ids = set[str]()
    for table, column in ((_ENTITY, _ENTITY.id), (_FORMER, _FORMER.entity_id), (_EARLIER, _EARLIER.entity_id)):
        query = select(column).where(table.entity_type.in_(sorted(types)), table.fqn.in_(sorted(written)))
        ids.update(connection.execute(query).scalars())
    texts = Texts(connection)
    candidates = (holder for entity_id in ids for holder in _times_called(connection, texts, entity_id, written))
    return sorted(candidates, key=lambda holder: holder.since_ms)


def holder_at(candidates: Sequence[Holder], at_ms: int) -> str | None:
    """Return the id of the last of these who had their name before a time, or of the first who got it just then."""
    before = [one.entity_id for one in candidates if one.since_ms < at_ms]
    return before[-1] if before else next((one.entity_id for one in candidates if one.since_ms == at_ms), None)


def record_former_names(connection: Connection, names: Sequence[tuple[str, str, str]]) -> None:
    """Record that entities were called so, or are gone for good: type, FQN and id of each."""
    for chunk in chunks_of(names):
        is_so_called = tuple_(_FORMER.entity_type, _FORMER.fqn).in_([one[:2] for one in chunk])
        if earlier_rows := connection.execute(select(former_name).where(is_so_called)).all():
            earlier = insert_into(connection, earlier_holder).on_conflict_do_nothing()
            connection.execute(earlier, [dict(row._mapping) for row in earlier_rows])
            connection.execute(delete(former_name).where(is_so_called))
        former_rows = [dict(zip(("entity_type", "fqn", "entity_id"), one, strict=True)) for one in chunk]
        connection.execute(insert(former_name), former_rows)


def _times_called(connection: Connection, texts: Texts, entity_id: str, written: Collection[str]) -> Iterator[Holder]:
    """Yield each time since when an entity was called so, by its versions."""
    query = select(*VERSION_TEXT).where(_VERSION.entity_id == entity_id).order_by(_VERSION.version_tenths)
    was_called = False
    for row in connection.execute(query):
        document = from_text(texts.of(row))
        is_called = document.get("fullyQualifiedName") in written
        if is_called and not was_called:
            yield Holder(entity_id, int(document["updatedAt"]))
        was_called = is_called


def _references(
    connection: Connection, table: Any, types: Collection[str], texts: Collection[str]
) -> dict[str, Document]:  # Any: columns
    """Return references to the entities that are called so (``_ENTITY``) or were (``_FORMER``), by the texts."""
    written = _texts_by_fqn(texts)
    query = select(table.fqn, *REFERENCE).where(table.entity_type.in_(sorted(types)), ~_ENTITY.deleted)
    query = query if table is _ENTITY else query.where(_FORMER.entity_id == _ENTITY.id)
    name_rows = rows_by_key(connection, query, table.fqn, written)
    return {written[name]: reference_of(*reference) for name, *reference in name_rows}


def _begins(table: Any, types: Collection[str], prefix: str) -> tuple[Any, ...]:  # Any: columns and conditions
    return table.entity_type.in_(sorted(types)), table.fqn >= prefix, table.fqn < prefix + "\U0010ffff"


def _texts_by_fqn(texts: Iterable[str]) -> dict[str, str]:
    """Return the FQNs that texts can mean, each with its text."""
    return {written: text for text in texts for written in (fqn.quote(text), text)}
