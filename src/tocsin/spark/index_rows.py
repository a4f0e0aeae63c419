"""Rows of an alert in the match index: one per anchor, with the residual condition.

Facts are compared as hashes; only the rest is evaluated, as a program. Next: ``spark/match.py``, which joins events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from tocsin.conditions.normal_form import Conjunction, Fact, Group, Term
from tocsin.flow.match.indexing import Alternative, Anchor, ways
from tocsin.flow.match.plan import Plan
from tocsin.logic import NEVER, And, Formula, Not, Or, conjunction_of, disjunction_of, leaves, negation_of, operands_of
from tocsin.spark.anchors import number_of
from tocsin.spark.field_columns import is_stored
from tocsin.spark.programs import STEP, program_of
from tocsin.spark.signatures import ConditionTest, Shapes

SEPARATOR = "&"
"""Separator of the fields of an anchor of several facts."""

ROWS = pa.schema(
    [
        pa.field("anchor", pa.int64(), nullable=False),
        pa.field("fields", pa.string(), nullable=False),
        pa.field("subscription_id", pa.string(), nullable=False),
        pa.field("asked", pa.int64(), nullable=False),
        pa.field("created_at_ms", pa.int64(), nullable=False),
        pa.field("since_offset", pa.int64(), nullable=False),
        pa.field("earlier", pa.list_(pa.int64()), nullable=False),
        pa.field("facts", pa.string(), nullable=False),
        pa.field("needed", pa.list_(pa.int64()), nullable=False),
        pa.field("barred", pa.list_(pa.int64()), nullable=False),
        pa.field("guard_shape", pa.int32(), nullable=False),
        pa.field("guard", pa.string()),
        pa.field("program", pa.list_(STEP), nullable=False),
        pa.field("reads_document", pa.bool_(), nullable=False),
    ]
)
"""``spark/match.py`` says what the columns mean."""

UNGUARDED = -1
"""The guard of a row without one."""

Row = dict[str, Any]  # Any: columns of ``ROWS``

Condition = Formula[ConditionTest]


def rows_of(plan: Plan, shapes: Shapes, word_fields: Collection[str]) -> Iterable[Row]:
    """Yield a row per anchor of ``plan``; none for an anchor with which it never matches."""
    alternatives = ways(plan, word_fields)
    anchors = list(dict.fromkeys(anchor for way in alternatives for anchor in way.anchors))
    numbers = list(map(number_of, anchors))
    for at, anchor in enumerate(anchors):
        remaining_ways = [
            _residual(way, anchor) for way in alternatives if not set(way.anchors).isdisjoint(anchors[at:])
        ]
        needed_facts, excluding_facts = _required_facts(remaining_ways), _excluding_facts(remaining_ways)
        guard, condition = _split_guard(
            [_conditions(_remaining_conjunction(way, needed_facts, excluding_facts), shapes) for way in remaining_ways],
            shapes,
        )
        if condition is NEVER:
            continue
        yield {
            "anchor": numbers[at],
            "fields": SEPARATOR.join(anchor.fields),
            "subscription_id": plan.subscription_id,
            "asked": plan.accepted_answers,
            "created_at_ms": plan.created_at_ms,
            "since_offset": plan.since_offset,
            "earlier": numbers[:at],
            "facts": SEPARATOR.join(sorted({fact.field for fact in needed_facts | excluding_facts})),
            "needed": _numbers(needed_facts),
            "barred": _numbers(excluding_facts),
            "guard_shape": UNGUARDED if guard is None else guard.shape,
            "guard": None if guard is None else shapes.guard_text(guard),
            "program": program_of(condition),
            "reads_document": shapes.read_document({test.shape for test in leaves(condition)}),
        }


def _residual(way: Alternative, anchor: Anchor) -> Conjunction:
    """Return what ``way`` leaves to ask of an event that states ``anchor``."""
    return way.residual if anchor in way.anchors else way.condition


def _required_facts(conjunctions: Sequence[Conjunction]) -> frozenset[Fact]:
    """Return the facts without which none of these holds, of fields that are quick to read."""
    lone = (
        frozenset(_stored_facts(term for group in conjunction.groups if len(group) == 1 for term in group))
        for conjunction in conjunctions
    )
    return frozenset.intersection(*lone)


def _excluding_facts(conjunctions: Sequence[Conjunction]) -> frozenset[Fact]:
    """Return the facts with which none of these holds, of fields that are quick to read."""
    return frozenset.intersection(*(frozenset(_stored_facts(one.forbidden)) for one in conjunctions))


def _stored_facts(terms: Iterable[Term]) -> Iterator[Fact]:
    return (term for term in terms if isinstance(term, Fact) and is_stored(term.field))


def _numbers(facts: Iterable[Fact]) -> list[int]:
    return sorted(number_of(Anchor((fact.field,), (fact.value,))) for fact in facts)


def _remaining_conjunction(
    conjunction: Conjunction, needed_facts: Collection[Fact], barred: frozenset[Fact]
) -> Conjunction:
    """Return what is left of ``conjunction`` for an event that states what is needed, and nothing barred."""
    return Conjunction(
        conjunction.groups - {frozenset({fact}) for fact in needed_facts}, conjunction.forbidden - barred
    )


def _split_guard(ways: list[list[Condition]], shapes: Shapes) -> tuple[ConditionTest | None, Condition]:
    """Return a guard, a cheap test that all ways have, and what is left to ask; no guard where there is none.

    Each way is a list of conditions that must all hold. A guard that is sufficient for its test is preferred, and
    not asked again.
    """
    shared_parts = [part for part in ways[0] if all(part in way for way in ways)]
    tests = [part for part in shared_parts if isinstance(part, ConditionTest) and shapes.guard_text(part) is not None]
    guard = min(tests, key=lambda test: not shapes.decides(test.shape), default=None)
    is_asked = guard is not None and shapes.decides(guard.shape)
    remaining_ways = [[part for part in way if not (is_asked and part == guard)] for way in ways]
    return guard, disjunction_of(*(conjunction_of(*way) for way in remaining_ways))


def _conditions(way: Conjunction, shapes: Shapes) -> list[Condition]:
    """Return the conditions that must all hold for ``way``, the cheapest to read first."""
    groups = sorted(way.groups, key=lambda group: (len(group), repr(sorted(map(repr, group)))))
    barred = [negation_of(_some_of(way.forbidden, shapes))] if way.forbidden else []
    return shapes.join_tests([*(_some_of(group, shapes) for group in groups), *barred])


def _some_of(group: Group, shapes: Shapes) -> Condition:
    """Return that some test of ``group`` passes; what could not be normalised has parts of its own."""
    return _to_tests(disjunction_of(*group), shapes)  # type: ignore[arg-type]  # facts and leaves


def _to_tests(formula: Formula[Any], shapes: Shapes) -> Condition:  # Any: facts and leaves
    """Return a formula with tests as leaves; those that differ in their constants only are one, as far as they can."""
    match formula:
        case And(operands=operands):
            return conjunction_of(*shapes.join_tests([_to_tests(operand, shapes) for operand in operands]))
        case Not(operand=operand):
            return negation_of(_to_tests(operand, shapes))
        case _:
            operands = operands_of(formula, Or)
            parts = [operand for operand in operands if isinstance(operand, And | Not)]
            return disjunction_of(
                *shapes.tests(frozenset(operands).difference(parts)),  # type: ignore[arg-type]  # facts and leaves
                *(_to_tests(part, shapes) for part in parts),
            )
