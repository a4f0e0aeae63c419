"""Spark engine of conditions: their leaves as Columns; ``conditions/evaluate.py`` is the Python engine.

Texts of a condition enter as literals or as values of columns, never as part of an expression's text, which Spark would
parse (``docs/decisions/0067-no-text-of-a-user-in-an-expression.md``). Native functions only, never null, nothing that
can throw. Next: ``spark/signatures.py``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pyspark.sql import Column
from pyspark.sql import functions as F  # the name everybody knows it by

from tocsin.conditions.fields import is_set_of_numbers, kind_of
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
    Personal,
    Present,
    Scalar,
    Size,
    Test,
    TextTest,
    Value,
)
from tocsin.conditions.patterns import MAX_VALUE, backtracking_pattern
from tocsin.spark.field_columns import column_of, texts_of

Predicate = Callable[[Column], Column]
Comparison = Callable[[Column, Column], Column]

_TYPES = {Kind.TEXT: "string", Kind.NUMBER: "double", Kind.BOOLEAN: "boolean"}
_OPERATORS: Mapping[Operator, Comparison] = {
    Operator.EQ: operator.eq,
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}
_CHANGES = "array<struct<name:string,oldValue:variant,newValue:variant>>"
CHANGE_LISTS = ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")
_WHOLE_BEGINS, _WHOLE_ENDS = r"(?s)\A(?:", r")\z"


class Placeholder(str):
    """Placeholder for a constant or a path in a condition; ``ConditionCompiler.bound`` has its column."""


class IndexPlaceholder(Placeholder):
    """Placeholder for a path step by position."""


class ConstantsPlaceholder(Placeholder):
    """Placeholder for constants of which one must pass; ``ConditionCompiler.bound`` has their array."""


def whole_pattern(pattern: str) -> str:
    """Return ``pattern`` as Java takes it to match a whole value, dot meaning anything."""
    return f"{_WHOLE_BEGINS}{backtracking_pattern(pattern)}{_WHOLE_ENDS}"


def inner_pattern(pattern: str) -> str:
    """Return what ``whole_pattern`` was made of."""
    return pattern.removeprefix(_WHOLE_BEGINS).removesuffix(_WHOLE_ENDS)


def any_of(columns: Iterable[Column]) -> Column:
    """Return whether some of ``columns`` is true; false of none.

    They are joined as a balanced tree: a chain of hundreds would exceed the stack of Spark's analyser.
    """
    alternatives = list(columns)
    if len(alternatives) < 2:
        return alternatives[0] if alternatives else F.lit(False)
    middle = len(alternatives) // 2
    return any_of(alternatives[:middle]) | any_of(alternatives[middle:])


def entity_path(key: str | int | None = None) -> str:
    """Return the path from the document to the entity, or to its value under ``key``; a ``Placeholder`` unchanged."""
    if isinstance(key, Placeholder):
        return key
    return "$.entity" if key is None else f"$.entity['{key}']"


def step_path(step: str | int) -> str:
    """Return the path from a value to its member under a key or at a position; a ``Placeholder`` unchanged.

    The checker has refused keys that cannot be written so.
    """
    if isinstance(step, Placeholder):
        return step
    return f"$[{step}]" if isinstance(step, int) else f"$['{step}']"


@dataclass(frozen=True)
class ConditionCompiler:
    """Compiles leaves of checked conditions to Columns.

    Attributes
    ----------
    document : the event's JSON as VARIANT
    bound : the column of each placeholder in the leaves
    """

    document: Column
    bound: Mapping[str, Column] = field(default_factory=dict)

    def condition(self, leaf: Leaf) -> Column:
        """Return whether ``leaf`` holds: true or false, never null."""
        match leaf:
            case Has(field=field, values=values):
                return _sure(F.arrays_overlap(texts_of(field), F.array(*map(self._literal, values))))
            case Compare():
                return self._compare(leaf)
            case TextTest(test=test, value=value, texts=texts):
                return self._some(value, Kind.TEXT, lambda text: self._passes_one(test, text, texts))
            case Contains(value=value, members=members):
                return self._contains(value, members)
            case Present(value=value):
                return self._count(value) > 0
            case Filled(value=value):
                return self._is_filled(value)
            case Personal():
                return F.lit(False)  # of nobody; questions about a person were answered before

    def passes_each(self, leaf: Leaf, groups: Column) -> Column:
        """Return whether a test of texts passes with some text of each of ``groups``, in one look at its path.

        Raises
        ------
        AssertionError : the leaf tests no texts
        """
        passes: Comparison
        match leaf:
            case Compare(left=value):
                values, passes = self._values(value, Kind.TEXT), _overlaps
            case TextTest(test=test, value=value):
                values, passes = self._values(value, Kind.TEXT), partial(_passes_some, _TESTS[test])
            case Contains(value=value):
                values, passes = self._containers(value), _holds_some
            case _:
                raise AssertionError(f"{leaf} tests no texts")
        return _sure(F.exists(F.array(values), lambda held: F.forall(groups, lambda group: passes(held, group))))

    def members(self, path: PathValue) -> Column:
        """Return the values at the path: each end, or the members of one that is a list; null among none."""
        all_members = F.flatten(F.transform(self._ends(path), elements_of))
        return F.filter(all_members, lambda member: member.isNotNull() & ~_sure(F.is_variant_null(member)))

    def _literal(self, value: Scalar) -> Column:
        if isinstance(value, Placeholder):
            return self.bound[value]
        is_number = not isinstance(value, str | bool)
        return F.lit(float(value) if is_number else value)

    def _compare(self, leaf: Compare) -> Column:
        """Return whether some pair of values of one kind compares so."""
        compares = _OPERATORS[leaf.operator]
        constants = self._constants(leaf.right.values) if isinstance(leaf.right, Literals) else None

        def pairs(kind: Kind) -> Column:
            if constants is not None:
                return self._some(leaf.left, kind, lambda left: _compares_one(leaf.operator, left, constants))
            if _is_set(leaf.left) and _is_set(leaf.right):
                return self._compare_sets(leaf, kind)
            return self._some(
                leaf.left, kind, lambda left: self._some(leaf.right, kind, lambda right: compares(left, right))
            )

        return any_of(pairs(kind) for kind in _TYPES if _may_hold(leaf.left, kind) and _may_hold(leaf.right, kind))

    def _compare_sets(self, leaf: Compare, kind: Kind) -> Column:
        """Return the same of two sets, in time proportional to their values: both may be a table's columns."""
        left, right = self._values(leaf.left, kind), self._values(leaf.right, kind)
        match leaf.operator:
            case Operator.EQ:
                return _sure(F.arrays_overlap(left, right))
            case Operator.LT | Operator.LE:  # some pair is in order if the least and the greatest are
                return _sure(_OPERATORS[leaf.operator](F.array_min(left), F.array_max(right)))
            case Operator.GT | Operator.GE:
                return _sure(_OPERATORS[leaf.operator](F.array_max(left), F.array_min(right)))

    def _values(self, value: Value, kind: Kind) -> Column:
        """Return the values of this kind in a set, as an array without nulls."""
        match value:
            case FieldValue(name=name):
                return texts_of(name)
            case Lowered(value=inner):
                return F.transform(self._values(inner, kind), F.lower)
            case PathValue():
                typed_values = F.array_compact(F.transform(self.members(value), lambda member: as_kind(member, kind)))
                # Two zeros are equal, and alike only after an addition.
                return (
                    F.transform(typed_values, lambda number: number + F.lit(0.0))
                    if kind is Kind.NUMBER
                    else typed_values
                )
            case _:
                raise AssertionError(f"{value} is no set")

    def _some(self, value: Value, kind: Kind, passes: Predicate) -> Column:
        """Return whether some value of this kind passes; false, not null, when there is none."""
        if not _may_hold(value, kind):
            return F.lit(False)
        match value:
            case Literals(values=values):
                return any_of(_sure(passes(self._literal(constant))) for constant in values)
            case FieldValue(name=name) if kind_of(name) is Kind.TEXTS:
                return _sure(F.exists(texts_of(name), lambda text: _sure(passes(text))))
            case FieldValue(name=name) if is_set_of_numbers(name):
                return _sure(F.exists(F.col(name), lambda number: _sure(passes(number))))
            case FieldValue(name=name):
                return _sure(passes(column_of(name).cast("double") if kind is Kind.NUMBER else column_of(name)))
            case PathValue():
                # The kind comes last: it is expensive, and most values have failed by then.
                return _sure(
                    F.exists(
                        self.members(value),
                        lambda member: _sure(passes(_variant_at(member, "$", _TYPES[kind])) & _is_kind(member, kind)),
                    )
                )
            case Lowered(value=inner):
                return self._some(inner, kind, lambda text: passes(F.lower(text)))
            case Size(value=inner):
                return _sure(passes(self._count(inner).cast("double")))

    def _count(self, value: Value) -> Column:
        """Return how many values there are."""
        match value:
            case Literals(values=values):
                return F.lit(len(values))
            case FieldValue(name=name):
                is_set = kind_of(name) is Kind.TEXTS
                return F.size(texts_of(name)) if is_set else column_of(name).isNotNull().cast("int")
            case PathValue():
                return F.size(self.members(value))
            case Lowered(value=PathValue() as path):
                return F.size(F.filter(self.members(path), lambda member: as_kind(member, Kind.TEXT).isNotNull()))
            case Lowered(value=inner):
                return self._count(inner)
            case Size():
                return F.lit(1)

    def _is_filled(self, value: Value) -> Column:
        """Return whether there is some value other than the empty text."""
        if isinstance(value, PathValue):
            return F.exists(self.members(value), lambda member: ~_sure(as_kind(member, Kind.TEXT) == ""))
        if isinstance(value, FieldValue) and kind_of(value.name) in (Kind.NUMBER, Kind.BOOLEAN):
            return column_of(value.name).isNotNull()
        return F.lit(True) if isinstance(value, Size) else self._some(value, Kind.TEXT, lambda text: text != "")

    def _constants(self, values: Sequence[Scalar]) -> Column | None:
        """Return the array of the constants that ``values`` stand for; None if they are constants themselves."""
        return self.bound[values[0]] if values and isinstance(values[0], ConstantsPlaceholder) else None

    def _some_constant(self, value: Column, values: Sequence[Scalar], passes: Comparison) -> Column:
        """Return whether ``value`` passes with one of these constants; where they are an array, it is computed once."""
        constants = self._constants(values)
        if constants is None:
            return any_of(_sure(passes(value, self._literal(constant))) for constant in values)
        if passes is operator.eq:
            return _sure(F.array_contains(constants, value))
        return F.exists(
            F.array(value), lambda held: F.exists(constants, lambda constant: _sure(passes(held, constant)))
        )

    def _passes_one(self, test: Test, text: Column, texts: Sequence[str]) -> Column:
        """Return whether a text passes the test with one of ``texts``."""
        is_pattern = test is Test.MATCHES
        values = [
            whole_pattern(text_or_pattern)
            if is_pattern and not isinstance(text_or_pattern, Placeholder)
            else text_or_pattern
            for text_or_pattern in texts
        ]
        return self._some_constant(text, values, _TESTS[test])

    def _contains(self, value: Value, members: Literals) -> Column:
        """Return whether a list at the path has one of ``members`` as a member, or a text one as a part."""
        is_lowered = isinstance(value, Lowered)
        path = value.value if isinstance(value, Lowered) else value
        if not isinstance(path, PathValue) or (is_lowered and members.kind is not Kind.TEXT):
            return F.lit(False)

        def cast_variant(variant: Column) -> Column:
            return F.lower(as_kind(variant, members.kind)) if is_lowered else as_kind(variant, members.kind)

        def equals(variant: Column) -> Column:
            return self._some_constant(cast_variant(variant), members.values, operator.eq)

        def includes(variant: Column) -> Column:
            return self._some_constant(cast_variant(variant), members.values, F.contains)

        def passes(end: Column) -> Column:
            inner = F.try_variant_get(end, "$", "array<variant>")
            alone = includes(end) if members.kind is Kind.TEXT else equals(end)
            return F.when(inner.isNotNull(), F.exists(inner, equals)).otherwise(alone)

        return _sure(F.exists(self._ends(path), passes))

    def _containers(self, value: Value) -> Column:
        """Return what can contain a text: of each end of the path its texts if it is a list, else its own."""
        path = value.value if isinstance(value, Lowered) else value
        if not isinstance(path, PathValue):
            raise AssertionError(f"{value} is no path")

        def text_of(variant: Column) -> Column:
            as_text = as_kind(variant, Kind.TEXT)
            return F.lower(as_text) if isinstance(value, Lowered) else as_text

        def container(end: Column) -> Column:
            members = F.try_variant_get(end, "$", "array<variant>")
            return F.struct(F.transform(members, text_of).alias("members"), text_of(end).alias("text"))

        return F.transform(self._ends(path), container)

    def _ends(self, path: PathValue) -> Column:
        """Return where the path ends, as an array of variants; a step by name goes into every member of a list."""
        ends, steps = self._starts(path)
        for step in steps:
            is_position = isinstance(step, int | IndexPlaceholder)
            ends = self._members_at(ends, step) if is_position else self._members_under(ends, step)
        return ends

    def _members_at(self, ends: Column, position: str | int) -> Column:
        return F.transform(ends, lambda end: self._variant_at(end, step_path(position)))

    def _members_under(self, ends: Column, key: str | int) -> Column:
        def inside(end: Column) -> Column:
            return F.transform(elements_of(end), lambda element: self._variant_at(element, step_path(key)))

        return F.flatten(F.transform(ends, inside))

    def _starts(self, path: PathValue) -> tuple[Column, tuple[str | int, ...]]:
        """Return where the path begins, as an array of variants, and the steps that are left from there.

        The entity is an object, never a list, so the first step into it needs no look at members.
        """
        if path.root is PathRoot.ENTITY:
            return F.array(self._variant_at(self.document, entity_path(*path.steps[:1]))), path.steps[1:]
        changes = F.concat(*(self._changes(name) for name in CHANGE_LISTS))
        return changed_values(changes, self._literal(path.change or ""), path.root), path.steps

    def _changes(self, name: str) -> Column:
        described = _variant_at(self.document, f"$.changeDescription.{name}", _CHANGES)
        return F.coalesce(described, F.array().cast(_CHANGES))

    def _variant_at(self, variant: Column, path: str) -> Column:
        return _variant_at(variant, self._literal(path), "variant")


