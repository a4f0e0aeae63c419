"""Conditions on test results, as alerts about tables have them: such an alert is about the tests of its tables as well.

Where a test lies, and that it is one, is no result. Next: ``flow/match/plan.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from tocsin.conditions.fields import STREAK_FIELDS, TESTED_FQN, TESTED_NAMES, has
from tocsin.conditions.nodes import (
    FieldValue,
    Has,
    Leaf,
    Lowered,
    Node,
    PathRoot,
    PathValue,
    Present,
    Size,
    Value,
    values_in,
)
from tocsin.logic import NEVER, And, Constant, Not, Or, conjunction_of, disjunction_of, negation_of, replace_leaves
from tocsin.model.change import REPORTED_AT, EventType

TEST_CASE, TEST_SUITE = "testCase", "testSuite"

_REPORTS = STREAK_FIELDS | {REPORTED_AT}
_RESULTS = _REPORTS | {"testStatus"}
_ONLY_OF_TESTS = frozenset({"testStatus", TESTED_FQN, TESTED_NAMES})
_PATHS = ("testCaseResult", "testCaseStatus")
_CHANGED = ("fieldChanged", "fieldsAdded", "fieldsUpdated", "fieldsDeleted")
_RESULT_VALUES: dict[str, Callable[[str], bool]] = {
    "eventType": lambda one: one == EventType.TEST_CASE_FAILURE,
    **dict.fromkeys(_CHANGED, lambda one: one.startswith(_PATHS)),
}
"""Values that these fields have only in events that report a result, or remove one."""

_TEST_VALUES = _RESULT_VALUES | {"entityType": lambda one: one == TEST_CASE}
"""Values that these fields have for test cases alone."""


def about_results(node: Node) -> Node:
    """Return "a test's event is about a result, and ``node`` holds because of it"; ``NEVER`` if it asks for none."""
    because = _because_of_results(node, holds=True)
    is_about_result = disjunction_of(Present(FieldValue(REPORTED_AT)), has("fieldChanged", _PATHS))
    return conjunction_of(has("entityType", (TEST_CASE,)), is_about_result, because)


def without_tests(node: Node, *, keep_reports: bool) -> Node:
    """Return ``node`` simplified for an event of something other than a test: whatever only tests have is missing.

    ``keep_reports`` is for events that may report something else, a run: what asks for any report stays.
    """
    missing = _ONLY_OF_TESTS if keep_reports else _ONLY_OF_TESTS | _REPORTS

    def without_test_values(leaf: Leaf) -> Node:
        match leaf:
            case Has(field=field, values=values) if field in _TEST_VALUES:
                return has(field, tuple(one for one in values if not _TEST_VALUES[field](one)))
            case _:
                return NEVER if reads(leaf, missing) else leaf

    return replace_leaves(node, without_test_values)


def _because_of_results(node: Node, *, holds: bool) -> Node:
    """Return "the node, or its negation if not ``holds``, is true, and a true test of a result makes it so".

    That a result is another or missing makes nothing so: it is true of events without any.
    """
    match node:
        case Constant():
            return NEVER
        case Not(operand=operand):
            return _because_of_results(operand, holds=not holds)
        case And(operands=operands) | Or(operands=operands):
            parts = [_because_of_results(one, holds=holds) for one in operands]
            if isinstance(node, Or) is holds:
                return disjunction_of(*parts)
            condition = node if holds else negation_of(node)
            return (
                condition if not set(parts).isdisjoint(operands) else conjunction_of(condition, disjunction_of(*parts))
            )
        case leaf:
            return _result(leaf) if holds else NEVER  # type: ignore[arg-type]  # whatever is none of the above


def _result(leaf: Leaf) -> Node:
    """Return the part of a leaf that is a test of a result."""
    match leaf:
        case Has(field=field, values=values) if field in _RESULT_VALUES:
            return has(field, tuple(one for one in values if _RESULT_VALUES[field](one)))
        case _:
            return leaf if reads(leaf, _RESULTS, counts=True) else NEVER


def reads(leaf: Leaf, fields: frozenset[str], *, counts: bool = False) -> bool:
    """Return whether a leaf reads one of these fields; with ``counts``, or their number.

    With ``testStatus`` a result in a document counts as well.
    """
    return any(_is_of(value, fields, counts=counts) for value in values_in(leaf))


def _is_of(value: Value, fields: frozenset[str], *, counts: bool) -> bool:
    match value:
        case Lowered(value=inner):
            return _is_of(inner, fields, counts=counts)
        case Size(value=inner):
            return counts and _is_of(inner, fields, counts=counts)
        case FieldValue(name=name):
            return name in fields
        case PathValue(root=PathRoot.ENTITY, steps=steps):
            return "testStatus" in fields and bool(steps) and steps[0] in _PATHS
        case PathValue(change=path):
            return "testStatus" in fields and bool(path) and str(path).startswith(_PATHS)
        case _:
            return False
