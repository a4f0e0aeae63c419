"""Conditions on test results, as alerts about tables have them: such an alert is about the tests of its tables as well.

Tables report no results; what asks for one can only mean a test's. Next: ``flow/match/plan.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from tocsin.conditions.fields import STREAK_FIELDS, TESTED_FQN, TESTED_NAMES, has
from tocsin.conditions.nodes import (
    Compare,
    Contains,
    FieldValue,
    Filled,
    Has,
    Leaf,
    Lowered,
    Node,
    PathRoot,
    PathValue,
    Present,
    TextTest,
    Value,
)
from tocsin.logic import NEVER, replaced
from tocsin.model.change import REPORTED_AT, EventType

TEST_CASE = "testCase"

_OF_TESTS = frozenset({"testStatus", "testSuites", TESTED_FQN, TESTED_NAMES})
_OF_REPORTS = STREAK_FIELDS | {REPORTED_AT}
_RESULTS = ("testCaseResult", "testCaseStatus")
_PATHS = frozenset({"fieldChanged", "fieldsAdded", "fieldsUpdated", "fieldsDeleted"})
_ONLY_OF_TESTS: dict[str, Callable[[str], bool]] = {
    "entityType": lambda one: one == TEST_CASE,
    "eventType": lambda one: one == EventType.TEST_CASE_FAILURE,
    **dict.fromkeys(_PATHS, lambda one: one.startswith(_RESULTS)),
}
"""Values that these fields have for test cases alone."""


def without_results(node: Node, *, keep_reports: bool = False) -> Node:
    """Return ``node`` simplified for an event that reports nothing: whatever asks for a test's results is missing.

    ``keep_reports`` is for events that may report something else, a run: what asks for any report stays.
    """
    missing = _OF_TESTS if keep_reports else _OF_TESTS | _OF_REPORTS

    def rest(leaf: Leaf) -> Node:
        match leaf:
            case Has(field=field, values=values) if field in _ONLY_OF_TESTS:
                return has(field, tuple(one for one in values if not _ONLY_OF_TESTS[field](one)))
            case Has(field=field):
                return NEVER if field in missing else leaf
            case Compare(left=left, right=right):
                return NEVER if _is_missing(left, missing) or _is_missing(right, missing) else leaf
            case TextTest(value=value) | Present(value=value) | Filled(value=value) | Contains(value=value):
                return NEVER if _is_missing(value, missing) else leaf
            case _:
                return leaf

    return replaced(node, rest)


def _is_missing(value: Value, missing: frozenset[str]) -> bool:
    match value:
        case Lowered(of=of):
            return _is_missing(of, missing)
        case FieldValue(name=name):
            return name in missing
        case PathValue(root=PathRoot.ENTITY, steps=steps):
            return bool(steps) and steps[0] in _RESULTS
        case PathValue(change=path):
            return bool(path) and str(path).startswith(_RESULTS)
        case _:
            return False
