"""Detection of conditions that are always or never true: sound, but not complete.

A condition is never true if every conjunction of its normal form contradicts itself; it is always true if its negation
is never true. Next: ``flow/match/remarks.py`` warns the alert's author.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from math import inf

from tocsin.conditions.changes import CHANGE_SETS
from tocsin.conditions.evaluate import compares, passes
from tocsin.conditions.fields import CLOSURES, STORED
from tocsin.conditions.nodes import (
    Compare,
    FieldValue,
    Filled,
    Kind,
    Literals,
    Lowered,
    Node,
    Operator,
    Present,
    Size,
    TextTest,
    Value,
    plain_value,
    values_in,
)
from tocsin.conditions.normal_form import Conjunction, Fact, Group, Term, normal_form
from tocsin.logic import negation_of

_ALWAYS_THERE: frozenset[Value] = frozenset(map(FieldValue, ("eventType", "entityType", "entityId", "timestamp")))
"""What no event is without."""

_NEVER_NEGATIVE = frozenset(map(FieldValue, ("streak", "failures", "failuresBefore", "unchangedFor")))
_OPPOSITE = {
    Operator.LT: Operator.GE,
    Operator.LE: Operator.GT,
    Operator.GT: Operator.LE,
    Operator.GE: Operator.LT,
}


class Certainty(StrEnum):
    """What is certain of a condition before any event is seen."""

    ALWAYS = "always"
    NEVER = "never"


def certainty(node: Node) -> Certainty | None:
    """Return what is certain of ``node``; None when events decide it, or when it is too large to analyse."""
    if is_never(node):
        return Certainty.NEVER
    return Certainty.ALWAYS if is_never(negation_of(node)) else None


def is_never(node: Node) -> bool:
    """Return whether ``node`` certainly holds for no event."""
    form = normal_form(node)
    return form is not None and all(map(_contradicts, form))


def _contradicts(conjunction: Conjunction) -> bool:
    """Return whether no event can have a test of each group and none of the forbidden ones."""
    absent = {term.value for term in conjunction.forbidden if isinstance(term, Present)}
    if absent & _ALWAYS_THERE:
        return True
    empty = {term.value for term in conjunction.forbidden if isinstance(term, Filled)}
    groups = [
        frozenset(term for term in group if not _needs(term, absent) and not _fills(term, empty))
        for group in conjunction.groups
    ]
    if any(not group for group in groups) or _at_odds(groups, conjunction.forbidden):
        return True
    return _out_of_bounds([*(next(iter(group)) for group in groups if len(group) == 1), *_opposites(conjunction)])


def _needs(term: Term, absent: set[Value]) -> bool:
    """Return whether ``term`` is false because it asks for something of what is missing."""
    if isinstance(term, Fact):
        return FieldValue(CLOSURES.get(term.field, term.field)) in absent
    return not absent.isdisjoint(map(plain_value, values_in(term)))


def _fills(term: Term, empty: set[Value]) -> bool:
    """Return whether ``term`` is false because it asks for some text of what holds but the empty one."""
    match term:
        case Fact(field=field, value=value):
            return value != "" and FieldValue(CLOSURES.get(field, field)) in empty
        case Compare(operator=Operator.EQ, left=operand, right=Literals(values=values)):
            return "" not in values and plain_value(operand) in empty
        case _:
            return False


def _at_odds(groups: list[Group], forbidden: Group) -> bool:
    """Return whether a field that has one value at most would need two, or one that fails another test."""
    values_by_field: dict[str, set[str]] = {}
    for group in groups:
        fields = {term.field if isinstance(term, Fact) else "" for term in group}
        if len(fields) == 1 and _is_single(field := fields.pop()):
            values = {term.value for term in group if isinstance(term, Fact)}
            values_by_field[field] = values_by_field[field] & values if field in values_by_field else values
    return any(
        all(_is_refuted(field, value, groups, forbidden) for value in values)
        for field, values in values_by_field.items()
    )


def _is_refuted(field: str, value: str, groups: list[Group], forbidden: Group) -> bool:
    """Return whether a text that has to be ``value`` cannot pass the other tests."""
    fails = any(all(_verdict(term, field, value) is False for term in group) for group in groups)
    return fails or any(_verdict(term, field, value) for term in forbidden)


def _verdict(term: Term, field: str, value: str) -> bool | None:
    """Return the value of ``term`` where the field is ``value``, as facts write it; None when that is not enough."""
    match term:
        case Compare(operator=operator, left=operand, right=Literals(kind=Kind.TEXT, values=values)):
            visible = _visible_value(operand, field, value)
            return None if visible is None else compares(operator, (visible,), values)
        case TextTest(test=test, value=operand, texts=texts):
            visible = _visible_value(operand, field, value)
            return None if visible is None else any(passes(test, visible, text) for text in texts)
        case _:
            return None


def _visible_value(operand: Value, field: str, value: str) -> str | None:
    """Return what is seen at ``operand`` where the field is ``value``: of a status, its case is not known."""
    kind = STORED[field].kind
    if operand == Lowered(FieldValue(field)) and kind in (Kind.TEXT, Kind.STATUS):
        return value.lower()
    return value if operand == FieldValue(field) and kind is Kind.TEXT else None


def _is_single(field: str) -> bool:
    if not field or field in CLOSURES or field in CHANGE_SETS:
        return False
    return STORED[field].kind is not Kind.TEXTS


def _opposites(conjunction: Conjunction) -> Iterator[Compare]:
    """Yield what must hold of a number that is always there because the opposite must not."""
    compared = (term for term in conjunction.forbidden if isinstance(term, Compare) and term.operator in _OPPOSITE)
    for term in compared:
        if isinstance(term.left, Size) or term.left in _ALWAYS_THERE:
            yield replace(term, operator=_OPPOSITE[term.operator])


def _out_of_bounds(terms: list[Term]) -> bool:
    """Return whether a number would have to be outside the range of its field."""
    least: dict[Value, float] = defaultdict(lambda: -inf)
    greatest: dict[Value, float] = defaultdict(lambda: inf)
    strict: set[tuple[Value, float]] = set()
    for operand, operator, value in filter(None, map(_number_bound, terms)):
        if isinstance(operand, Size) or operand in _NEVER_NEGATIVE:
            least[operand] = max(least[operand], 0.0)
        if operator in (Operator.GT, Operator.GE, Operator.EQ):
            least[operand] = max(least[operand], value)
        if operator in (Operator.LT, Operator.LE, Operator.EQ):
            greatest[operand] = min(greatest[operand], value)
        if operator in (Operator.LT, Operator.GT):
            strict.add((operand, value))
    bounded_fields = least.keys() | greatest.keys()
    return any(least[v] > greatest[v] or (least[v] == greatest[v] and (v, least[v]) in strict) for v in bounded_fields)


def _number_bound(term: Term) -> tuple[Value, Operator, float] | None:
    """Return what ``term`` says of a number of the event, when it compares one with one."""
    match term:
        case Compare(
            operator=operator, left=FieldValue() | Size() as operand, right=Literals(kind=Kind.NUMBER, values=(value,))
        ):
            return operand, operator, float(value)
        case _:
            return None
