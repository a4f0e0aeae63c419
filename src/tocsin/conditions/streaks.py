"""Functions on an entity's earlier reports, expanded to fields, and detection of conditions that use them.

``flow/match/streak.py`` computes the fields. Next: ``conditions/functions.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tocsin.conditions.fields import NESTED_STATUSES, STREAK_FIELDS, has
from tocsin.conditions.nodes import (
    Compare,
    FieldValue,
    Has,
    Kind,
    Leaf,
    Literals,
    Node,
    Operator,
    PathValue,
    innermost,
    plain_value,
    values_in,
)
from tocsin.errors import InvalidCondition
from tocsin.logic import NEVER, conjunction_of, disjunction_of, leaves, replace_leaves
from tocsin.model.change import EventType
from tocsin.model.status import all_words, verdict_of

Texts = tuple[str, ...]

_WITHOUT, _BEFORE = FieldValue("withoutSuccess"), FieldValue("withoutSuccessBefore")
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([1-9][0-9]{0,6})([smhd])")
_MOST_TIMES = 10_000
_OF_REPORTS = STREAK_FIELDS | {"testStatus", "pipelineStatus", "reportedAt"}


def transition(before: Texts, after: Texts) -> Node:
    """Return "it was one of ``before`` and is now one of ``after``"."""
    return conjunction_of(has("previousStatus", before), _reports(after))


def in_a_row(statuses: Texts, times: Texts) -> Node:
    """Return "exactly the n-th consecutive report with one of ``statuses``"; it does not hold for later ones."""
    counts = tuple(sorted({count_of(one) for one in times}))
    return conjunction_of(_reports(statuses), _equals("streak", counts))


def first_failure() -> Node:
    """Return "the first failure since the last success, or ever"."""
    return _equals("failures", (1.0,))


def resolution() -> Node:
    """Return "a success after failures"."""
    return Compare(Operator.GT, FieldValue("failuresBefore"), Literals(Kind.NUMBER, (0.0,)))


def no_success_for(durations: Texts) -> Node:
    """Return "now it has been without success for one of ``durations``"; it holds once until the next success."""
    return disjunction_of(*(_lapse(Literals(Kind.NUMBER, (float(duration_ms(one)),))) for one in durations))


def duration_ms(text: str) -> int:
    """Return ``30m``, ``6h`` or ``7d`` in milliseconds.

    Raises
    ------
    InvalidCondition : it is written in another way
    """
    parsed = _DURATION.fullmatch(text)
    if parsed is None:
        raise InvalidCondition(
            f"invalid duration {text!r}; use for example 30m, 6h or 7d", expected=("'30m'", "'6h'", "'7d'")
        )
    return int(parsed[1]) * _UNITS_MS[parsed[2]]


def asks_of_streaks(node: Node) -> bool:
    """Return whether ``node`` asks for something that depends on earlier reports."""
    return any(fields_of(leaf) & STREAK_FIELDS for leaf in leaves(node))


def asks_of_reports(node: Node) -> bool:
    """Return whether ``node`` asks for the result of a test or run: by a field, the event type or in the document."""
    return any(map(is_of_report, leaves(node)))


def is_of_report(leaf: Leaf) -> bool:
    """Return whether ``leaf`` asks for the result of a test or run."""
    return bool(fields_of(leaf) & _OF_REPORTS) or _is_failure_event(leaf) or _reads_status(leaf)


def durations_asked(node: Node) -> Iterator[int]:
    """Yield the times without success, in milliseconds, from which on ``node`` may hold."""
    for leaf in leaves(node):
        if isinstance(leaf, Compare) and leaf.left == _WITHOUT and isinstance(leaf.right, Literals):
            yield from (int(value) for value in leaf.right.values if leaf.operator in (Operator.GE, Operator.GT))


def without_reports(node: Node) -> Node:
    """Return ``node`` simplified for an event without a report: whatever depends on reports is missing."""
    return replace_leaves(node, lambda leaf: NEVER if _is_missing(leaf) else leaf)


def _lapse(duration: Literals) -> Node:
    return conjunction_of(Compare(Operator.GE, _WITHOUT, duration), Compare(Operator.LT, _BEFORE, duration))


def _reports(statuses: Texts) -> Node:
    words = tuple(word for status in statuses for word in all_words(status))
    return disjunction_of(has("testStatus", words), has("pipelineStatus", words))


def _equals(field: str, numbers: tuple[float, ...]) -> Node:
    return Compare(Operator.EQ, FieldValue(field), Literals(Kind.NUMBER, numbers))


def check_verdict(status: str) -> None:
    """Raise InvalidCondition if ``status`` is no verdict."""
    if verdict_of(status) is None:
        raise InvalidCondition(f"{status!r} is not a verdict: a report in progress neither starts nor ends a streak")


def count_of(text: str) -> float:
    """Return a number of times.

    Raises
    ------
    InvalidCondition : it is no whole number, or not one that anything can reach
    """
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MOST_TIMES:
        raise InvalidCondition(
            f"{text!r} is not a valid number of times", expected=(f"an integer from 1 to {_MOST_TIMES}",)
        )
    return float(text)


def fields_of(leaf: Leaf) -> set[str]:
    """Return the fields of the event that ``leaf`` reads."""
    return {one.name for one in map(innermost, values_in(leaf)) if isinstance(one, FieldValue)}


def _is_failure_event(leaf: Leaf) -> bool:
    return isinstance(leaf, Has) and leaf.field == "eventType" and EventType.TEST_CASE_FAILURE.value in leaf.values


def _reads_status(leaf: Leaf) -> bool:
    """Return whether ``leaf`` reads a status in the document."""
    paths = (one for one in map(innermost, values_in(leaf)) if isinstance(one, PathValue))
    return any(NESTED_STATUSES.intersection(path.steps) for path in paths)


def _is_missing(leaf: Leaf) -> bool:
    """Return whether ``leaf`` reads a value that only reports have; the number of values is not one."""
    return any(isinstance(one, FieldValue) and one.name in STREAK_FIELDS for one in map(plain_value, values_in(leaf)))
