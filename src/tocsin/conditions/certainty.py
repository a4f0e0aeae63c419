"""Is a condition true of every event, or of none? Never claimed wrongly, and not always seen.

A condition is never true when every conjunction of its normal form contradicts itself; always, when its negation never
is. Next: ``flow/match/remarks.py`` tells whoever saves an alert.
"""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from math import inf

from tocsin.conditions.changes import CHANGE_SETS
from tocsin.conditions.fields import CLOSURES, FIELDS
from tocsin.conditions.nodes import (
    Compare,
    Contains,
    FieldValue,
    Filled,
    Kind,
    Leaf,
    Literals,
    Lowered,
    Node,
    Operator,
    Present,
    TextTest,
    Value,
    negated,
)
from tocsin.conditions.normal_form import Conjunction, Fact, Group, Term, normal_form

_ALWAYS_THERE: frozenset[Value] = frozenset(map(FieldValue, ("eventType", "entityType", "entityId", "timestamp")))
"""What no event is without."""


class Certainty(StrEnum):
    """What is certain of a condition before any event is seen."""

    ALWAYS = "always"
    NEVER = "never"


def certainty(node: Node) -> Certainty | None:
    """Return what is certain of ``node``; None when events decide it, or when it is too large to tell."""
    if is_never(node):
        return Certainty.NEVER
    return Certainty.ALWAYS if is_never(negated(node)) else None


def is_never(node: Node) -> bool:
    """Say whether ``node`` certainly holds for no event."""
    form = normal_form(node)
    return form is not None and all(map(_contradicts, form))


def _contradicts(conjunction: Conjunction) -> bool:
    """Say whether no event can have a test of each group and none of the forbidden ones."""
    absent = {term.value for term in conjunction.forbidden if isinstance(term, Present)}
    if absent & _ALWAYS_THERE:
        return True
    empty = {term.value for term in conjunction.forbidden if isinstance(term, Filled)}
    groups = [
        frozenset(term for term in group if not _needs(term, absent) and not _fills(term, empty))
        for group in conjunction.groups
    ]
    return any(not group for group in groups) or _at_odds(groups) or _out_of_bounds(groups)


def _needs(term: Term, absent: set[Value]) -> bool:
    """Say whether ``term`` is false because it asks for something of what is missing."""
    match term:
        case Fact(field=field):
            return FieldValue(CLOSURES.get(field, field)) in absent
        case Compare(left=left, right=right):
            return _plain(left) in absent or _plain(right) in absent
        case TextTest(value=value) | Filled(value=value) | Contains(value=value) | Present(value=value):
            return _plain(value) in absent
        case _:
            return False


def _fills(term: Term, empty: set[Value]) -> bool:
    """Say whether ``term`` is false because it asks for some text of what holds but the empty one."""
    match term:
        case Fact(field=field, value=value):
            return value != "" and FieldValue(CLOSURES.get(field, field)) in empty
        case Compare(operator=Operator.EQ, left=left, right=Literals(values=values)):
            return "" not in values and _plain(left) in empty
        case _:
            return False


def _plain(value: Value) -> Value:
    return value.of if isinstance(value, Lowered) else value


def _at_odds(groups: list[Group]) -> bool:
    """Say whether a field that has one value at most would need two."""
    wanted: dict[str, set[str]] = {}
    for group in groups:
        fields = {term.field if isinstance(term, Fact) else "" for term in group}
        if len(fields) == 1 and _is_single(field := fields.pop()):
            values = {term.value for term in group if isinstance(term, Fact)}
            wanted[field] = wanted[field] & values if field in wanted else values
    return any(not values for values in wanted.values())


def _is_single(field: str) -> bool:
    if not field or field in CLOSURES or field in CHANGE_SETS:
        return False
    return FIELDS[field].kind is not Kind.TEXTS


def _out_of_bounds(groups: list[Group]) -> bool:
    """Say whether a number would have to lie where no number can."""
    least: dict[str, float] = defaultdict(lambda: -inf)
    most: dict[str, float] = defaultdict(lambda: inf)
    strict: set[tuple[str, float]] = set()
    for leaf in (next(iter(group)) for group in groups if len(group) == 1):
        for field, operator, value in _bounds(leaf):
            if operator in (Operator.GT, Operator.GE, Operator.EQ):
                least[field] = max(least[field], value)
            if operator in (Operator.LT, Operator.LE, Operator.EQ):
                most[field] = min(most[field], value)
            if operator in (Operator.LT, Operator.GT):
                strict.add((field, value))
    fields = least.keys() | most.keys()
    return any(least[f] > most[f] or (least[f] == most[f] and (f, least[f]) in strict) for f in fields)


def _bounds(leaf: Leaf | Fact) -> list[tuple[str, Operator, float]]:
    """Return what ``leaf`` says of a number of the event, when it compares one with one."""
    if not isinstance(leaf, Compare) or not isinstance(leaf.left, FieldValue) or not isinstance(leaf.right, Literals):
        return []
    if leaf.right.kind is not Kind.NUMBER or len(leaf.right.values) != 1:
        return []
    return [(leaf.left.name, leaf.operator, float(leaf.right.values[0]))]
