"""Search results: index entries, ranked or sorted, in pages.

Ranks: the whole name or FQN, a prefix of a name, words of a name, words anywhere else; then by usage, then by
FQN. Each rank is queried only if the earlier ones have not filled the page, so a good name is found fast however
many entries mention it. Next: ``store/catalogue/search/matching.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Engine, Select, and_, case, exists, func, literal, or_, select, true, union

from tocsin.access.nodes import Condition
from tocsin.errors import InvalidInput
from tocsin.logic import And, Or, conjunction_of, disjunction_of, negation_of, operands_of
from tocsin.model.entity import Document
from tocsin.search.fields import NAMES, WORD_COLUMNS, whole_number
from tocsin.search.indexes import SEARCHED
from tocsin.search.nodes import Node, Words
from tocsin.search.parse import Query
from tocsin.search.tokens import name_of
from tocsin.store.catalogue.access.visibility import visible
from tocsin.store.catalogue.search.matching import expand_inherited, match_of
from tocsin.store.database import tables
from tocsin.store.database.documents import from_text
from tocsin.store.database.engine import fetch_rows, reading
from tocsin.store.database.keys import is_one_of
from tocsin.store.database.near_texts import near_texts
from tocsin.store.database.search_tables import search_entry

COUNTED_THROUGH = 10_000
"""Hits up to which the total is exact, unless the request wants it exact."""

Sql = Any  # Any: SQLAlchemy's conditions and columns

_ENTRY = search_entry.c
_HIT = (_ENTRY.entity_id, _ENTRY.entity_type, _ENTRY.fqn, _ENTRY.usage_count)
_WHOLE, _BEGINNING, _NAMED, _MENTIONED = 4.0, 3.0, 2.0, 1.0
_NUMBERS = frozenset({"usage_count", "updated_at_ms"})


@dataclass(frozen=True)
class Search:
    """Query, filters and paging of a search.

    Attributes
    ----------
    query : what an entry must match, and the words by which it is ranked
    types : the types wanted; None for all of them
    deleted : whether soft-deleted entries are wanted instead of live ones; None for both
    sort_column : the column to sort by; None to rank
    is_descending : whether the sort order is descending
    after : the sort values of the last hit of an earlier page
    offset, size : which of the hits are wanted
    scopes : per type, which of its entities the requester may see; unnamed types are visible
    """

    query: Query
    types: tuple[str, ...] | None = None
    deleted: bool | None = False
    sort_column: str | None = None
    is_descending: bool = False
    after: tuple[str, ...] = ()
    offset: int = 0
    size: int = 10
    scopes: tuple[tuple[str, Condition], ...] = ()


@dataclass(frozen=True)
class Hit:
    """One entry that was found; ``sort`` is its position in the order."""

    entity_id: str
    entity_type: str
    score: float
    sort: tuple[str | int | float, ...]


@dataclass(frozen=True)
class Total:
    """How many entries answer, or, if it is not exact, more than so many."""

    value: int
    is_exact: bool = True


class SearchIndex:
    """Asks the index; one per engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def hits(self, search: Search) -> list[Hit]:
        """Return the hits of one page."""
        with reading(self._engine) as connection:
            search = _expand(connection, search)
            ordered_hits = _sorted_hits(connection, search) if search.sort_column else _ranked_hits(connection, search)
        return ordered_hits[search.offset : search.offset + search.size]

    def near_hits(self, search: Search, name: str) -> list[Hit]:
        """Return the entries whose names or FQNs differ from a name by a single edit, the most used first.

        Of the search only its filters and its page count.
        """
        words = name_of(name)
        texts = ((_ENTRY.name_words, words), (_ENTRY.display_words, words), (_ENTRY.fqn, name))
        with reading(self._engine) as connection:
            is_near = or_(*(is_one_of(connection, one, near_texts(connection, one, text)) for one, text in texts))
            query = select(*_HIT).where(is_near, *_filters(connection, search))
            query = query.order_by(_ENTRY.usage_count.desc(), _ENTRY.fqn, _ENTRY.entity_type)
            hit_rows = connection.execute(query.limit(search.offset + search.size)).all()
        hits = [Hit(entity_id, kind, _NAMED, (_NAMED, usage, fqn, kind)) for entity_id, kind, fqn, usage in hit_rows]
        return hits[search.offset :]

    def total(self, search: Search, *, is_exact: bool = False) -> Total:
        """Return how many entries answer; unless ``is_exact``, counting ends at ``COUNTED_THROUGH``."""
        with reading(self._engine) as connection:
            search = _expand(connection, search)
            query = match_of(connection, search.query.node).narrow(select(literal(1)))
            query = query.where(*_filters(connection, search))
            counted = (query if is_exact else query.limit(COUNTED_THROUGH + 1)).subquery()
            total = int(connection.execute(select(func.count()).select_from(counted)).scalar_one())
        return Total(total) if is_exact or total <= COUNTED_THROUGH else Total(COUNTED_THROUGH, is_exact=False)

    def page(self, search: Search, *, is_exact: bool = False) -> tuple[list[Hit], Total]:
        """Return the hits of one page, and how many there are in all; a page that is not full has counted them."""
        with reading(self._engine) as connection:
            search = _expand(connection, search)  # once for both
        hits = self.hits(search)
        if not search.after and (0 < len(hits) < search.size or (not hits and search.offset == 0 < search.size)):
            return hits, Total(search.offset + len(hits))
        return hits, self.total(search, is_exact=is_exact)

    def counts(self, search: Search, column: str, *, limit: int) -> list[tuple[Any, int]]:
        """Return how many entries have which value in a column, the most frequent first."""
        value, number = _ENTRY[column], func.count()
        with reading(self._engine) as connection:
            search = _expand(connection, search)
            query = match_of(connection, search.query.node).narrow(select(value, number))
            query = query.where(*_filters(connection, search), value.is_not(None)).group_by(value)
            value_rows = connection.execute(query.order_by(number.desc(), value).limit(limit))
            return [(row[0], int(row[1])) for row in value_rows]

    def documents(self, entity_ids: Sequence[str]) -> dict[str, Document]:
        """Return the current documents of these entities; without deleted ones."""
        query = select(tables.entity.c.id, tables.entity.c.document).where(tables.entity.c.id.in_(entity_ids))
        return {entity_id: from_text(text) for entity_id, text in fetch_rows(self._engine, query)}


