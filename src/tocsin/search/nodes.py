"""Query tree of words, facts and comparisons, independent of the query language.

``search/parse.py`` and ``search/filters.py`` build it, ``store/search/matching.py`` turns it into SQL.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tocsin.search.tokens import token_of

Comparator = Literal["=", "<", "<=", ">", ">=", "like"]


@dataclass(frozen=True)
class Words:
    """These words occur in this order in one of ``columns`` (``search/fields.py``); the last may be a prefix."""

    columns: tuple[str, ...]
    words: tuple[str, ...]
    is_prefix: bool = False


@dataclass(frozen=True)
class Fact:
    """An exact value: ``token`` is what ``token_of`` makes of field and value.

    ``inherited_as`` is the key under which descendants without a value of their own inherit it: owners, domains.
    """

    token: str
    inherited_as: str | None = None


@dataclass(frozen=True)
class Below:
    """It has no own value under the key of the fact, and an ancestor of one of these types has the fact."""

    fact: Fact
    types: tuple[str, ...]


@dataclass(frozen=True)
class Compare:
    """A column of the entry compares so with ``value``; for ``like`` a pattern with ``*``, ``?`` and backslashes."""

    column: str
    comparator: Comparator
    value: str | int | bool


@dataclass(frozen=True)
class Both:
    """All of ``parts`` hold; none at all always holds."""

    parts: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Either:
    """One of ``parts`` holds."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Without:
    """``part`` does not hold."""

    part: Node


Node = Words | Fact | Below | Compare | Both | Either | Without

EVERYTHING = Both()
"""What every entry answers to."""

ANY_ENTRY = token_of("any", "entry")
"""The token that every entry has."""


def both(parts: Iterable[Node]) -> Node:
    """Return the conjunction of ``parts``, flattened."""
    kept = tuple(one for part in parts for one in (part.parts if isinstance(part, Both) else (part,)))
    return kept[0] if len(kept) == 1 else Both(kept)


def either(parts: Iterable[Node]) -> Node:
    """Return what holds when one of ``parts`` does."""
    kept = tuple(parts)
    return kept[0] if len(kept) == 1 else Either(kept)
