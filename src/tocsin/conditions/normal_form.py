"""Normal form of conditions: a disjunction of conjunctions that an index can be built on.

A conjunction requires one test of each of its groups and none of its forbidden tests; a test is a fact (a field has a
value) or any other leaf. Alternatives stay together in a group instead of multiplying out.
Next: ``spark/index_rows.py`` makes rows of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from tocsin.conditions.nodes import Has, Leaf, Node
from tocsin.logic import And, Constant, Not, Or

MAX_TERMS = 200
"""Tests in the whole normal form; a condition with more is evaluated as written, unindexed."""


@dataclass(frozen=True, slots=True)
class Fact:
    """The field equals, or as a set holds, the value."""

    field: str
    value: str


Term = Fact | Leaf
Group = frozenset[Term]


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Holds when some test of every group holds and no forbidden test does."""

    groups: frozenset[Group] = frozenset()
    forbidden: Group = frozenset()

    def size(self) -> int:
        """Return how many tests it names."""
        return len(self.forbidden) + sum(len(group) for group in self.groups)


Disjunction = frozenset[Conjunction]

ALWAYS: Disjunction = frozenset({Conjunction()})
NEVER: Disjunction = frozenset()


class _TooManyTerms(Exception):  # a signal between the functions below, never an error
    """The normal form would exceed ``MAX_TERMS``."""


def normal_form(node: Node) -> Disjunction | None:
    """Return ``node`` as a disjunction of conjunctions; None when that takes more than ``MAX_TERMS`` tests."""
    try:
        return _form(node, holds=True)
    except _TooManyTerms:
        return None


def _form(node: Node, *, holds: bool) -> Disjunction:
    """Return the normal form of "``node`` holds", or of "it does not": negation is pushed down to the tests."""
    match node:
        case Constant(holds=constant):
            return ALWAYS if constant is holds else NEVER
        case Not(operand=operand):
            return _form(operand, holds=not holds)
        case And(operands=operands) | Or(operands=operands):
            join = _join_all if isinstance(node, And) is holds else _some
            return join([_form(operand, holds=holds) for operand in operands])
        case leaf:
            terms = _terms(leaf)  # type: ignore[arg-type]  # what is none of the above is a leaf
            return _check_size(frozenset({Conjunction(frozenset({terms})) if holds else Conjunction(forbidden=terms)}))


def _terms(leaf: Leaf) -> Group:
    if isinstance(leaf, Has):
        return frozenset(Fact(leaf.field, value) for value in leaf.values)
    return frozenset({leaf})


def _join_all(parts: list[Disjunction]) -> Disjunction:
    """Return the parts joined by "and": every way to take one conjunction of each."""
    joined = ALWAYS
    for part in parts:
        pairs = (_join_both(a, b) for a, b in product(joined, part))
        joined = _check_size(frozenset(pair for pair in pairs if pair is not None))
    return joined


def _join_both(a: Conjunction, b: Conjunction) -> Conjunction | None:
    """Return both at once, or None when they contradict each other."""
    forbidden = a.forbidden | b.forbidden
    groups = frozenset(group - forbidden for group in a.groups | b.groups)
    return None if frozenset() in groups else Conjunction(groups, forbidden)


def _some(parts: list[Disjunction]) -> Disjunction:
    """Return the parts joined by "or": lone groups merge into one group of alternatives."""
    conjunctions = frozenset().union(*parts)
    if Conjunction() in conjunctions:
        return ALWAYS
    lone = {c for c in conjunctions if len(c.groups) == 1 and not c.forbidden}
    if len(lone) < 2:
        return _check_size(conjunctions)
    merged: Group = frozenset().union(*(group for c in lone for group in c.groups))
    return _check_size((conjunctions - lone) | {Conjunction(groups=frozenset({merged}))})


def _check_size(disjunction: Disjunction) -> Disjunction:
    if sum(conjunction.size() for conjunction in disjunction) > MAX_TERMS:
        raise _TooManyTerms
    return disjunction