def _expand(connection: Connection, search: Search) -> Search:
    node = expand_inherited(connection, search.query.node, SEARCHED if search.types is None else search.types)
    return replace(search, query=replace(search.query, node=node))


def page_end_of(search: Search) -> tuple[Any, ...]:
    """Return where an earlier page ended, as the columns hold it.

    Raises
    ------
    InvalidInput : it is no such place
    """
    kinds = [name for name, _ in _order(search)]
    if len(search.after) > len(kinds):
        raise InvalidInput(f"at most {len(kinds)} sort values", field="search_after")
    return tuple(_value_of(kind, text) for kind, text in zip(kinds, search.after, strict=False))


def _value_of(kind: str, text: str) -> str | int | float:
    if kind == "rank":
        try:
            return float(text)
        except ValueError:
            raise InvalidInput(f"{text[:100]!r} is not a score", field="search_after") from None
    if "\0" in text:
        raise InvalidInput("a sort value cannot contain a NUL character", field="search_after")
    return whole_number(text) if kind in _NUMBERS else text


def _filters(connection: Connection, search: Search) -> list[Sql]:
    """Return the conditions on an entry that do not depend on the query."""
    conditions = []
    if search.types is not None:
        is_one = len(search.types) == 1
        conditions.append(_ENTRY.entity_type == search.types[0] if is_one else _ENTRY.entity_type.in_(search.types))
    if search.deleted is not None:
        conditions.append(_ENTRY.deleted == search.deleted)
    return conditions + [_in_scope(connection, *scope) for scope in search.scopes]


def _in_scope(connection: Connection, entity_type: str, scope: Condition) -> Sql:
    """Return that an entry is of another type, or of an entity that the condition holds for."""
    subject = tables.entity.alias()
    condition = visible(scope, row=subject.c)
    return or_(_ENTRY.entity_type != entity_type, exists().where(subject.c.id == _ENTRY.entity_id, condition))


def _order(search: Search) -> list[tuple[str, bool]]:
    """Return the names of what hits are ordered by, and whether each goes down."""
    if search.sort_column is None:
        return [("rank", True), ("usage_count", True), ("fqn", False), ("entity_type", False)]
    columns = dict.fromkeys((search.sort_column, "fqn", "entity_type"))
    if search.types is not None and len(search.types) == 1:
        columns.pop("entity_type")
    return [(column, search.is_descending) for column in columns]