def _overlaps(values: Column, texts: Column) -> Column:
    return _sure(F.arrays_overlap(values, texts))


def _passes_some(test: Comparison, values: Column, texts: Column) -> Column:
    return F.exists(values, lambda value: F.exists(texts, lambda text: _sure(test(value, text))))


def _holds_some(containers: Column, texts: Column) -> Column:
    def holds(end: Column) -> Column:
        is_part = F.exists(texts, lambda text: _sure(F.contains(end["text"], text)))
        return F.when(end["members"].isNotNull(), _overlaps(end["members"], texts)).otherwise(is_part)

    return F.exists(containers, holds)


def _is_set(value: Value) -> bool:
    """Return whether ``value`` may have many values."""
    match value:
        case Lowered(value=inner):
            return _is_set(inner)
        case FieldValue(name=name):
            return kind_of(name) is Kind.TEXTS
        case _:
            return isinstance(value, PathValue)


def _may_hold(value: Value, kind: Kind) -> bool:
    """Return whether ``value`` can have a value of this kind, so that no expression is spent on what cannot."""
    match value:
        case Literals(kind=literal_kind):
            return literal_kind is kind
        case FieldValue(name=name):
            field_kind = kind_of(name)
            return kind is (Kind.TEXT if field_kind in (Kind.STATUS, Kind.TEXTS) else field_kind)
        case Lowered():
            return kind is Kind.TEXT
        case Size():
            return kind is Kind.NUMBER
        case PathValue():
            return True


