"""Expression signatures: leaves of conditions with their constants removed, so that many alerts share one.

However many alerts compare the length of a column with a number, there is one signature and one expression; constants
and paths are values of rows. So neither the plan nor the code that Spark compiles grows with the number of alerts
(Hanson et al., "Scalable Trigger Processing", 1999, section "expression signatures"). Next: ``spark/programs.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # the name everybody knows it by

from tocsin.conditions.nodes import (
    Compare,
    Contains,
    FieldValue,
    Filled,
    Has,
    Kind,
    Leaf,
    Literals,
    Lowered,
    Operator,
    PathRoot,
    PathValue,
    Present,
    Scalar,
    Size,
    Test,
    TextTest,
    Value,
    innermost,
    values_in,
)
from tocsin.conditions.normal_form import Fact, Group
from tocsin.conditions.patterns import literal_inside
from tocsin.flow.match.plan_cost import MANY_ALIKE
from tocsin.logic import Formula
from tocsin.spark.conditions import (
    ConditionCompiler,
    ConstantsPlaceholder,
    IndexPlaceholder,
    Placeholder,
    entity_path,
    inner_pattern,
    step_path,
    whole_pattern,
)
from tocsin.spark.field_columns import is_stored, texts_of

TEST_FIELDS = (
    pa.field("shape", pa.int32(), nullable=False),
    pa.field("texts", pa.list_(pa.string()), nullable=False),
    pa.field("numbers", pa.list_(pa.float64()), nullable=False),
    pa.field("paths", pa.list_(pa.string()), nullable=False),
    pa.field("every", pa.list_(pa.list_(pa.string())), nullable=False),
)
"""Fields of one test: its shape by number, the constants of which one must pass, where it looks, and, of several tests
that must all pass, the texts of each."""

_CONSTANT, _GUARD = ConstantsPlaceholder("constants"), Placeholder("guard")
_AS_JSON = re.compile(r"[A-Za-z0-9 _.:-]+")
"""Texts that look in JSON as they are, from any writer."""


@dataclass(frozen=True)
class ConditionTest(Formula["ConditionTest"]):
    """Test of a signature with its constants, as ``TEST_FIELDS`` of a row; one constant that holds is enough."""

    shape: int
    texts: tuple[Scalar, ...] = ()
    numbers: tuple[Scalar, ...] = ()
    paths: tuple[str, ...] = ()
    texts_of_all: tuple[tuple[Scalar, ...], ...] = ()


@dataclass(frozen=True)
class ConditionSignature:
    """A signature: a leaf without its constants.

    Attributes
    ----------
    leaf : the leaf, with ``_CONSTANT`` in place of its constant, and other placeholders for the steps of its paths
    slot : ``texts`` or ``numbers``, the field of a test that has the constants; None when it has none
    step_count : number of steps of the path in a test of this signature
    is_joined : a test of this signature stands for several, which must all pass
    """

    leaf: Leaf
    slot: str | None = None
    step_count: int = 0
    is_joined: bool = False

    def passes(self, test: Column, document: Column) -> Column:
        """Return whether ``test``, a struct of ``TEST_FIELDS`` of this shape, passes: never null."""
        if isinstance(self.leaf, Has):
            return F.coalesce(F.arrays_overlap(texts_of(self.leaf.field), test["texts"]), F.lit(False))
        paths = self._paths(test)
        if self.is_joined:
            return ConditionCompiler(document, paths).passes_each(self.leaf, test["every"])
        constants: dict[str, Column] = {} if self.slot is None else {_CONSTANT: test[self.slot]}
        return ConditionCompiler(document, {**paths, **constants}).condition(self.leaf)

    def _paths(self, test: Column) -> dict[str, Column]:
        """Return the columns of the placeholders for steps."""
        steps = {at: F.get(test["paths"], F.lit(at)) for at in range(self.step_count)}
        return {
            _path_placeholder(at, by_position=by_position): step
            for at, step in steps.items()
            for by_position in (False, True)
        }

    def guard(self) -> Column:
        """Return a necessary condition on the column ``guard`` for a test to pass; False if ``has_guard`` is.

        It is cheap, because it is evaluated for every event that has the anchor: no closure is computed, no JSON read.
        """
        guard = F.col("guard")
        match self.leaf:
            case TextTest(value=FieldValue(name=name), test=test) if is_stored(name):
                quick = Test.INCLUDES if test is Test.MATCHES else test
                compiler = ConditionCompiler(F.lit(None), {_GUARD: guard})
                return compiler.condition(replace(self.leaf, test=quick, texts=(_GUARD,)))
            case _:
                return F.contains(F.col("event"), guard) if self._reads_text() else F.lit(False)

    def has_guard(self) -> bool:
        """Return whether tests of this signature can be guarded."""
        match self.leaf:
            case TextTest(value=FieldValue(name=name)) if is_stored(name):
                return True
            case _:
                return self._reads_text()

    def decides(self) -> bool:
        """Return whether ``guard`` is sufficient for the test, too."""
        return not (self._is_pattern() or self._reads_text())

    def guard_text(self, text: str) -> str | None:
        """Return what ``guard`` is for a test with ``text``; None when nothing can be asked of every event."""
        literal = literal_inside(inner_pattern(text)) if self._is_pattern() else text
        if self._reads_text():
            return literal if _AS_JSON.fullmatch(literal) else None
        return literal or (None if self._is_pattern() else literal)

    def reads_document(self) -> bool:
        """Return whether a test of this signature reads the document."""
        return any(isinstance(innermost(value), PathValue) for value in values_in(self.leaf))

    def can_join(self) -> bool:
        """Return whether tests of this signature that must all pass can share one look at the values of their path."""
        match self.leaf:
            case Compare(operator=Operator.EQ) | TextTest() | Contains():
                return self.slot == "texts" and self.reads_document() and not self._is_pattern()
            case _:
                return False

    def _is_pattern(self) -> bool:
        return isinstance(self.leaf, TextTest) and self.leaf.test is Test.MATCHES

    def _reads_text(self) -> bool:
        """Return whether the constant must occur verbatim in the document's JSON for the test to pass."""
        match self.leaf:
            case TextTest(value=PathValue()):
                return True
            case Compare(operator=Operator.EQ, left=PathValue()) | Contains(value=PathValue()):
                return self.slot == "texts"
            case _:
                return False


