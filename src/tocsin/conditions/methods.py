"""Table of condition methods, one row per method, each applied to the value before its dot.

Next: ``conditions/check.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tocsin.conditions.backtracking import PatternError
from tocsin.conditions.compare import comparison
from tocsin.conditions.errors import refusal
from tocsin.conditions.evaluate import passes
from tocsin.conditions.fields import kind_of
from tocsin.conditions.nodes import (
    Contains,
    FieldValue,
    Filled,
    Kind,
    Literals,
    Lowered,
    Node,
    Operator,
    Size,
    Test,
    TextTest,
    plain_value,
)
from tocsin.conditions.operands import Operand, fold_case
from tocsin.conditions.patterns import MANY_VALUES, MAX_STEPS, steps_of, translate
from tocsin.logic import NEVER, Constant, negation_of

TEXTUAL = frozenset({Kind.TEXT, Kind.STATUS, Kind.TEXTS, Kind.ANY})


@dataclass(frozen=True)
class MethodRow:
    """One method: whether it takes one literal (``takes``: a word for it, None for no argument), and its meaning."""

    takes: str | None
    asks: Callable[..., Node | Operand]
    meaning: str


def text_test(test: Test, operand: Operand, argument: Operand) -> Node:
    """Return "some text of ``operand`` passes ``test`` with ``argument``".

    Raises
    ------
    InvalidCondition : an operand is no text, or the regular expression could take too long
    """
    if operand.kind not in TEXTUAL:
        raise refusal(f"{test} works on text, but this is a {operand.kind}", operand.at)
    if not isinstance(argument.value, Literals) or argument.kind is not Kind.TEXT:
        raise refusal(f"{test} needs text", argument.at, expected=("text in quotes",))
    if operand.is_status and test is not Test.MATCHES:
        operand, argument = fold_case(operand), fold_case(argument)
    assert isinstance(argument.value, Literals)  # noqa: S101  # folding keeps a literal a literal
    texts = tuple(sorted(str(text) for text in argument.value.values))
    if test is Test.MATCHES:
        texts = tuple(_pattern(text, argument) for text in texts)
    if isinstance(operand.value, Literals):
        return Constant(any(passes(test, str(value), text) for value in operand.value.values for text in texts))
    leaf = TextTest(test, operand.value, texts)
    if steps_on_values(leaf) > MAX_STEPS:
        raise refusal(
            f"regular expression rejected: it could take more than {MAX_STEPS:,} steps; use fewer repetitions"
            " that match the same characters",
            argument.at,
        )
    return operand.with_guard(leaf if texts else NEVER)


def steps_on_values(leaf: TextTest) -> int:
    """Return the number of steps that the patterns of ``leaf`` count for; 0 without a pattern."""
    if leaf.test is not Test.MATCHES:
        return 0
    value = plain_value(leaf.value)
    is_one = isinstance(value, FieldValue) and kind_of(value.name) is not Kind.TEXTS
    return sum(map(steps_of, leaf.texts)) * (1 if is_one else MANY_VALUES)


def _pattern(text: str, argument: Operand) -> str:
    try:
        return translate(text)
    except PatternError as error:
        raise refusal(f"regular expression rejected: {error}", argument.at) from error


def _contains(operand: Operand, argument: Operand) -> Node:
    if operand.kind in (Kind.TEXT, Kind.STATUS):
        return text_test(Test.INCLUDES, operand, argument)
    if operand.kind is not Kind.ANY:
        return comparison(Operator.EQ, operand, argument)
    if operand.is_status:
        operand, argument = fold_case(operand), fold_case(argument)
    if not isinstance(argument.value, Literals):
        raise refusal("contains needs a literal", argument.at, expected=("text in quotes", "a number"))
    return operand.with_guard(Contains(operand.value, argument.value) if argument.value.values else NEVER)


def _size(operand: Operand) -> Operand:
    if operand.kind not in (Kind.TEXTS, Kind.ANY):
        raise refusal("size() works on sets and lists", operand.at)
    return replace(operand, value=Size(operand.value), kind=Kind.NUMBER, is_status=False)


def _is_empty(operand: Operand) -> Node:
    return negation_of(operand.with_guard(Filled(operand.value)))


def _to_lower_case(operand: Operand) -> Operand:
    if operand.kind not in TEXTUAL:
        raise refusal("toLowerCase() works on text", operand.at)
    return operand if isinstance(operand.value, Lowered) else replace(operand, value=Lowered(operand.value))


METHODS: dict[str, MethodRow] = {
    "contains": MethodRow("one value", _contains, "a set or list has the member, a text the part"),
    "containsAny": MethodRow("one list of values", _contains, "the same for any of several"),
    "startsWith": MethodRow("one text", lambda of, given: text_test(Test.STARTS_WITH, of, given), "has the prefix"),
    "endsWith": MethodRow("one text", lambda of, given: text_test(Test.ENDS_WITH, of, given), "has the suffix"),
    "matches": MethodRow(
        "one regular expression",
        lambda of, given: text_test(Test.MATCHES, of, given),
        "matches the regular expression as a whole",
    ),
    "size": MethodRow(None, _size, "number of members"),
    "isEmpty": MethodRow(None, _is_empty, "missing or empty text"),
    "toLowerCase": MethodRow(None, _to_lower_case, "in lower case"),
}
"""Every method by its name."""
