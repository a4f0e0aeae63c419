"""Table of condition methods, one row per method, each applied to the value before its dot.

Next: ``conditions/check.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tocsin.conditions.compare import comparison
from tocsin.conditions.errors import refused
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
)
from tocsin.conditions.operands import Operand, folded
from tocsin.conditions.patterns import MANY_VALUES, MAX_STEPS, PatternError, steps_of, translated
from tocsin.logic import NEVER, Constant, negated

TEXTUAL = frozenset({Kind.TEXT, Kind.STATUS, Kind.TEXTS, Kind.ANY})


@dataclass(frozen=True)
class MethodRow:
    """One method: whether it takes one literal (``takes``: a word for it, None for no argument), and its meaning."""

    takes: str | None
    asks: Callable[..., Node | Operand]
    meaning: str


def text_test(test: Test, of: Operand, given: Operand) -> Node:
    """Return "some text of ``of`` passes ``test`` with ``given``".

    Raises
    ------
    InvalidCondition : an operand is no text, or the regular expression could take too long
    """
    if of.kind not in TEXTUAL:
        raise refused(f"{test} works on text, but this is a {of.kind}", of.at)
    if not isinstance(given.value, Literals) or given.kind is not Kind.TEXT:
        raise refused(f"{test} needs text", given.at, expected=("text in quotes",))
    if of.is_status and test is not Test.MATCHES:
        of, given = folded(of), folded(given)
    assert isinstance(given.value, Literals)  # noqa: S101  # folding keeps a literal a literal
    texts = tuple(sorted(str(text) for text in given.value.values))
    if test is Test.MATCHES:
        texts = tuple(_pattern(text, given) for text in texts)
    if isinstance(of.value, Literals):
        return Constant(any(passes(test, str(value), text) for value in of.value.values for text in texts))
    asked = TextTest(test, of.value, texts)
    if steps_on_values(asked) > MAX_STEPS:
        raise refused(
            f"regular expression rejected: it could take more than {MAX_STEPS:,} steps; use fewer repetitions"
            " that match the same characters",
            given.at,
        )
    return of.guarded(asked if texts else NEVER)


def steps_on_values(asked: TextTest) -> int:
    """Return the number of steps that the patterns of ``asked`` count for; 0 without a pattern."""
    if asked.test is not Test.MATCHES:
        return 0
    of = asked.value.of if isinstance(asked.value, Lowered) else asked.value
    is_one = isinstance(of, FieldValue) and kind_of(of.name) is not Kind.TEXTS
    return sum(map(steps_of, asked.texts)) * (1 if is_one else MANY_VALUES)


def _pattern(text: str, given: Operand) -> str:
    try:
        return translated(text)
    except PatternError as error:
        raise refused(f"regular expression rejected: {error}", given.at) from error


def _contains(of: Operand, given: Operand) -> Node:
    if of.kind in (Kind.TEXT, Kind.STATUS):
        return text_test(Test.INCLUDES, of, given)
    if of.kind is not Kind.ANY:
        return comparison(Operator.EQ, of, given)
    if of.is_status:
        of, given = folded(of), folded(given)
    if not isinstance(given.value, Literals):
        raise refused("contains needs a literal", given.at, expected=("text in quotes", "a number"))
    return of.guarded(Contains(of.value, given.value) if given.value.values else NEVER)


def _size(of: Operand) -> Operand:
    if of.kind not in (Kind.TEXTS, Kind.ANY):
        raise refused("size() works on sets and lists", of.at)
    return replace(of, value=Size(of.value), kind=Kind.NUMBER, is_status=False)


def _is_empty(of: Operand) -> Node:
    return negated(of.guarded(Filled(of.value)))


def _to_lower_case(of: Operand) -> Operand:
    if of.kind not in TEXTUAL:
        raise refused("toLowerCase() works on text", of.at)
    return of if isinstance(of.value, Lowered) else replace(of, value=Lowered(of.value))


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
