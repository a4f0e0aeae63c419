"""Does a checked condition hold, as a Column? The Spark engine; ``conditions/evaluate.py`` is the other.

Native expressions only, never null, nothing that can throw. JSON is read from the column ``document`` (VARIANT,
parsed once, see ``with_document``). Next: ``spark/match.py``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # the name everybody knows it by

from tocsin.conditions.fields import CLOSURES, FQN_PATH, kind_of
from tocsin.conditions.nodes import (
    And,
    Compare,
    Constant,
    Contains,
    FieldValue,
    Filled,
    Has,
    Kind,
    Leaf,
    Literals,
    Lowered,
    Node,
    Not,
    Operator,
    Or,
    PathValue,
    Present,
    Root,
    Size,
    Test,
    TextTest,
    Value,
)
from tocsin.conditions.paths import PART_PATTERN
from tocsin.conditions.patterns import MAX_VALUE

DOCUMENT = "document"

COLUMNS = {
    "eventType": "event_type",
    "entityType": "entity_type",
    "entityId": "entity_id",
    "entityFullyQualifiedName": "entity_fqn",
    "userName": "user_name",
    "userId": "user_id",
    "timestamp": "timestamp_ms",
    "previousVersion": "previous_version",
    "currentVersion": "current_version",
    "fieldsAdded": "fields_added",
    "fieldsUpdated": "fields_updated",
    "fieldsDeleted": "fields_deleted",
    "fieldChanged": "field_changed",
    "tags": "tags",
    "owners": "owners",
    "domains": "domains",
    "tier": "tier",
    "service": "service",
    "testStatus": "test_status",
    "pipelineStatus": "pipeline_status",
    "testSuites": "test_suites",
    "testedEntityFqn": "tested_entity_fqn",
    "isBot": "is_bot",
}
"""The column of each field of ``conditions/fields.py``."""

Asks = Callable[[Column], Column]

_SIGNS: dict[Operator, Callable[[Column, Column], Column]] = {
    Operator.EQ: operator.eq,
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}
_SCALARS = (Kind.TEXT, Kind.NUMBER, Kind.BOOLEAN)
_CHANGES = "array<struct<name:string,oldValue:variant,newValue:variant>>"


def with_document(events: DataFrame) -> DataFrame:
    """Return ``events`` with ``document``, their JSON parsed; same rows, no shuffle."""
    return events.withColumn(DOCUMENT, F.try_parse_json("event"))


def reads_document(node: Node) -> bool:
    """Say whether the Column of ``node`` needs ``document``."""
    match node:
        case Constant() | Has():
            return False
        case Not(operand=operand):
            return reads_document(operand)
        case And(operands=operands) | Or(operands=operands):
            return any(reads_document(operand) for operand in operands)
        case Compare(left=left, right=right):
            return _is_path(left) or _is_path(right)
        case _:
            return _is_path(node.value)


def condition(node: Node) -> Column:
    """Return whether ``node`` holds: true or false, never null."""
    match node:
        case Constant(holds=holds):
            return F.lit(holds)
        case Not(operand=operand):
            return ~condition(operand)
        case And(operands=operands):
            return reduce(operator.and_, map(condition, operands))
        case Or(operands=operands):
            return reduce(operator.or_, map(condition, operands))
        case _:
            return _leaf(node)


def texts_of(field: str) -> Column:
    """Return the values of a field or closure as an array of texts as facts write them, empty when it is missing."""
    if field in CLOSURES:
        return _closure(field)
    column = F.col(COLUMNS[field])
    match kind_of(field):
        case Kind.TEXTS:
            return _or_empty(column)
        case Kind.STATUS:
            column = F.lower(column)
        case Kind.BOOLEAN:
            column = column.cast("string")
        case _:
            pass
    return F.array_compact(F.array(column))


def _leaf(leaf: Leaf) -> Column:
    match leaf:
        case Has(field=field, values=values):
            return F.coalesce(F.arrays_overlap(texts_of(field), F.array(*map(F.lit, values))), F.lit(False))
        case Compare(operator=sign, left=left, right=right):
            return _compare(sign, left, right)
        case TextTest(test=test, value=value, texts=texts):
            return _some(value, Kind.TEXT, lambda text: _any_of([_passes(test, text, wanted) for wanted in texts]))
        case Contains(value=value, members=members):
            return _contains(value, members)
        case Present(value=value):
            return _count(value) > 0
        case Filled(value=value):
            return _filled(value)


def _compare(sign: Operator, left: Value, right: Value) -> Column:
    """Return whether some pair of values of one kind compares so."""
    compare = _SIGNS[sign]

    def pairs(kind: Kind) -> Column:
        return _some(left, kind, lambda a: _some(right, kind, lambda b: compare(a, b)))

    return _any_of([pairs(kind) for kind in _SCALARS if _may_hold(left, kind) and _may_hold(right, kind)])


def _may_hold(value: Value, kind: Kind) -> bool:
    """Say whether ``value`` can have a value of this kind, so that no expression is spent on what cannot."""
    match value:
        case Literals(kind=own):
            return own is kind
        case FieldValue(name=name):
            own = kind_of(name)
            return kind is (Kind.TEXT if own in (Kind.STATUS, Kind.TEXTS) else own)
        case Lowered():
            return kind is Kind.TEXT
        case Size():
            return kind is Kind.NUMBER
        case PathValue():
            return True


def _some(value: Value, kind: Kind, asks: Asks) -> Column:
    """Return whether some value of this kind passes ``asks``; false, not null, when there is none."""
    if not _may_hold(value, kind):
        return F.lit(False)
    match value:
        case Literals(values=values):
            return _any_of([_sure(asks(F.lit(v))) for v in values])
        case FieldValue(name=name) if kind_of(name) is Kind.TEXTS:
            return _sure(F.exists(texts_of(name), lambda text: _sure(asks(text))))
        case FieldValue(name=name):
            column = F.col(COLUMNS[name])
            return _sure(asks(column.cast("double") if kind is Kind.NUMBER else column))
        case PathValue():
            return _sure(F.exists(_members(value), lambda member: _sure(asks(_as(member, kind)))))
        case Lowered(of=of):
            return _some(of, kind, lambda text: asks(F.lower(text)))
        case Size(of=of):
            return _sure(asks(_count(of).cast("double")))


def _count(value: Value) -> Column:
    """Return how many values there are."""
    match value:
        case Literals(values=values):
            return F.lit(len(values))
        case FieldValue(name=name):
            is_set = kind_of(name) is Kind.TEXTS
            return F.size(texts_of(name)) if is_set else F.col(COLUMNS[name]).isNotNull().cast("int")
        case PathValue():
            return F.size(_members(value))
        case Lowered(of=PathValue() as path):
            return F.size(F.filter(_members(path), lambda member: _as(member, Kind.TEXT).isNotNull()))
        case Lowered(of=of):
            return _count(of)
        case Size():
            return F.lit(1)


def _filled(value: Value) -> Column:
    """Return whether there is some value other than the empty text."""
    if isinstance(value, PathValue):
        return F.exists(_members(value), lambda member: ~_sure(_as(member, Kind.TEXT) == ""))
    if isinstance(value, FieldValue) and kind_of(value.name) in (Kind.NUMBER, Kind.BOOLEAN):
        return F.col(COLUMNS[value.name]).isNotNull()
    return F.lit(True) if isinstance(value, Size) else _some(value, Kind.TEXT, lambda text: text != "")


def _passes(test: Test, text: Column, wanted: str) -> Column:
    match test:
        case Test.STARTS_WITH:
            return text.startswith(wanted)
        case Test.ENDS_WITH:
            return text.endswith(wanted)
        case Test.INCLUDES:
            return text.contains(wanted)
        case Test.MATCHES:
            return (F.length(text) <= MAX_VALUE) & text.rlike(rf"(?s)\A(?:{wanted})\z")


def _contains(value: Value, members: Literals) -> Column:
    """Return whether a list at the path has one of ``members`` as a member, or a text one as a part."""
    path = value.of if isinstance(value, Lowered) else value
    if not isinstance(path, PathValue):
        return F.lit(False)
    cased: Asks = F.lower if isinstance(value, Lowered) else lambda text: text
    kinds = (Kind.TEXT,) if isinstance(value, Lowered) else _SCALARS
    wanted = [m for m in members.values if members.kind in kinds]

    def equals(one: Column) -> Column:
        column = _as(one, members.kind)
        return _sure((cased(column) if members.kind is Kind.TEXT else column).isin(*wanted)) if wanted else F.lit(False)

    def includes(one: Column) -> Column:
        texts = wanted if members.kind is Kind.TEXT else []
        return _any_of([_sure(cased(_as(one, Kind.TEXT)).contains(F.lit(text))) for text in texts])

    def holds(end: Column) -> Column:
        inner = F.try_variant_get(end, "$", "array<variant>")
        in_list = F.exists(inner, equals)
        return F.when(inner.isNotNull(), in_list).otherwise(includes(end) | equals(end))

    return _sure(F.exists(_ends(path), holds))


def _members(path: PathValue) -> Column:
    """Return the values at the path: each end, or the members of one that is a list; null among none."""
    found = F.flatten(F.transform(_ends(path), _elements))
    return F.filter(found, lambda member: member.isNotNull() & ~_sure(F.is_variant_null(member)))


def _ends(path: PathValue) -> Column:
    """Return where the path ends, as an array of variants; a step by name goes into every member of a list."""
    ends = _starts(path)
    for step in path.steps:
        ends = _stepped(ends, step)
    return ends


def _stepped(ends: Column, step: str | int) -> Column:
    if isinstance(step, int):
        return F.transform(ends, lambda end: F.try_variant_get(end, f"$[{step}]", "variant"))
    return F.flatten(
        F.transform(
            ends,
            lambda end: F.transform(_elements(end), lambda m: F.try_variant_get(m, f"$['{step}']", "variant")),
        )
    )


def _starts(path: PathValue) -> Column:
    if path.root is Root.ENTITY:
        return F.array(F.try_variant_get(DOCUMENT, "$.entity", "variant"))
    parts = [
        _or_empty(F.try_variant_get(DOCUMENT, f"$.changeDescription.{key}", _CHANGES))
        for key in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")
    ]
    changes = F.filter(F.concat(*parts), lambda change: _sure(change["name"] == F.lit(path.change)))
    return F.transform(changes, lambda change: change[path.root.value])


def _elements(end: Column) -> Column:
    """Return the members of a list, or the one value as a list of one."""
    return F.coalesce(F.try_variant_get(end, "$", "array<variant>"), F.array(end))


def _as(member: Column, kind: Kind) -> Column:
    """Return a variant as a value of this kind; null when it holds another. Nothing is coerced."""
    held = F.schema_of_variant(member)
    if kind is Kind.TEXT:
        return F.when(held == "STRING", F.try_variant_get(member, "$", "string"))
    if kind is Kind.BOOLEAN:
        return F.when(held == "BOOLEAN", F.try_variant_get(member, "$", "boolean"))
    is_number = (held == "BIGINT") | (held == "DOUBLE") | held.startswith("DECIMAL")
    return F.when(is_number, F.try_variant_get(member, "$", "double"))


def _closure(name: str) -> Column:
    """Return a name and everything above it, or every ending of it (``conditions/paths.py``)."""
    whole = F.col(COLUMNS[CLOSURES[name]])
    parts = F.regexp_extract_all(whole, F.lit(PART_PATTERN), F.lit(0))
    if name == FQN_PATH:
        cut = F.transform(parts, lambda _, at: F.array_join(F.slice(parts, 1, at + 1), "."))
    else:
        cut = F.transform(parts, lambda _, at: F.array_join(F.slice(parts, at + 1, F.size(parts)), "."))
    is_there = whole.isNotNull() & (whole != "")
    return F.when(is_there, F.array_distinct(F.concat(cut, F.array(whole)))).otherwise(F.array().cast("array<string>"))


def _any_of(columns: list[Column]) -> Column:
    return reduce(operator.or_, columns) if columns else F.lit(False)


def _or_empty(column: Column) -> Column:
    return F.coalesce(column, F.array())


def _sure(column: Column) -> Column:
    return F.coalesce(column, F.lit(False))


def _is_path(value: Value) -> bool:
    return isinstance(value, PathValue) or (isinstance(value, Lowered | Size) and _is_path(value.of))
