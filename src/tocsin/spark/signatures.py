"""Expression signatures: residual conditions with their constants removed, so that many alerts share one.

However many alerts compare the length of a column with a number, there is one signature and one expression; the
numbers are rows. So neither the query text nor the code Spark compiles grows with the number of alerts
(Hanson et al., "Scalable Trigger Processing", 1999, section "expression signatures"). Next: ``spark/index_rows.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tocsin.conditions.nodes import (
    Compare,
    Contains,
    FieldValue,
    Filled,
    Has,
    Kind,
    Literals,
    Lowered,
    Node,
    Operator,
    PathRoot,
    PathValue,
    Present,
    Scalar,
    Size,
    Test,
    TextTest,
    Value,
)
from tocsin.conditions.normal_form import Fact, Group
from tocsin.conditions.patterns import literal_inside
from tocsin.spark.conditions import (
    DOCUMENT,
    Expression,
    Placeholder,
    entity_path,
    expression,
    inner_pattern,
    is_stored,
    key_path,
    texts_of,
    whole_pattern,
)

TEST = pa.struct(
    [
        pa.field("shape", pa.int32(), nullable=False),
        pa.field("texts", pa.list_(pa.string()), nullable=False),
        pa.field("numbers", pa.list_(pa.float64()), nullable=False),
        pa.field("paths", pa.list_(pa.string()), nullable=False),
    ]
)
"""One test: its shape by number, the constants it is asked with, of which one must pass, and where it looks."""

_SLOT, _GUARD = Placeholder("constant"), Placeholder("guard")
_ALL = "t.texts"
_AS_JSON = re.compile(r"[A-Za-z0-9 _.:-]+")
"""Texts that look in JSON as they are, whoever wrote it."""


@dataclass(frozen=True)
class ConditionSignature:
    """A signature: a test without its constants.

    Attributes
    ----------
    node : the test, with ``_SLOT`` in place of its constant, and other slots for the steps of its paths
    slot : ``texts`` or ``numbers``, the column of the constants; None when it has none
    """

    node: Node
    slot: str | None = None

    def expression(self) -> Expression:
        """Return whether test ``t`` of this shape passes: never null, even for other tests."""
        match self.node:
            case Has(field=field):
                return f"coalesce(arrays_overlap({texts_of(field)}, {_ALL}), false)"
            case _ if self.slot:
                return f"exists(t.{self.slot}, {_SLOT} -> {expression(self.node)})"
            case _:
                return expression(self.node)

    def guard(self) -> Expression | None:
        """Return a necessary condition on text ``guard`` for this test to pass; or None.

        It is cheap, because it is evaluated for every event that has the anchor: no closure is computed, no JSON read.
        """
        match self.node:
            case TextTest(value=FieldValue(name=name), test=test) if is_stored(name):
                quick = Test.INCLUDES if test is Test.MATCHES else test
                return expression(replace(self.node, test=quick, texts=(_GUARD,)))
            case _ if self._reads_text():
                return f"contains(event, {_GUARD})"
            case _:
                return None

    def decides(self) -> bool:
        """Return whether ``guard`` is sufficient for the test, too."""
        return not (self._is_pattern() or self._reads_text())

    def guard_text(self, text: str) -> str | None:
        """Return what ``guard`` is for a test with ``text``; None when nothing can be asked of every event."""
        asked = literal_inside(inner_pattern(text)) if self._is_pattern() else text
        if self._reads_text():
            return asked if _AS_JSON.fullmatch(asked) else None
        return asked or (None if self._is_pattern() else asked)

    def _is_pattern(self) -> bool:
        return isinstance(self.node, TextTest) and self.node.test is Test.MATCHES

    def _reads_text(self) -> bool:
        """Return whether the constant must occur verbatim in the document's JSON for the test to pass."""
        match self.node:
            case TextTest(value=PathValue()):
                return True
            case Compare(operator=Operator.EQ, left=PathValue()) | Contains(value=PathValue()):
                return self.slot == "texts"
            case _:
                return False