def _sorted_hits(connection: Connection, search: Search) -> list[Hit]:
    order = _order(search)
    columns = [(_ENTRY[name], down) for name, down in order]
    query = match_of(connection, search.query.node).narrow(select(*_HIT, *(column for column, _ in columns)))
    query = query.where(*_filters(connection, search), _beyond(columns, page_end_of(search)))
    query = query.order_by(*(column.desc() if down else column for column, down in columns))
    hit_rows = connection.execute(query.limit(search.offset + search.size))
    return [Hit(row[0], row[1], _MENTIONED, tuple(row[len(_HIT) :])) for row in hit_rows]


def _ranked_hits(connection: Connection, search: Search) -> list[Hit]:
    needed_count, hits = search.offset + search.size, list[Hit]()
    after = page_end_of(search)
    for rank, ranked in _ranks(connection, search):
        if len(hits) >= needed_count:
            break
        columns = [(rank, True), (_ENTRY.usage_count, True), (_ENTRY.fqn, False), (_ENTRY.entity_type, False)]
        query = ranked.where(*_filters(connection, search), _beyond(columns, after))
        query = query.order_by(*(column.desc() if down else column for column, down in columns))
        for entity_id, entity_type, fqn, usage, score in connection.execute(query.limit(needed_count - len(hits))):
            hits.append(Hit(entity_id, entity_type, float(score), (float(score), usage, fqn, entity_type)))
    return hits


def _ranks(connection: Connection, search: Search) -> Iterator[tuple[Sql, Select[Any]]]:
    """Yield, best first, what a rank is and a query of its entries; no entry answers to two of them."""
    free, node = " ".join(search.query.free), search.query.node
    mention_rank = literal(_MENTIONED)
    if not free:
        yield mention_rank, match_of(connection, node).narrow(select(*_HIT, mention_rank))
        return
    searched_name = name_of(free)
    is_whole = or_(_ENTRY.name_words == searched_name, _ENTRY.display_words == searched_name, _ENTRY.fqn == free)
    exact = literal(_WHOLE)
    matches = match_of(connection, node).narrow_one_by_one(select(*_HIT, exact))
    yield exact, matches.where(_ENTRY.number.in_(_wholly_named(searched_name, free)))
    parts = operands_of(node, And)
    in_names = [_in_names(part) for part in parts]
    begins = or_(_begins(_ENTRY.name_words, searched_name), _begins(_ENTRY.display_words, searched_name))
    name_rank = case((begins, _BEGINNING), else_=_NAMED)
    yield (
        name_rank,
        match_of(connection, conjunction_of(*in_names)).narrow(select(*_HIT, name_rank)).where(~is_whole),
    )
    words = [named_part for part, named_part in zip(parts, in_names, strict=True) if named_part != part]
    elsewhere = match_of(connection, conjunction_of(node, negation_of(conjunction_of(*words))))
    yield mention_rank, elsewhere.narrow(select(*_HIT, mention_rank)).where(~is_whole)


def _wholly_named(words: str, fqn: str) -> Any:  # Any: SQLAlchemy's select of one column
    """Return a query for the numbers of the entries of that name; each part of it reads an index."""
    ways = (_ENTRY.name_words == words, _ENTRY.display_words == words, _ENTRY.fqn == fqn)
    return union(*(select(_ENTRY.number).where(way) for way in ways))


def _begins(column: Sql, text: str) -> Sql:
    return and_(column >= text, column < text + "\U0010ffff")


def _in_names(node: Node) -> Node:
    """Return the query with every word searched in names alone."""
    match node:
        case Words(columns=columns) if columns == WORD_COLUMNS:
            return replace(node, columns=NAMES)
        case And(operands=operands):
            return conjunction_of(*map(_in_names, operands))
        case Or(operands=operands):
            return disjunction_of(*map(_in_names, operands))
        case _:
            return node


def _beyond(columns: Sequence[tuple[Sql, bool]], after: Sequence[Any]) -> Sql:  # Any: values of the columns
    """Return the condition that an entry comes after the one with these sort values."""
    beyond: Sql = None
    for (column, down), value in reversed(list(zip(columns, after, strict=False))):
        further = column < value if down else column > value
        beyond = further if beyond is None else or_(further, and_(column == value, beyond))
    return true() if beyond is None else beyond