def _variant_at(variant: Column, path: Column | str, kind: str) -> Column:
    return F.try_variant_get(variant, path, kind)


def changed_values(changes: Column, name: Column, side: PathRoot) -> Column:
    """Return the old or new values of those of ``changes`` that have this name, as an array of variants."""
    named_changes = F.filter(changes, lambda change: _sure(change["name"] == name))
    return F.transform(named_changes, lambda change: change[side.value])


def elements_of(end: Column) -> Column:
    """Return the members of a list, or the one value as a list of one."""
    return F.coalesce(_variant_at(end, "$", "array<variant>"), F.array(end))


def as_kind(member: Column, kind: Kind) -> Column:
    """Return a variant as a value of this kind; null when it holds another. Nothing is coerced."""
    return F.when(_is_kind(member, kind), _variant_at(member, "$", _TYPES[kind]))


def _is_kind(member: Column, kind: Kind) -> Column:
    type_name = F.schema_of_variant(member)
    is_number = kind is Kind.NUMBER
    return F.rlike(type_name, F.lit("^(BIGINT|DOUBLE|DECIMAL)")) if is_number else type_name == _TYPES[kind].upper()


def _compares_one(compared: Operator, value: Column, constants: Column) -> Column:
    """Return whether a value compares so with one of the constants: with the least or the greatest, unless equal."""
    match compared:
        case Operator.EQ:
            return F.array_contains(constants, value)
        case Operator.LT | Operator.LE:
            return _OPERATORS[compared](value, F.array_max(constants))
        case Operator.GT | Operator.GE:
            return _OPERATORS[compared](value, F.array_min(constants))


def _matches(text: Column, pattern: Column) -> Column:
    return (F.length(text) <= MAX_VALUE) & F.rlike(text, pattern)


def _sure(column: Column) -> Column:
    return F.coalesce(column, F.lit(False))


_TESTS: dict[Test, Comparison] = {
    Test.STARTS_WITH: F.startswith,
    Test.ENDS_WITH: F.endswith,
    Test.INCLUDES: F.contains,
    Test.MATCHES: _matches,
}