class Shapes:
    """Numbers the shapes it meets; a number once given stays."""

    def __init__(self) -> None:
        self._numbers: dict[ConditionSignature, int] = {}
        self._shapes: list[ConditionSignature] = []
        self._expressions: list[Expression] = []
        self._guards: list[Expression | None] = []

    def tests(self, group: Group) -> list[dict[str, object]]:
        """Return a group of alternatives as rows of ``TEST``, one for each shape."""
        constants: dict[tuple[int, tuple[str, ...]], list[Scalar]] = {}
        slots: dict[int, str | None] = {}
        for term in sorted(group, key=repr):
            shape, values, paths = _taken_apart(term)
            number = self._number(shape)
            slots[number] = shape.slot
            constants.setdefault((number, paths), []).extend(values)
        return [
            {
                "shape": number,
                "texts": values if slots[number] == "texts" else [],
                "numbers": values if slots[number] == "numbers" else [],
                "paths": list(paths),
            }
            for (number, paths), values in sorted(constants.items())
        ]

    def guard_text(self, number: int, text: str) -> str | None:
        """Return the text that guards the test of this shape with ``text``; None when it cannot be guarded."""
        return None if self._guards[number] is None else self._shapes[number].guard_text(text)

    def decides(self, number: int) -> bool:
        """Return whether a guard of this signature is sufficient for its test."""
        return self._shapes[number].decides()

    def expression(self, numbers: Sequence[int]) -> Expression:
        """Return whether test ``t``, whose shape is one of ``numbers`` (sorted), passes."""
        return _by_number("t.shape", numbers, self._expressions)

    def guard(self, numbers: Sequence[int]) -> Expression:
        """Return whether the text ``guard`` passes the test of shape ``guard_shape``, one of ``numbers`` (sorted)."""
        return _by_number("guard_shape", numbers, [one or "false" for one in self._guards])

    def read_document(self, numbers: Iterable[int]) -> bool:
        """Return whether a test with one of these signatures reads the document."""
        return any(DOCUMENT in self._expressions[number] for number in numbers)

    def _number(self, shape: ConditionSignature) -> int:
        number = self._numbers.setdefault(shape, len(self._numbers))
        if number == len(self._expressions):
            self._shapes.append(shape)
            self._expressions.append(shape.expression())
            self._guards.append(shape.guard())
        return number


def _by_number(name: str, numbers: Sequence[int], expressions: Sequence[Expression]) -> Expression:
    """Return an expression that selects by ``name`` with nested halves: a chain would need a hundred comparisons."""
    if not numbers:
        return "false"
    if len(numbers) == 1:
        return expressions[numbers[0]]
    middle = len(numbers) // 2
    low, high = (_by_number(name, half, expressions) for half in (numbers[:middle], numbers[middle:]))
    return f"if({name} < {numbers[middle]}, {low}, {high})"


def _taken_apart(term: Fact | Node) -> tuple[ConditionSignature, Sequence[Scalar], tuple[str, ...]]:
    """Return the shape of ``term``, its constants and the steps of its paths."""
    steps: list[str] = []
    match term:
        case Fact(field=field, value=value):
            return ConditionSignature(Has(field, (_SLOT,)), "texts"), (value,), ()
        case Has(field=field, values=values):
            return ConditionSignature(Has(field, (_SLOT,)), "texts"), values, ()
        case TextTest(test=test, value=value, texts=texts):
            asked = [whole_pattern(text) for text in texts] if test is Test.MATCHES else texts
            return ConditionSignature(TextTest(test, _stepless(value, steps), (_SLOT,)), "texts"), asked, tuple(steps)
        case Compare(operator=operator, left=left, right=Literals(kind=kind, values=values)) if slot := _SLOTS.get(
            kind
        ):
            compared = Compare(operator, _stepless(left, steps), Literals(kind, (_SLOT,)))
            return ConditionSignature(compared, slot), values, tuple(steps)
        case Compare(operator=operator, left=left, right=right):
            return (
                ConditionSignature(Compare(operator, _stepless(left, steps), _stepless(right, steps))),
                (),
                tuple(steps),
            )
        case Contains(value=value, members=Literals(kind=kind, values=values)) if slot := _SLOTS.get(kind):
            contains = Contains(_stepless(value, steps), Literals(kind, (_SLOT,)))
            return ConditionSignature(contains, slot), values, tuple(steps)
        case Contains(value=value, members=members):
            return ConditionSignature(Contains(_stepless(value, steps), members)), (), tuple(steps)
        case Present(value=value):
            return ConditionSignature(Present(_stepless(value, steps))), (), tuple(steps)
        case Filled(value=value):
            return ConditionSignature(Filled(_stepless(value, steps))), (), tuple(steps)
        case _:
            return ConditionSignature(term), (), ()


def _stepless(value: Value, steps: list[str]) -> Value:
    """Return ``value`` with slots for the steps of its paths, which are added to ``steps``."""

    def slot(step: str) -> Placeholder:
        steps.append(step)
        return Placeholder(f"t.paths[{len(steps) - 1}]")

    match value:
        case Lowered(of=of) | Size(of=of):
            return replace(value, of=_stepless(of, steps))
        case PathValue(root=root, steps=path, change=change):
            first = path[:1] if root is PathRoot.ENTITY else ()
            keys = [*map(entity_path, first), *(s if isinstance(s, int) else key_path(s) for s in path[len(first) :])]
            kept = tuple(key if isinstance(key, int) else slot(key) for key in keys)
            return PathValue(root, kept, None if change is None else slot(change))
        case _:
            return value


_SLOTS = {Kind.TEXT: "texts", Kind.NUMBER: "numbers"}
