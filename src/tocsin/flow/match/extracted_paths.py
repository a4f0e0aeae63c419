"""Document paths that are extracted once per event, because many alerts test their texts.

The texts at such a path become a set like any field's: equality tests become facts that alerts can be indexed by, and
other tests read a few texts instead of the whole document. If many alerts search the texts, their words are extracted
as well (``flow/match/required_words.py``). Next: ``spark/match.py``, which extracts them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import sha256

from tocsin.conditions.fields import TAKEN
from tocsin.conditions.nodes import (
    Compare,
    Contains,
    FieldValue,
    Has,
    Kind,
    Leaf,
    Literals,
    Node,
    Operator,
    PathValue,
    Test,
    TextTest,
)
from tocsin.flow.match.indexing import share_asked
from tocsin.flow.match.plan import Plan
from tocsin.flow.match.required_words import required_words
from tocsin.logic import conjunction_of, leaves, replace_leaves

MANY = 8
"""A path is taken out once an event can be expected to be asked about its texts so often: by so many alerts that no
fact leads to, or by many more that ask only where one does. To take out a path costs about as much. Its words are
taken, too, once they are searched for so often."""

MOST = 16
"""Paths that are taken out: each costs every event something."""


class TakenPaths:
    """Counts what alerts ask about; a path once taken out stays so."""

    def __init__(self) -> None:
        self._uses: dict[PathValue, float] = defaultdict(float)
        self._searches: dict[PathValue, float] = defaultdict(float)
        self._names: dict[PathValue, str] = {}

    @property
    def names(self) -> dict[PathValue, str]:
        """Return the names of the fields for the texts at paths, oldest first."""
        return dict(self._names)

    @property
    def word_fields(self) -> frozenset[str]:
        """Return those of the fields whose words are taken as well."""
        return frozenset(name for path, name in self._names.items() if self._searches[path] >= MANY)

    def count(self, plans: Iterable[Plan]) -> None:
        """Count the paths that these plans use."""
        for plan in plans:
            asking = list(asked_leaves(plan.node)) if plan.node is not None else []
            share = share_asked(plan) if asking else 0.0
            for path in {path for path, _ in asking}:
                self._uses[path] += share
            for path in {path for path, leaf in asking if _is_search(leaf)}:
                self._searches[path] += share
        for path, uses in sorted(self._uses.items(), key=lambda one: -one[1])[:MOST]:
            if uses >= MANY and len(self._names) < MOST:
                self._names.setdefault(path, _name(path))

    def rewritten(self, node: Node) -> Node:
        """Return an equivalent of ``node`` that reads fields in place of the texts at extracted paths."""
        return replace_leaves(node, self._leaf)

    def _leaf(self, leaf: Leaf) -> Node:
        name = self._names.get(path) if (path := _path(leaf)) else None
        if name is None:
            return leaf
        match leaf:
            case Compare(right=Literals(values=values)):
                return Has(name, tuple(sorted({str(value) for value in values})))
            case TextTest(test=test, texts=texts):
                return TextTest(test, FieldValue(name), texts)
            case Contains(members=Literals(values=values)):  # the texts only say whether a look at the path is worth it
                return conjunction_of(TextTest(Test.INCLUDES, FieldValue(name), tuple(map(str, values))), leaf)
            case _:
                return leaf


def asked_leaves(node: Node) -> Iterator[tuple[PathValue, Leaf]]:
    """Yield the leaves of ``node`` that ask about texts at a path, each with it."""
    return ((path, leaf) for leaf in leaves(node) if (path := _path(leaf)))


def _is_search(leaf: Leaf) -> bool:
    """Return whether ``leaf`` asks for texts that hold a word it knows."""
    match leaf:
        case TextTest():
            return bool(required_words(leaf))
        case Contains(value=value, members=Literals(values=values)):
            return bool(required_words(TextTest(Test.INCLUDES, value, tuple(map(str, values)))))
        case _:
            return False


def _path(leaf: Leaf) -> PathValue | None:
    """Return the path whose texts alone decide ``leaf``, or can rule it out."""
    match leaf:
        case Compare(operator=Operator.EQ, left=PathValue() as path, right=Literals(kind=Kind.TEXT)):
            return path
        case TextTest(value=PathValue() as path):
            return path
        case Contains(value=PathValue() as path, members=Literals(kind=Kind.TEXT)):
            return path
        case _:
            return None


def _name(path: PathValue) -> str:
    return TAKEN + sha256(repr(path).encode()).hexdigest()[:12]
