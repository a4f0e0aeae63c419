"""Tests of comparisons of two sets: some pair compares so, found without trying all pairs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

from pyspark.sql import SparkSession
from tests.parity.engines import on_spark, python
from tests.parity.logged import event_at_offset

from tocsin.conditions.check import parse_and_check
from tocsin.model.change import LoggedEvent

SEED = 26
_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_VALUES = (0, -0.0, 1, 2.5, -3, 10**12, "", "a", "B", "é", "1", True, False, None, {"x": 1}, [1])
_MANY = 4_000


def _event(offset: int, **extension: object) -> LoggedEvent:
    return event_at_offset(
        offset, eventType="entityUpdated", entityType="table", entity={"name": "t", "extension": extension}
    )


def _compares(sign: str, left: list[object], right: list[object]) -> bool:
    """As the documentation has it: some value compares so with some value of its kind."""
    return any(_kind(a) is _kind(b) is not None and _SIGNS[sign](a, b) for a, b in product(left, right))


def _kind(value: object) -> type | None:
    if isinstance(value, bool | str):
        return type(value)
    return float if isinstance(value, int | float) else None


def test_two_sets_compare_as_all_their_pairs_do_on_both_engines(spark: SparkSession) -> None:
    rng = Random(SEED)
    value_pairs = [tuple(rng.choices(_VALUES, k=rng.randrange(4)) for _ in range(2)) for _ in range(150)]
    events = [_event(offset, a=a, b=b) for offset, (a, b) in enumerate(value_pairs, start=1)]
    nodes = [parse_and_check(f"entity.extension.a {sign} entity.extension.b") for sign in _SIGNS]
    expected_pairs = {
        (n, offset)
        for n, sign in enumerate(_SIGNS)
        for offset, (a, b) in enumerate(value_pairs, start=1)
        if _compares(sign, list(a), list(b))
    }
    assert expected_pairs, "and some match"
    assert python(nodes, events) == expected_pairs
    assert on_spark(spark, nodes, events) == expected_pairs


def test_lowered_texts_and_sets_of_the_event_compare_alike(spark: SparkSession) -> None:
    events = [_event(1, a=["ANN", 3], b=["ann"]), _event(2, a=["x"], b=["y"]), _event(3, a=[], b=["y"])]
    nodes = [
        parse_and_check("entity.extension.a.toLowerCase() == entity.extension.b.toLowerCase()"),
        parse_and_check("entity.extension.a.toLowerCase() < entity.extension.b.toLowerCase()"),
        parse_and_check("fieldsAdded == entity.extension.b"),
    ]
    assert python(nodes, events) == on_spark(spark, nodes, events) == {(0, 1), (1, 2)}


def test_two_paths_into_a_table_with_thousands_of_columns_are_compared_without_all_pairs(spark: SparkSession) -> None:
    """Each event took more than a minute, and whoever waited behind it as long."""
    columns = [{"name": f"c{n}", "description": f"number {n}"} for n in range(_MANY)]
    events = [
        event_at_offset(n, eventType="entityUpdated", entityType="table", entity={"name": "t", "columns": columns})
        for n in range(1, 9)
    ]
    nodes = [parse_and_check("entity.columns.name == entity.columns.description")]
    assert python(nodes, events) == on_spark(spark, nodes, events) == set()
