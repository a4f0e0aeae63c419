"""Type check of comparisons: two typed operands to a leaf. Next: ``check.py``."""

from __future__ import annotations

from tocsin.conditions.errors import refusal
from tocsin.conditions.evaluate import compares
from tocsin.conditions.fields import has
from tocsin.conditions.nodes import Compare, FieldValue, Has, Kind, Literals, Lowered, Node, Operator
from tocsin.conditions.operands import Operand, fold_case
from tocsin.logic import ALWAYS, NEVER, Constant, conjunction_of

_MIRRORED = {
    Operator.EQ: Operator.EQ,
    Operator.LT: Operator.GT,
    Operator.LE: Operator.GE,
    Operator.GT: Operator.LT,
    Operator.GE: Operator.LE,
}
_FAMILY = {
    Kind.TEXT: "text",
    Kind.STATUS: "text",
    Kind.TEXTS: "text",
    Kind.NUMBER: "number",
    Kind.BOOLEAN: "true or false",
}


_MOMENTS = frozenset({FieldValue("timestamp"), FieldValue("reportedAt")})
_MOMENT = "; write times as epoch milliseconds: 1767225600000 is 2026-01-01"


def comparison(operator: Operator, left: Operand, right: Operand) -> Node:
    """Return "some value of ``left`` compares so with some value of ``right``", false when either is missing.

    Raises
    ------
    InvalidCondition : the kinds are known and differ, or have no order.
    """
    if left.is_literal and not right.is_literal:
        return comparison(_MIRRORED[operator], right, left)
    _check_kinds(operator, left, right)
    if left.is_status or right.is_status:
        left, right = fold_case(left), fold_case(right)
    leaf = (
        _constant_outcome(operator, left, right)
        or _fact(operator, left, right)
        or Compare(operator, left.value, right.value)
    )
    return conjunction_of(left.with_guard(ALWAYS), right.with_guard(ALWAYS), leaf)


def _check_kinds(operator: Operator, left: Operand, right: Operand) -> None:
    families = {_FAMILY[one.kind] for one in (left, right) if one.kind is not Kind.ANY}
    if len(families) > 1:
        expected = _FAMILY.get(left.kind, "text")
        moment = _MOMENT if {left.value, right.value} & _MOMENTS else ""
        raise refusal(f"a {left.kind} cannot be compared with a {right.kind}{moment}", right.at, expected=(expected,))
    if operator is not Operator.EQ and Kind.BOOLEAN in (left.kind, right.kind):
        raise refusal("true and false cannot be ordered", right.at, expected=("==", "!="))


def _constant_outcome(operator: Operator, first_operand: Operand, second_operand: Operand) -> Constant | None:
    """Return how the comparison comes out when no event decides it: two literals, or none to compare with."""
    if not isinstance(second_operand.value, Literals):
        return None
    if isinstance(first_operand.value, Literals):
        return Constant(compares(operator, first_operand.value.values, second_operand.value.values))
    return None if second_operand.value.values else NEVER


def _fact(operator: Operator, left: Operand, right: Operand) -> Has | None:
    """Return the comparison as a fact when it is an equality of a field with literals."""
    field = left.value
    if operator is not Operator.EQ or not isinstance(right.value, Literals) or left.kind is Kind.NUMBER:
        return None
    if left.is_status and left.kind is Kind.STATUS:
        field = field.value if isinstance(field, Lowered) else field
    if not isinstance(field, FieldValue):
        return None
    node = has(field.name, right.value.values)
    return node if isinstance(node, Has) else None
