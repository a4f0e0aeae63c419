"""Leaves of search queries, which are formulas (``logic.py``) in either query language.

``search/parse.py`` and ``search/filters.py`` build queries, ``store/catalogue/search/matching.py`` turns them into SQL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tocsin.logic import Formula
from tocsin.search.tokens import token_of

Comparator = Literal["=", "<", "<=", ">", ">=", "like"]


@dataclass(frozen=True, slots=True)
class Words(Formula["Leaf"]):
    """These words occur in this order in one of ``columns`` (``search/fields.py``); the last may be a prefix."""

    columns: tuple[str, ...]
    words: tuple[str, ...]
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Referent:
    """What a value refers to: an entity of one of these types whose ``key`` is ``value``, as the query writes it."""

    types: tuple[str, ...]
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class IndexedFact(Formula["Leaf"]):
    """An exact value: ``token`` is what ``token_of`` makes of field and value.

    ``inherited_as`` is the key under which descendants without a value of their own inherit it: owners, domains.
    ``label`` is the full name of the tag or term that the value names, as the query writes it; None for other facts.
    ``labels`` is the field of labels of which the fact says that it holds any; None for other facts.
    ``referent`` is the person, team, domain or data product that the value refers to; None for other facts.
    ``referents`` is the key of references of which the fact says that it holds any; None for other facts.
    """

    token: str
    inherited_as: str | None = None
    label: str | None = field(default=None, compare=False)
    labels: str | None = field(default=None, compare=False)
    referent: Referent | None = field(default=None, compare=False)
    referents: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AnyFact(Formula["Leaf"]):
    """It has one of many facts: ``tokens`` are theirs, at least one; ``inherited_as`` as for one fact."""

    tokens: tuple[str, ...]
    inherited_as: str | None = None


@dataclass(frozen=True, slots=True)
class Below(Formula["Leaf"]):
    """It has no own value under the key of the fact, and an ancestor of one of these types has the fact."""

    fact: IndexedFact | AnyFact
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompareColumn(Formula["Leaf"]):
    """A column of the entry compares so with ``value``; for ``like`` a pattern with ``*``, ``?`` and backslashes."""

    column: str
    comparator: Comparator
    value: str | int | bool


@dataclass(frozen=True, slots=True)
class OfService(Formula["Leaf"]):
    """It belongs to a service that is shown under this name, in lower case."""

    display_key: str


Leaf = Words | IndexedFact | AnyFact | Below | CompareColumn | OfService
Node = Formula[Leaf]

ANY_ENTRY = token_of("any", "entry")
"""The token that every entry has."""
