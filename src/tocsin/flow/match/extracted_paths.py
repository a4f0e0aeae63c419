"""Document paths that are extracted once per event, because many alerts test their values.

The texts at such a path become a set like any field's: equality tests become facts that alerts can be indexed by, and
other tests read a few texts instead of the whole document. Numbers become a set of their own, which order comparisons
read. If many alerts search the texts, their words are extracted as well (``flow/match/required_words.py``).
Next: ``spark/extracted_values.py``, which extracts them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import sha256

from tocsin.conditions.fields import TAKEN, TAKEN_NUMBERS
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
    PathRoot,
    PathValue,
    Test,
    TextTest,
)
from tocsin.flow.match.indexing import share_asked
from tocsin.flow.match.plan import Plan
from tocsin.flow.match.required_words import required_words
from tocsin.logic import conjunction_of, leaves, replace_leaves

MANY = 8
"""Texts at a path are extracted once an event can be expected to be asked about them so often: by so many alerts that
no fact leads to, or by many more that ask only where one does. Then every event's document is parsed."""

MANY_MORE = 2
"""The same for what is extracted besides, from a document that is parsed anyway."""

_WEIGHTS = {Kind.TEXT: 1.0, Kind.NUMBER: 8.0}
"""A text is looked for in the JSON before that is parsed for an alert, so that asking for a number costs as much as
asking for many texts."""

MANY_SEARCHES = 8
"""The words of the texts at a path are extracted, too, once they are searched for so often."""

MOST = 16
"""Extractions: each costs every event something."""

Extraction = tuple[PathValue, Kind]
"""The texts, or the numbers, at a path."""


class TakenPaths:
    """Counts what alerts ask about; what is once extracted stays so."""

    def __init__(self) -> None:
        self._uses: dict[Extraction, float] = defaultdict(float)
        self._searches: dict[Extraction, float] = defaultdict(float)
        self._names: dict[Extraction, str] = {}

    @property
    def names(self) -> dict[Extraction, str]:
        """Return the names of the fields for the values at paths, oldest first."""
        return dict(self._names)

    @property
    def word_fields(self) -> frozenset[str]:
        """Return those of the fields whose words are extracted as well."""
        return frozenset(
            name for extraction, name in self._names.items() if self._searches[extraction] >= MANY_SEARCHES
        )

    def count(self, plans: Iterable[Plan]) -> None:
        """Count the paths that these plans use."""
        for plan in plans:
            asking = list(asked_leaves(plan.node)) if plan.node is not None else []
            share = share_asked(plan) if asking else 0.0
            for extraction in {extraction for extraction, _ in asking}:
                self._uses[extraction] += share * _WEIGHTS[extraction[1]]
            for extraction in {extraction for extraction, leaf in asking if _is_search(leaf)}:
                self._searches[extraction] += share
        for extraction, uses in sorted(self._uses.items(), key=lambda one: -one[1])[:MOST]:
            if uses >= (MANY_MORE if self._names else MANY) and len(self._names) < MOST:
                self._names.setdefault(extraction, _name(extraction))

    def rewritten(self, node: Node) -> Node:
        """Return an equivalent of ``node`` that reads fields in place of the values at extracted paths."""
        return replace_leaves(node, self._rewrite_leaf)

    def _rewrite_leaf(self, leaf: Leaf) -> Node:
        extraction = _extraction(leaf)
        name = None if extraction is None else self._names.get(extraction)
        if extraction is None or name is None:
            return leaf
        match leaf:
            case Compare(operator=Operator.EQ, right=Literals(kind=Kind.TEXT, values=values)):
                return Has(name, tuple(sorted({str(value) for value in values})))
            case Compare(operator=operator, right=right):
                return _with_change(extraction, Compare(operator, FieldValue(name), right))
            case TextTest(test=test, texts=texts):
                return _with_change(extraction, TextTest(test, FieldValue(name), texts))
            case Contains(members=Literals(values=values)):  # the texts only say whether a look at the path is worth it
                return conjunction_of(TextTest(Test.INCLUDES, FieldValue(name), tuple(map(str, values))), leaf)
            case _:
                return leaf


def asked_leaves(node: Node) -> Iterator[tuple[Extraction, Leaf]]:
    """Yield the leaves of ``node`` that ask about texts or numbers at a path, each with these."""
    return ((extraction, leaf) for leaf in leaves(node) if (extraction := _extraction(leaf)))


def _is_search(leaf: Leaf) -> bool:
    """Return whether ``leaf`` asks for texts that hold a word it knows."""
    match leaf:
        case TextTest():
            return bool(required_words(leaf))
        case Contains(value=value, members=Literals(values=values)):
            return bool(required_words(TextTest(Test.INCLUDES, value, tuple(map(str, values)))))
        case _:
            return False


def _extraction(leaf: Leaf) -> Extraction | None:
    """Return the values that alone decide ``leaf``, or can rule it out."""
    match leaf:
        case Compare(left=PathValue() as path, right=Literals(kind=Kind.TEXT | Kind.NUMBER as kind)):
            return (path, kind) if _begins_at_a_key(path) else None
        case (
            TextTest(value=PathValue() as path) | Contains(value=PathValue() as path, members=Literals(kind=Kind.TEXT))
        ):
            return (path, Kind.TEXT) if _begins_at_a_key(path) else None
        case _:
            return None


def _with_change(extraction: Extraction, leaf: Leaf) -> Node:
    """Return ``leaf`` and what it implies: a field that has an old or a new value has changed. Alerts hang from it."""
    path, _ = extraction
    return conjunction_of(Has("fieldChanged", (path.change,)), leaf) if path.change else leaf


def _begins_at_a_key(path: PathValue) -> bool:
    """Return whether one key of the document leads to all of its values."""
    return path.root is not PathRoot.ENTITY or isinstance(next(iter(path.steps), None), str)


def _name(extraction: Extraction) -> str:
    path, kind = extraction
    prefix = TAKEN_NUMBERS if kind is Kind.NUMBER else TAKEN
    return prefix + sha256(repr(path).encode()).hexdigest()[:12]
