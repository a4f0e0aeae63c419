"""Normal form of conditions: a disjunction of conjunctions that an index can be built on.

A conjunction requires one test of each of its groups and none of its forbidden tests; a test is a fact (a field has a
value) or any other leaf. Alternatives stay together in a group instead of multiplying out.
Next: ``spark/index_rows.py`` makes rows of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from tocsin.conditions.nodes import And, Constant, Has, Leaf, Node, Not, Or

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
        return _positive(node)
    except _TooManyTerms:
        return None


def _positive(node: Node) -> Disjunction:
    match node:
        case Constant(holds=holds):
            return ALWAYS if holds else NEVER
        case Not(operand=operand):
            return _negative(operand)
        case And(operands=operands):
            return _all([_positive(operand) for operand in operands])
        case Or(operands=operands):
            return _some([_positive(operand) for operand in operands])
        case _:
            return _bounded(frozenset({Conjunction(groups=frozenset({_terms(node)}))}))


def _negative(node: Node) -> Disjunction:
    match node:
        case Constant(holds=holds):
            return NEVER if holds else ALWAYS
        case Not(operand=operand):
            return _positive(operand)
        case And(operands=operands):
            return _some([_negative(operand) for operand in operands])
        case Or(operands=operands):
            return _all([_negative(operand) for operand in operands])
        case _:
            return _bounded(frozenset({Conjunction(forbidden=_terms(node))}))


def _terms(leaf: Leaf) -> Group:
    if isinstance(leaf, Has):
        return frozenset(Fact(leaf.field, value) for value in leaf.values)
    return frozenset({leaf})


def _all(parts: list[Disjunction]) -> Disjunction:
    """Return the parts joined by "and": every way to take one conjunction of each."""
    joined = ALWAYS
    for part in parts:
        pairs = (_both(a, b) for a, b in product(joined, part))
        joined = _bounded(frozenset(pair for pair in pairs if pair is not None))
    return joined


def _both(a: Conjunction, b: Conjunction) -> Conjunction | None:
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
        return _bounded(conjunctions)
    merged: Group = frozenset().union(*(group for c in lone for group in c.groups))
    return _bounded((conjunctions - lone) | {Conjunction(groups=frozenset({merged}))})


def _bounded(disjunction: Disjunction) -> Disjunction:
    if sum(conjunction.size() for conjunction in disjunction) > MAX_TERMS:
        raise _TooManyTerms
    return disjunction