class Shapes:
    """Numbers the signatures it meets; a number once given stays."""

    def __init__(self) -> None:
        self._numbers: dict[ConditionSignature, int] = {}
        self._shapes: list[ConditionSignature] = []

    def tests(self, group: Group) -> list[ConditionTest]:
        """Return a group of alternatives as tests, one for each signature and place."""
        constants: dict[tuple[int, tuple[str, ...]], list[Scalar]] = {}
        for term in sorted(group, key=repr):
            shape, values, paths = _taken_apart(term)
            constants.setdefault((self._number(shape), paths), []).extend(values)
        return [
            ConditionTest(number, paths=paths, **self._constants(number, values))
            for (number, paths), values in sorted(constants.items())
        ]

    def join_tests(self, parts: Sequence[Formula[ConditionTest]]) -> list[Formula[ConditionTest]]:
        """Return conditions that must all hold; of many tests that differ in their texts only, all but one are one."""
        alike: dict[tuple[int, tuple[str, ...]], list[ConditionTest]] = {}
        for part in parts:
            if isinstance(part, ConditionTest) and self._shapes[part.shape].can_join():
                alike.setdefault((part.shape, part.paths), []).append(part)
        many = [tests[1:] for tests in alike.values() if len(tests) > MANY_ALIKE]  # the first may be a guard
        apart = set(parts).difference(test for tests in many for test in tests)
        return [*(part for part in parts if part in apart), *map(self._join, many)]

    def _join(self, tests: Sequence[ConditionTest]) -> ConditionTest:
        shape = replace(self._shapes[tests[0].shape], is_joined=True)
        return ConditionTest(
            self._number(shape), paths=tests[0].paths, texts_of_all=tuple(test.texts for test in tests)
        )

    def guard_text(self, test: ConditionTest) -> str | None:
        """Return the text that guards ``test``; None when it cannot be guarded."""
        shape = self._shapes[test.shape]
        is_lone = len(test.texts) == 1 and shape.has_guard()
        return shape.guard_text(str(test.texts[0])) if is_lone else None

    def decides(self, number: int) -> bool:
        """Return whether a guard of this signature is sufficient for its test."""
        return self._shapes[number].decides()

    def passes(self, test: Column, document: Column, numbers: Sequence[int]) -> Column:
        """Return whether ``test``, whose shape is one of ``numbers`` (sorted), passes."""
        return _by_number(test["shape"], numbers, lambda number: self._shapes[number].passes(test, document))

    def guard(self, numbers: Sequence[int]) -> Column:
        """Return whether the text ``guard`` passes the test of shape ``guard_shape``, one of ``numbers`` (sorted)."""
        return _by_number(F.col("guard_shape"), numbers, lambda number: self._shapes[number].guard())

    def read_document(self, numbers: Iterable[int]) -> bool:
        """Return whether a test with one of these signatures reads the document."""
        return any(self._shapes[number].reads_document() for number in numbers)

    def _constants(self, number: int, values: Sequence[Scalar]) -> dict[str, Any]:  # Any: a field's value
        slot = self._shapes[number].slot
        return {} if slot is None else {slot: tuple(values)}

    def _number(self, shape: ConditionSignature) -> int:
        number = self._numbers.setdefault(shape, len(self._numbers))
        if number == len(self._shapes):
            self._shapes.append(shape)
        return number


