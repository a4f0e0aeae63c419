"""Spark engine of conditions: checked conditions as SQL expressions; ``conditions/evaluate.py`` is the Python engine.

SQL text costs one call to the JVM where Columns cost dozens. Native functions only, never null, nothing that can
throw. JSON is read from the column ``document`` (VARIANT, parsed once, see ``with_document``).
Next: ``spark/match.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # the name everybody knows it by

from tocsin.conditions.changes import CHANGE_SETS, CHANGES, SEPARATOR
from tocsin.conditions.fields import CLOSURES, DEPTHS, FQN_PATH, is_taken, kind_of
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
    Node,
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
from tocsin.conditions.paths import PART_PATTERN
from tocsin.conditions.patterns import MAX_VALUE, backtracking
from tocsin.logic import Algebra, folded
from tocsin.spark.schema import COLUMNS

DOCUMENT = "document"

Expression = str
"""A Spark SQL expression."""

Asks = Callable[[Expression], Expression]

_TYPES = {Kind.TEXT: "string", Kind.NUMBER: "double", Kind.BOOLEAN: "boolean"}
_CHANGES = "array<struct<name:string,oldValue:variant,newValue:variant>>"
_NO_TEXTS = "cast(array() AS array<string>)"
_WHOLE_BEGINS, _WHOLE_ENDS = r"(?s)\A(?:", r")\z"
_NO_CHANGES = f"cast(array() AS {_CHANGES})"


class Placeholder(str):
    """Placeholder for a constant in a condition: the name of the column or variable that holds it."""


def with_document(events: DataFrame) -> DataFrame:
    """Return ``events`` with ``document``, the JSON of their column ``event``, parsed.

    One row per event; other columns as they were. No shuffle.
    """
    return events.withColumn(DOCUMENT, F.try_parse_json("event"))


def condition(node: Node) -> Column:
    """Return whether ``node`` holds as a Column: true or false, never null."""
    return F.expr(expression(node))


def expression(node: Node) -> Expression:
    """Return whether ``node`` holds as an expression: true or false, never null."""
    return folded(node, _SQL, _leaf)


def literal(value: Scalar) -> Expression:
    """Return ``value`` as SQL writes it; a ``Placeholder`` as the name it is."""
    if isinstance(value, Placeholder):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"{value!r}D"


def is_stored(field: str) -> bool:
    """Return whether the values of ``field`` are in a column, and need not be computed."""
    return field in COLUMNS or is_taken(field)


def texts_of(field: str) -> Expression:
    """Return the values of a field or closure as an array of texts as facts write them, empty when it is missing."""
    if is_taken(field):
        return field
    if field in CLOSURES:
        return _closure(field)
    if field in CHANGE_SETS:
        return _changes(CHANGE_SETS[field])
    if kind_of(field) is Kind.TEXTS:
        return f"coalesce({COLUMNS[field]}, {_NO_TEXTS})"
    return f"array_compact(array({text_of(field)}))"


def texts_at(path: PathValue) -> Expression:
    """Return the texts at a path into the column ``document``, as an array without nulls."""
    return f"array_compact(transform({_members(path)}, m -> {_as('m', Kind.TEXT)}))"


def text_of(field: str) -> Expression:
    """Return the value of a field that is no set as a text as facts write it, null when it is missing."""
    column = COLUMNS[field]
    match kind_of(field):
        case Kind.STATUS:
            return f"lower({column})"
        case Kind.BOOLEAN:
            return f"cast({column} AS string)"
        case _:
            return column


def whole_pattern(pattern: str) -> str:
    """Return ``pattern`` as Java takes it to match a whole value, dot meaning anything."""
    return f"{_WHOLE_BEGINS}{backtracking(pattern)}{_WHOLE_ENDS}"


def inner_pattern(whole: str) -> str:
    """Return what ``whole_pattern`` was made of."""
    return whole.removeprefix(_WHOLE_BEGINS).removesuffix(_WHOLE_ENDS)


def any_of(expressions: Iterable[Expression]) -> Expression:
    """Return whether some of ``expressions`` is true."""
    return f"({' OR '.join(expressions) or 'false'})"


_SQL = Algebra(literal, lambda part: f"(NOT {part})", lambda parts: f"({' AND '.join(parts)})", any_of)


def _leaf(leaf: Leaf) -> Expression:
    match leaf:
        case Has(field=field, values=values):
            return _sure(f"arrays_overlap({texts_of(field)}, array({', '.join(map(literal, values))}))")
        case Compare():
            return _compare(leaf)
        case TextTest(test=test, value=value, texts=texts):
            return _some(value, Kind.TEXT, lambda text: any_of(_passes(test, text, wanted) for wanted in texts))
        case Contains(value=value, members=members):
            return _contains(value, members)
        case Present(value=value):
            return f"({_count(value)} > 0)"
        case Filled(value=value):
            return _filled(value)
        case Personal():
            return "false"  # of nobody; whoever asks it of somebody has answered it before


def _compare(leaf: Compare) -> Expression:
    """Return whether some pair of values of one kind compares so."""

    def pairs(kind: Kind) -> Expression:
        def with_right(a: Expression) -> Expression:
            return _some(leaf.right, kind, lambda b: f"{a} {leaf.operator} {b}", variable="b")

        return _some(leaf.left, kind, with_right, variable="a")

    return any_of(pairs(kind) for kind in _TYPES if _may_hold(leaf.left, kind) and _may_hold(leaf.right, kind))


def _may_hold(value: Value, kind: Kind) -> bool:
    """Return whether ``value`` can have a value of this kind, so that no expression is spent on what cannot."""
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


def _some(value: Value, kind: Kind, asks: Asks, *, variable: str = "v") -> Expression:
    """Return whether some value of this kind passes ``asks``; false, not null, when there is none."""
    if not _may_hold(value, kind):
        return "false"
    match value:
        case Literals(values=values):
            return any_of(_sure(asks(literal(v))) for v in values)
        case FieldValue(name=name) if kind_of(name) is Kind.TEXTS:
            return _sure(f"exists({texts_of(name)}, {variable} -> {_sure(asks(variable))})")
        case FieldValue(name=name):
            column = COLUMNS[name]
            return _sure(asks(f"cast({column} AS double)" if kind is Kind.NUMBER else column))
        case PathValue():
            # The kind is asked for last: it is dear to know, and most values have failed by then.
            passes = f"{asks(_at(variable, '$', _TYPES[kind]))} AND {_is_kind(variable, kind)}"
            return _sure(f"exists({_members(value)}, {variable} -> {_sure(passes)})")
        case Lowered(of=of):
            return _some(of, kind, lambda text: asks(f"lower({text})"), variable=variable)
        case Size(of=of):
            return _sure(asks(f"cast({_count(of)} AS double)"))


def _count(value: Value) -> Expression:
    """Return how many values there are."""
    match value:
        case Literals(values=values):
            return str(len(values))
        case FieldValue(name=name):
            is_set = kind_of(name) is Kind.TEXTS
            return f"size({texts_of(name)})" if is_set else f"cast({COLUMNS[name]} IS NOT NULL AS int)"
        case PathValue():
            return f"size({_members(value)})"
        case Lowered(of=PathValue() as path):
            return f"size(filter({_members(path)}, m -> {_as('m', Kind.TEXT)} IS NOT NULL))"
        case Lowered(of=of):
            return _count(of)
        case Size():
            return "1"


def _filled(value: Value) -> Expression:
    """Return whether there is some value other than the empty text."""
    if isinstance(value, PathValue):
        is_blank = _sure(f"{_as('m', Kind.TEXT)} = ''")
        return f"exists({_members(value)}, m -> NOT {is_blank})"
    if isinstance(value, FieldValue) and kind_of(value.name) in (Kind.NUMBER, Kind.BOOLEAN):
        return f"({COLUMNS[value.name]} IS NOT NULL)"
    return "true" if isinstance(value, Size) else _some(value, Kind.TEXT, lambda text: f"{text} != ''")


def _passes(test: Test, text: Expression, wanted: str) -> Expression:
    match test:
        case Test.STARTS_WITH:
            return f"startswith({text}, {literal(wanted)})"
        case Test.ENDS_WITH:
            return f"endswith({text}, {literal(wanted)})"
        case Test.INCLUDES:
            return f"contains({text}, {literal(wanted)})"
        case Test.MATCHES:
            whole = literal(wanted if isinstance(wanted, Placeholder) else whole_pattern(wanted))
            return f"(length({text}) <= {MAX_VALUE} AND rlike({text}, {whole}))"


def _contains(value: Value, members: Literals) -> Expression:
    """Return whether a list at the path has one of ``members`` as a member, or a text one as a part."""
    is_lowered = isinstance(value, Lowered)
    path = value.of if isinstance(value, Lowered) else value
    if not isinstance(path, PathValue) or (is_lowered and members.kind is not Kind.TEXT):
        return "false"

    def held(one: Expression) -> Expression:
        return f"lower({_as(one, members.kind)})" if is_lowered else _as(one, members.kind)

    def equals(one: Expression) -> Expression:
        return any_of(_sure(f"{held(one)} = {literal(member)}") for member in members.values)

    def includes(one: Expression) -> Expression:
        texts = members.values if members.kind is Kind.TEXT else ()
        return any_of(_sure(f"contains({held(one)}, {literal(text)})") for text in texts)

    inner = "try_variant_get(e, '$', 'array<variant>')"
    alone = includes("e") if members.kind is Kind.TEXT else equals("e")
    in_list = f"exists({inner}, m -> {equals('m')})"
    return _sure(f"exists({_ends(path)}, e -> CASE WHEN {inner} IS NOT NULL THEN {in_list} ELSE {alone} END)")


def _members(path: PathValue) -> Expression:
    """Return the values at the path: each end, or the members of one that is a list; null among none."""
    found = f"flatten(transform({_ends(path)}, e -> {_elements('e')}))"
    return f"filter({found}, m -> m IS NOT NULL AND NOT {_sure('is_variant_null(m)')})"


def _ends(path: PathValue) -> Expression:
    """Return where the path ends, as an array of variants; a step by name goes into every member of a list."""
    ends, steps = _starts(path)
    for step in steps:
        if isinstance(step, int):
            ends = f"transform({ends}, e -> {_at('e', f'$[{step}]')})"
        else:
            inside = f"transform({_elements('e')}, m -> {_at('m', key_path(step))})"
            ends = f"flatten(transform({ends}, e -> {inside}))"
    return ends


def _starts(path: PathValue) -> tuple[Expression, tuple[str | int, ...]]:
    """Return where the path begins, as an array of variants, and the steps that are left from there.

    The entity is an object, never a list, so the first step into it needs no look at members.
    """
    if path.root is PathRoot.ENTITY:
        return f"array({_at(DOCUMENT, entity_path(*path.steps[:1]))})", path.steps[1:]
    lists = (
        f"coalesce({_at(DOCUMENT, f'$.changeDescription.{key}', _CHANGES)}, {_NO_CHANGES})"
        for key in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")
    )
    is_named = _sure(f"c.name = {literal(path.change or '')}")
    return f"transform(filter(concat({', '.join(lists)}), c -> {is_named}), c -> c.{path.root})", path.steps


def entity_path(key: str | int | None = None) -> str:
    """Return the path from the document to the entity, or to its value under ``key``; a ``Placeholder`` unchanged."""
    if isinstance(key, Placeholder):
        return key
    return "$.entity" if key is None else f"$.entity['{key}']"


def key_path(key: str) -> str:
    """Return the path from an object to its value under ``key``; a ``Placeholder`` unchanged."""
    return key if isinstance(key, Placeholder) else f"$['{key}']"


def _at(variant: Expression, path: str, kind: str = "variant") -> Expression:
    return f"try_variant_get({variant}, {literal(path)}, '{kind}')"


def _elements(end: Expression) -> Expression:
    """Return the members of a list, or the one value as a list of one."""
    return f"coalesce({_at(end, '$', 'array<variant>')}, array({end}))"


def _as(member: Expression, kind: Kind) -> Expression:
    """Return a variant as a value of this kind; null when it holds another. Nothing is coerced."""
    return f"CASE WHEN {_is_kind(member, kind)} THEN {_at(member, '$', _TYPES[kind])} END"


def _is_kind(member: Expression, kind: Kind) -> Expression:
    held = f"schema_of_variant({member})"
    return f"rlike({held}, '^(BIGINT|DOUBLE|DECIMAL)')" if kind is Kind.NUMBER else f"{held} = '{_TYPES[kind].upper()}'"


def _closure(name: str) -> Expression:
    """Return a name and its ancestors, its suffixes, or its ancestor at a depth (``conditions/paths.py``)."""
    whole = COLUMNS[CLOSURES[name]]
    if name in DEPTHS:
        return _ancestor(whole, DEPTHS[name])
    is_odd = f"contains({whole}, '\"') OR contains({whole}, '..') OR startswith({whole}, '.') OR endswith({whole}, '.')"
    count = f"length({whole}) - length(replace({whole}, '.', '')) + 1"
    cut = f"transform(sequence(1, {count}), n -> substring_index({whole}, '.', {'n' if name == FQN_PATH else '-n'}))"
    closed = f"if({is_odd}, {_closure_of_parts(name, whole)}, {cut})"
    return f"CASE WHEN {whole} != '' THEN {closed} ELSE {_NO_TEXTS} END"


def _closure_of_parts(name: str, whole: Expression) -> Expression:
    """Return the same for a name with quoted dots; several times as expensive."""
    parts = _parts(whole)
    cut = f"slice({parts}, 1, i + 1)" if name == FQN_PATH else f"slice({parts}, i + 1, size({parts}))"
    return f"array_distinct(concat(transform({parts}, (p, i) -> array_join({cut}, '.')), array({whole})))"


def _ancestor(whole: Expression, depth: int) -> Expression:
    """Return the plain and the full name of a name's ancestor at ``depth``; no name when it is not so deep."""
    own = f"element_at(p, {depth})"
    is_quoted = f"length({own}) > 1 AND startswith({own}, '\"') AND endswith({own}, '\"')"
    plain = f"if({is_quoted}, replace(substring({own}, 2, length({own}) - 2), '\"\"', '\"'), {own})"
    names = f"array_distinct(array({plain}, array_join(slice(p, 1, {depth}), '.')))"
    return f"flatten(transform(filter(array({_parts(whole)}), p -> size(p) >= {depth}), p -> {names}))"


def _parts(whole: Expression) -> Expression:
    """Return the parts of a name, quotes kept."""
    return f"regexp_extract_all({whole}, {literal(PART_PATTERN)}, 0)"


def _changes(places: tuple[int, ...]) -> Expression:
    """Return the changes of an event reduced to some of their parts (``conditions/changes.py``)."""
    chosen = [f"split_part(c, {literal(SEPARATOR)}, {at + 1})" for at in places]
    whole = " AND ".join(f"{part} != ''" for part in chosen)
    stored = f"coalesce({COLUMNS[CHANGES]}, {_NO_TEXTS})"
    return f"transform(filter({stored}, c -> {whole}), c -> concat_ws({literal(SEPARATOR)}, {', '.join(chosen)}))"


def _sure(expression: Expression) -> Expression:
    return f"coalesce({expression}, false)"
