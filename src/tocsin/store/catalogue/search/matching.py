"""SQL condition on ``search_entry`` for a search query tree.

Subtrees of words and facts become one full-text query: an FTS5 expression, or conditions on ``tsvector`` columns.
Next: ``store/catalogue/search/results.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import eq, ge, gt, le, lt
from typing import Any

from sqlalchemy import Connection, Join, Select, and_, cast, exists, false, join, literal, not_, or_, select, true
from sqlalchemy.dialects.postgresql import TSQUERY

from tocsin.logic import (
    ALWAYS,
    And,
    Constant,
    Not,
    Or,
    conjunction_of,
    disjunction_of,
    fold,
    leaves,
    operands_of,
    replace_leaves,
)
from tocsin.model import fqn as names
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import types_above
from tocsin.search.fields import NAMES
from tocsin.search.indexes import SEARCHED
from tocsin.search.nodes import ANY_ENTRY, AnyFact, Below, CompareColumn, IndexedFact, Leaf, Node, OfService, Words
from tocsin.search.tokens import token_of
from tocsin.store.catalogue.relations.inheritance_filters import DOMAINS, OWNERS, below
from tocsin.store.database.engine import is_sqlite
from tocsin.store.database.logic import SQL
from tocsin.store.database.search_tables import NUMBER, search_entry, search_words

Sql = Any  # Any: SQLAlchemy's conditions

_ENTRY = search_entry.c
_ESCAPE = "\\"
_MOST_SERVICES = 100
_SERVICES = tuple(name for name, row in ENTITY_TYPES.items() if row.is_service)
_COMPARISONS = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}
_OF_WORDS = (Words, IndexedFact, AnyFact)
_LABELS = {"name": "A", "display_name": "B", "path": "A", "members": "B", "description": "C", "member_texts": "D"}


@dataclass(frozen=True)
class Matching:
    """What an entry must match: a condition on ``search_words``, one on ``search_entry``, or both.

    Attributes
    ----------
    words : the condition on ``search_words``, a table next to the entries; None where no words are searched
    entries : the condition on ``search_entry``
    """

    words: Sql | None
    entries: Sql

    def narrow(self, query: Select[Any]) -> Select[Any]:  # Any: whatever is selected of the entries
        """Return a query of entries that keeps those that answer."""
        if self.words is None:
            return query.select_from(search_entry).where(self.entries)
        return query.select_from(self.joined_entries()).where(self.words, self.entries)

    def narrow_one_by_one(self, query: Select[Any]) -> Select[Any]:  # Any: as above
        """Return the same, asking the index of words for each entry that is left: right where few are."""
        query = query.select_from(search_entry).where(self.entries)
        if self.words is None:
            return query
        words = select(literal(1)).select_from(search_words).where(self.words, _ENTRY.number == NUMBER)
        return query.where(exists(words))

    def joined_entries(self) -> Join:
        """Return the join of entries with their words.

        The sign keeps SQLite from going through all entries and asking FTS5 for each.
        """
        return join(search_words, search_entry, _ENTRY.number == NUMBER.op("+")(0))


def expand_inherited(connection: Connection, node: Node, types: Iterable[str]) -> Node:
    """Return the tree with every inheritable fact expanded: the entity has it, or inherits it from an ancestor.

    Services that are named as they are shown are named by their names.

    ``types`` are those searched for. Most people and domains have no ancestors: such a fact stays as it is,
    for the full-text index.
    """
    above = tuple(sorted({kind for one in types for kind in types_above(one)} & set(SEARCHED)))
    words = _Fts5() if is_sqlite(connection) else _Tsvector()

    def expand(leaf: Leaf) -> Node:
        if isinstance(leaf, OfService):
            service_fqns = connection.scalars(_select_service_fqns(leaf.display_key).limit(_MOST_SERVICES))
            return disjunction_of(*(IndexedFact(token_of("service.name", names.split(fqn)[0])) for fqn in service_fqns))
        if not isinstance(leaf, (IndexedFact, AnyFact)) or leaf.inherited_as is None:
            return leaf
        below = Below(leaf, above)
        comes_down = above and connection.execute(_holders(below, words).limit(1)).first() is not None
        own_fact = replace(leaf, inherited_as=None)
        return disjunction_of(own_fact, below) if comes_down else own_fact

    return replace_leaves(node, expand)


def _select_service_fqns(display_key: str) -> Select[Any]:  # Any: one column
    """Return a query for the FQNs of the services that are shown under this name: by it, or by their own."""
    by_its_name = and_(_ENTRY.display_key == "", _ENTRY.name_key == display_key)
    return select(_ENTRY.fqn).where(
        _ENTRY.entity_type.in_(_SERVICES), or_(_ENTRY.display_key == display_key, by_its_name)
    )


def _holders(below: Below, words: _Fts5 | _Tsvector) -> Select[Any]:  # Any: one column
    """Return a query for the ids of those that have the fact and may have descendants."""
    of_types = disjunction_of(*(IndexedFact(token_of("entityType", one)) for one in below.types))
    condition = words.condition(conjunction_of(below.fact, of_types))
    return select(_ENTRY.entity_id).where(_is_among(condition))


def match_of(connection: Connection, node: Node) -> Matching:
    """Return what ``node`` means on this store."""
    words = _Fts5() if is_sqlite(connection) else _Tsvector()
    parts = operands_of(node, And)
    of_words = conjunction_of(*(part for part in parts if is_of_words(part)))
    entry_conditions = [_sql(part, words) for part in parts if not is_of_words(part)]
    condition = None if of_words == ALWAYS else words.condition(of_words)
    return Matching(condition, and_(true(), *entry_conditions))


def is_of_words(node: Node) -> bool:
    """Return whether the index of words alone can answer."""
    return not isinstance(node, Constant) and all(isinstance(leaf, _OF_WORDS) for leaf in leaves(node))


def _sql(node: Node, words: _Fts5 | _Tsvector) -> Sql:
    """Return the condition on an entry for what words alone cannot answer, or not as a whole."""
    if is_of_words(node):
        return _is_among(words.condition(node))
    match node:
        case CompareColumn():
            return _comparison(node)
        case Below(fact=fact, types=types):
            naming = OWNERS if fact.inherited_as == "owners" else DOMAINS
            return _ENTRY.entity_id.in_(below(naming, _holders(node, words), with_tests="table" in types))
        case Not(operand=operand):
            return not_(_sql(operand, words))
        case And(operands=operands):
            return and_(*(_sql(one, words) for one in _group_words(operands, conjunction_of)))
        case Or(operands=operands):
            return or_(*(_sql(one, words) for one in _group_words(operands, disjunction_of)))
        case _:
            return true() if node == ALWAYS else false()


def _is_among(condition: Sql) -> Sql:
    """Return the condition that the words of an entry meet a condition."""
    return _ENTRY.number.in_(select(NUMBER).select_from(search_words).where(condition))


def _group_words(operands: Sequence[Node], join: Callable[..., Node]) -> list[Node]:
    """Return the operands with all that the index of words can answer as one."""
    together = [one for one in operands if is_of_words(one)]
    other_operands = [one for one in operands if one not in together]
    return [join(*together), *other_operands] if together else other_operands


def _comparison(node: CompareColumn) -> Sql:
    column = _ENTRY[node.column]
    if node.comparator == "like":
        return column.like(_like_pattern(str(node.value)), escape=_ESCAPE)
    return _COMPARISONS[node.comparator](column, node.value)


def _like_pattern(pattern: str) -> str:
    """Return a pattern with ``*`` and ``?`` as SQL writes it."""
    written, is_protected = [], False
    for sign in pattern:
        if sign == _ESCAPE and not is_protected:
            is_protected = True
            continue
        wild = {"*": "%", "?": "_"}.get(sign) if not is_protected else None
        written.append(wild or (_ESCAPE + sign if sign in "%_\\" else sign))
        is_protected = False
    return "".join(written)


class _Fts5:
    """SQLite's FTS5: one expression for a whole tree."""

    def condition(self, node: Node) -> Sql:
        """Return the condition that these words match."""
        return search_words.c.search_words.op("MATCH")(self._expression(node))

    def _expression(self, node: Node) -> str:
        match node:
            case Words(columns=columns, words=words, is_prefix=is_prefix):
                return f'{{{" ".join(columns)}}} : "{" ".join(words)}"{" *" if is_prefix else ""}'
            case IndexedFact(token=token):
                return f'keys : "{token}"'
            case AnyFact(tokens=tokens):
                return f"keys : ({' OR '.join(map(_quote, tokens))})"
            case Or(operands=operands):
                return f"({' OR '.join(map(self._expression, operands))})"
            case And() | Not():
                operands = operands_of(node, And)
                required_operands = [one for one in operands if not isinstance(one, Not)]
                excluded_operands = [one.operand for one in operands if isinstance(one, Not)]
                return self._all_but(required_operands or [ANY], excluded_operands)
        raise AssertionError(node)

    def _all_but(self, required: Sequence[Node], excluded: Sequence[Node]) -> str:
        expression = f"({' AND '.join(map(self._expression, required))})"
        return f"({expression} NOT ({' OR '.join(map(self._expression, excluded))}))" if excluded else expression