def _by_number(number: Column, numbers: Sequence[int], column: Callable[[int], Column]) -> Column:
    """Return a Column that selects by ``number`` with nested halves: a chain would need a hundred comparisons."""
    if not numbers:
        return F.lit(False)
    if len(numbers) == 1:
        return column(numbers[0])
    middle = len(numbers) // 2
    low, high = (_by_number(number, half, column) for half in (numbers[:middle], numbers[middle:]))
    return F.when(number < numbers[middle], low).otherwise(high)


def _taken_apart(term: Fact | Leaf) -> tuple[ConditionSignature, Sequence[Scalar], tuple[str, ...]]:
    """Return the signature of ``term``, its constants and the steps of its paths."""
    paths: list[str] = []
    constants: Sequence[Scalar] = ()
    slot: str | None = None
    match term:
        case Fact(field=field, value=value):
            return ConditionSignature(Has(field, (_CONSTANT,)), "texts"), (value,), ()
        case Has(field=field, values=values):
            return ConditionSignature(Has(field, (_CONSTANT,)), "texts"), values, ()
        case TextTest(test=test, value=value, texts=texts):
            constants, slot = [whole_pattern(text) for text in texts] if test is Test.MATCHES else texts, "texts"
            leaf: Leaf = TextTest(test, _stepless(value, paths), (_CONSTANT,))
        case Compare(operator=operator, left=left, right=right):
            left, (right, constants, slot) = _stepless(left, paths), _constantless(right, paths)
            leaf = Compare(operator, left, right)
        case Contains(value=value, members=members):
            value, (members, constants, slot) = _stepless(value, paths), _split_constants(members)
            leaf = Contains(value, members)
        case Present(value=value):
            leaf = Present(_stepless(value, paths))
        case Filled(value=value):
            leaf = Filled(_stepless(value, paths))
        case _:
            leaf = term
    return ConditionSignature(leaf, slot, len(paths)), constants, tuple(paths)


def _constantless(value: Value, paths: list[str]) -> tuple[Value, Sequence[Scalar], str | None]:
    """Return ``value`` without constants and steps, the constants and their slot; steps are added to ``paths``."""
    return _split_constants(value) if isinstance(value, Literals) else (_stepless(value, paths), (), None)


def _split_constants(literals: Literals) -> tuple[Literals, Sequence[Scalar], str | None]:
    """Return ``literals`` without constants, the constants and their slot; the two truth values stay."""
    slot = _SLOTS.get(literals.kind)
    return (literals, (), None) if slot is None else (Literals(literals.kind, (_CONSTANT,)), literals.values, slot)


def _stepless(value: Value, paths: list[str]) -> Value:
    """Return ``value`` with placeholders for the steps of its paths, which are added to ``paths``."""

    def placeholder(step: str | int, path: str) -> Placeholder:
        paths.append(path)
        return _path_placeholder(len(paths) - 1, by_position=isinstance(step, int))

    match value:
        case Lowered(value=inner) | Size(value=inner):
            return replace(value, value=_stepless(inner, paths))
        case PathValue(root=root, steps=steps, change=change):
            starts = 1 if root is PathRoot.ENTITY else 0
            paths_of_steps = [*map(entity_path, steps[:starts]), *map(step_path, steps[starts:])]
            placeholders = tuple(map(placeholder, steps, paths_of_steps))
            return PathValue(root, placeholders, None if change is None else placeholder(change, change))
        case _:
            return value


def _path_placeholder(at: int, *, by_position: bool = False) -> Placeholder:
    """Return the placeholder for the path at ``at`` of a test; those of another kind are not equal."""
    return IndexPlaceholder(f"position {at}") if by_position else Placeholder(f"key {at}")


_SLOTS = {Kind.TEXT: "texts", Kind.NUMBER: "numbers"}
