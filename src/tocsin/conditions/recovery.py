"""Recovery conditions: derived from the condition of an alert on failures, for its "resolved" notifications.

A recovery condition requires a success after failures. It leaves out what the alert requires of the failure itself
(status, streak, values), keeps everything else, and requires as many failures before as the alert does. Next:
``flow/match/plan.py``.
"""

from __future__ import annotations

from tocsin.conditions.nodes import (
    Compare,
    FieldValue,
    Kind,
    Leaf,
    Literals,
    Node,
    Operator,
    PathRoot,
    PathValue,
    innermost,
    values_in,
)
from tocsin.conditions.relaxation import relaxation_of
from tocsin.conditions.streaks import fields_of, is_of_report, resolution
from tocsin.errors import InvalidInput
from tocsin.logic import ALWAYS, conjunction_of, disjunction_of, leaves

SEND_RESOLVED = "trigger.sendResolved"

_COUNTS = ("streak", "failures")
_TIMES = ("withoutSuccess", "withoutSuccessBefore")
_REPORTS = frozenset({"testCaseResult", "pipelineStatus"})


def with_recovery(node: Node) -> Node:
    """Return "what ``node`` asks for, or a success after the failures that it asks for".

    Raises
    ------
    InvalidInput : it asks for no report of a status, or for a time without success, which no report ends
    """
    report_leaves = [leaf for leaf in leaves(node) if _is_about_report(leaf)]
    if not report_leaves:
        raise InvalidInput(
            "needs a condition on the status of tests or runs, such as firstFailure()", field=SEND_RESOLVED
        )
    if any(fields_of(leaf) & set(_TIMES) for leaf in report_leaves):
        raise InvalidInput("cannot be combined with noSuccessFor: what was late is not a failure", field=SEND_RESOLVED)
    return disjunction_of(node, conjunction_of(resolution(), relaxation_of(node, _remainder)))


def _remainder(leaf: Leaf) -> Node | None:
    """Return what is required in place of a leaf about the report; None for any other."""
    return _count_condition(leaf) if _is_about_report(leaf) else None


def _count_condition(leaf: Leaf) -> Node:
    """Return "there were at least so many failures" for a number of them; else no condition."""
    if isinstance(leaf, Compare) and isinstance(leaf.left, FieldValue) and isinstance(leaf.right, Literals):
        numbers = [one for one in leaf.right.values if isinstance(one, float | int) and not isinstance(one, bool)]
        if leaf.left.name in _COUNTS and numbers and leaf.operator in (Operator.EQ, Operator.GE, Operator.GT):
            least = Literals(Kind.NUMBER, (float(min(numbers)),))
            operator = Operator.GT if leaf.operator is Operator.GT else Operator.GE
            return Compare(operator, FieldValue("failuresBefore"), least)
    return ALWAYS


def _is_about_report(leaf: Leaf) -> bool:
    """Return whether a leaf is about the report that an event brings: its status, its streak or a value in it."""
    values = map(innermost, values_in(leaf))
    return is_of_report(leaf) or any(isinstance(one, PathValue) and _is_in_report(one) for one in values)


def _is_in_report(path: PathValue) -> bool:
    first = path.change if path.root is not PathRoot.ENTITY else path.steps[0] if path.steps else None
    return isinstance(first, str) and first in _REPORTS
