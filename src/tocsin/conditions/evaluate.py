"""Python engine of conditions: evaluates one checked condition for one event; ``spark/conditions.py`` is the other.

Two-valued logic: a leaf asks whether some value passes, so it is false for missing values. Next: ``flow/match``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tocsin.conditions.fields import canonical, values_of
from tocsin.conditions.nodes import (
    Compare,
    Contains,
    FieldValue,
    Filled,
    Has,
    Leaf,
    Literals,
    Lowered,
    Node,
    Operator,
    PathRoot,
    PathValue,
    Personal,
    Present,
    Size,
    Test,
    TextTest,
    Value,
)
from tocsin.conditions.patterns import is_match
from tocsin.logic import is_true
from tocsin.model.change import ChangeDescription, LoggedEvent

# Any: only values of one type reach these.
_COMPARE: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}


def holds(node: Node, logged: LoggedEvent) -> bool:
    """Return whether the condition ``node`` holds for the event ``logged``."""
    return is_true(node, _leaf_holds, logged)


def _leaf_holds(leaf: Leaf, logged: LoggedEvent) -> bool:
    match leaf:
        case Has(field=field, values=canonical_values):
            return any(canonical(field, value) in canonical_values for value in values_of(field, logged))
        case Compare(operator=sign, left=left, right=right):
            return compares(sign, values(left, logged), values(right, logged))
        case TextTest(test=test, value=value, texts=texts):
            return any(passes(test, v, t) for v in values(value, logged) if isinstance(v, str) for t in texts)
        case Contains(value=value, members=members):
            return _contains(value, members, logged)
        case Present(value=value):
            return bool(values(value, logged))
        case Filled(value=value):
            return any(v != "" for v in values(value, logged))
        case Personal():
            return False  # of nobody; questions about a person were answered before


def values(value: Value, logged: LoggedEvent) -> Sequence[object]:
    """Return the values that ``value`` has in an event: scalars, and from JSON also objects and lists in lists."""
    match value:
        case Literals(values=literals):
            return literals
        case FieldValue(name=name):
            return values_of(name, logged)
        case PathValue():
            return [member for end in ends(value, logged) for member in _members(end) if member is not None]
        case Lowered(value=inner):
            return [v.lower() for v in values(inner, logged) if isinstance(v, str)]
        case Size(value=inner):
            return (float(len(values(inner, logged))),)


def ends(path: PathValue, logged: LoggedEvent) -> list[object]:
    """Return the JSON values that ``path`` ends at; a step by name goes into every member of a list."""
    end_values = _starts(path, logged)
    for step in path.steps:
        if isinstance(step, int):
            end_values = [end[step] for end in end_values if isinstance(end, list) and step < len(end)]
        else:
            end_values = [m[step] for end in end_values for m in _members(end) if isinstance(m, dict) and step in m]
    return end_values


def _starts(path: PathValue, logged: LoggedEvent) -> list[object]:
    if path.root is PathRoot.ENTITY:
        return [logged.event.entity]
    change = logged.event.change_description or ChangeDescription()
    changes = (*change.fields_added, *change.fields_updated, *change.fields_deleted)
    named_changes = (one for one in changes if one.name == path.change)
    return [one.old_value if path.root is PathRoot.OLD else one.new_value for one in named_changes]


def _members(end: object) -> Iterable[object]:
    return end if isinstance(end, list | tuple) else (end,)


def compares(sign: Operator, left: Sequence[object], right: Sequence[object]) -> bool:
    """Return whether one of ``left`` compares so with one of ``right`` that is of its kind.

    Takes time in proportion to the number of values, not of pairs: both may be a table's columns.
    """
    lefts, rights = _by_type(left), _by_type(right)
    return any(_compares(sign, lefts[kind], rights[kind]) for kind in lefts.keys() & rights.keys())


# Any: values of one type, which ``_by_type`` has chosen.
def _compares(sign: Operator, left: set[Any], right: set[Any]) -> bool:
    match sign:
        case Operator.EQ:
            return not left.isdisjoint(right)
        case Operator.LT | Operator.LE:  # some pair is in order if the least and the greatest are
            return _COMPARE[sign](min(left), max(right))
        case Operator.GT | Operator.GE:
            return _COMPARE[sign](max(left), min(right))


def _by_type(values: Iterable[object]) -> dict[type, set[Any]]:
    """Return the scalars among ``values`` by type: a truth value equals no number."""
    scalars_by_type: dict[type, set[Any]] = {}
    for value in map(_scalar, values):
        if value is not None:
            scalars_by_type.setdefault(type(value), set()).add(value)
    return scalars_by_type


def _scalar(value: object) -> str | float | bool | None:
    """Return ``value`` as what comparisons know; None for objects and lists."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | float):
        return float(value)
    return None


def passes(test: Test, value: str, text: str) -> bool:
    """Return whether the text ``value`` passes ``test`` with ``text``."""
    match test:
        case Test.STARTS_WITH:
            return value.startswith(text)
        case Test.ENDS_WITH:
            return value.endswith(text)
        case Test.INCLUDES:
            return text in value
        case Test.MATCHES:
            return is_match(text, value)


def _contains(value: Value, members: Literals, logged: LoggedEvent) -> bool:
    """Return whether a list has one of ``members`` as a member, or a text one as a part."""
    path, is_lowered = (value.value, True) if isinstance(value, Lowered) else (value, False)
    end_values = ends(path, logged) if isinstance(path, PathValue) else []
    for end in end_values:
        if isinstance(end, list) and compares(Operator.EQ, _lower_texts(end, is_lowered), members.values):
            return True
        if isinstance(end, str) and any(m in (end.lower() if is_lowered else end) for m in _texts(members)):
            return True
        if not isinstance(end, list | str) and not is_lowered and compares(Operator.EQ, [end], members.values):
            return True
    return False


def _texts(members: Literals) -> list[str]:
    return [m for m in members.values if isinstance(m, str)]


def _lower_texts(values: list[object], is_lowered: bool) -> list[object]:
    return [v.lower() for v in values if isinstance(v, str)] if is_lowered else values
