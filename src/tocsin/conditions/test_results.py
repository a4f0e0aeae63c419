"""Conditions on test results, as alerts about tables have them: such an alert is about the tests of its tables as well.

Where a test lies, and that it is one, is no result. Next: ``flow/match/plan.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from tocsin.conditions.asset_states import IS_CHECK, states_asked
from tocsin.conditions.causes import because_of
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
from tocsin.logic import NEVER, conjunction_of, disjunction_of, replace_leaves
from tocsin.model.change import REPORTED_AT, STATE_AT_SCHEDULE, STILL_WITHOUT_OWNER, EventType

TEST_CASE, TEST_SUITE = "testCase", "testSuite"

_REPORTS = STREAK_FIELDS | {REPORTED_AT}
_RESULTS = _REPORTS | {"testStatus"}
_ONLY_OF_TESTS = frozenset({"testStatus", TESTED_FQN, TESTED_NAMES})
_PATHS = ("testCaseResult", "testCaseStatus")
_CHANGED = ("fieldChanged", "fieldsAdded", "fieldsUpdated", "fieldsDeleted")
_RESULT_VALUES: dict[str, Callable[[str], bool]] = {
    "eventType": lambda one: one == EventType.TEST_CASE_FAILURE,
    **dict.fromkeys(_CHANGED, lambda one: one.startswith(_PATHS)),
    STATE_AT_SCHEDULE: lambda one: one != STILL_WITHOUT_OWNER,
}
"""Values that these fields have only in events that report a result, or remove one, or say what results are."""

_TEST_VALUES = _RESULT_VALUES | {"entityType": lambda one: one == TEST_CASE}
"""Values that these fields have for test cases alone."""


def about_results(node: Node) -> Node:
    """Return "a test's event is about a result, and ``node`` holds because of it"; ``NEVER`` if it asks for none."""
    because = because_of(node, _result)
    is_check = IS_CHECK if states_asked(node) else NEVER
    is_about_result = disjunction_of(Present(FieldValue(REPORTED_AT)), has("fieldChanged", _PATHS), is_check)
    return conjunction_of(has("entityType", (TEST_CASE,)), is_about_result, because)


def without_tests(node: Node, *, keep_reports: bool) -> Node:
    """Return ``node`` simplified for an event of something other than a test: whatever only tests have is missing.

    ``keep_reports`` is for events that may report something else, a run: what asks for any report stays.
    """
    missing = _ONLY_OF_TESTS if keep_reports else _ONLY_OF_TESTS | _REPORTS

    def without_test_values(leaf: Leaf) -> Node:
        match leaf:
            case Has(field=field) if field == STATE_AT_SCHEDULE and keep_reports:
                return leaf
            case Has(field=field, values=values) if field in _TEST_VALUES:
                return has(field, tuple(one for one in values if not _TEST_VALUES[field](one)))
            case _:
                return NEVER if reads(leaf, missing) else leaf

    return replace_leaves(node, without_test_values)


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