class _Tsvector:
    """PostgreSQL's text search: a condition for every word, on the column that holds it."""

    def condition(self, node: Node) -> Sql:
        """Return the condition that these words match."""
        return fold(node, SQL, self._leaf)

    def _leaf(self, leaf: Leaf) -> Sql:
        match leaf:
            case Words():
                return or_(*self._columns(leaf))
            case IndexedFact(token=token):
                return _asks(search_words.c["keys"], f"'{token}'")
            case AnyFact(tokens=tokens):
                return _asks(search_words.c["keys"], " | ".join(f"'{token}'" for token in tokens))
        raise AssertionError(leaf)

    def _columns(self, node: Words) -> list[Sql]:
        """Return a condition for each ``tsvector`` that holds one of the columns; all of its labels need no label."""
        conditions = []
        for column, holds in (("names", NAMES), ("words", tuple(set(_LABELS) - set(NAMES)))):
            searched = set(holds) & set(node.columns)
            labels = "" if searched == set(holds) else "".join(sorted(_LABELS[name] for name in searched))
            if searched:
                conditions.append(_asks(search_words.c[column], _tsquery(node, labels)))
        return conditions


ANY = IndexedFact(ANY_ENTRY)


def _quote(token: str) -> str:
    return f'"{token}"'


def _asks(column: Sql, query: str) -> Sql:
    return column.op("@@")(cast(literal(query), TSQUERY))


def _tsquery(node: Words, labels: str) -> str:
    *earlier, last = (word.replace("'", "''").replace("\\", "\\\\") for word in node.words)
    mark = ("*" if node.is_prefix else "") + labels
    ends = f"'{last}':{mark}" if mark else f"'{last}'"
    return " <-> ".join([*(f"'{word}':{labels}" if labels else f"'{word}'" for word in earlier), ends])
