"""Tests of both engines against the parity table."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession
from tests.parity.comparisons import COMPARISONS
from tests.parity.engines import pairs_from_spark, pairs_through_index, plan, python
from tests.parity.happenings import HAPPENINGS
from tests.parity.table import ALL
from tests.parity.table import TABLE as GENERAL
from tests.parity.test_scheduled_checks import CASES as AT_SCHEDULED_TIMES

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.fields import FIELDS, kind_of
from tocsin.conditions.functions import FUNCTIONS
from tocsin.conditions.methods import METHODS
from tocsin.conditions.nodes import Compare, FieldValue, Lowered, Operator, PathValue, Size, Value
from tocsin.conditions.relations import RELATIONS
from tocsin.flow.match.extracted_paths import MANY, MOST, asked_leaves
from tocsin.logic import leaves
from tocsin.spark.match import index_of

pytestmark = pytest.mark.spark

TABLE = (*GENERAL, *COMPARISONS)
NODES = [parse_and_check(condition) for condition, _ in TABLE]
EVENTS = list(HAPPENINGS.values())
EXPECTED = {(n, HAPPENINGS[name].offset) for n, (_, names) in enumerate(TABLE) for name in names}


def _in_words(pairs: set[tuple[int, int]]) -> list[str]:
    """Return pairs in words, for the message of a failing assertion."""
    names = {one.offset: name for name, one in HAPPENINGS.items()}
    return sorted(f"{TABLE[n][0]}  <-  {names[offset]}" for n, offset in pairs)


def test_the_table_names_every_event_and_has_no_line_twice() -> None:
    assert set(ALL) == set(HAPPENINGS)
    assert len({condition for condition, _ in TABLE}) == len(TABLE)
    assert len(TABLE) >= 300


def test_the_table_has_a_line_for_every_word_of_the_language() -> None:
    notified = " ".join([*(condition for condition, _ in TABLE), *(case[0] for case in AT_SCHEDULED_TIMES)])
    assert [name for name in FUNCTIONS if f"{name}(" not in notified] == []
    assert [name for name in METHODS if f".{name}(" not in notified] == []
    assert [name for name in RELATIONS if f"user.{name}(" not in notified] == []
    assert [name for name in FIELDS if not re.search(rf"\b{name}\b", notified)] == []


def test_the_table_has_a_line_for_every_sign_beside_every_kind_of_value() -> None:
    comparisons = [leaf for node in NODES for leaf in leaves(node) if isinstance(leaf, Compare)]
    kinds_and_operators = {(_kind(leaf.left), leaf.operator) for leaf in comparisons}
    kinds = {_kind(value) for leaf in comparisons for value in (leaf.left, leaf.right)} - {"literals"}
    facts = {"text", "status", "set of texts", "true or false"}  # whose equality is a fact, or that have no order
    assert {"text", "status", "set of texts", "number", "path", "size"} <= kinds
    assert [
        (kind, sign.value)
        for kind in kinds
        for sign in Operator
        if sign is not Operator.EQ and (kind, sign) not in kinds_and_operators
    ] == []
    assert {kind for kind in kinds - facts if (kind, Operator.EQ) not in kinds_and_operators} == set()
    condition_text = " ".join(condition for condition, _ in TABLE)
    spelt = ["eq", "ne", "lt", "le", "gt", "ge", "in", "matches", "and", "or", "not", "AND", "OR", "NOT"]
    assert [word for word in spelt if f" {word} " not in f" {condition_text}"] == []


def _kind(value: Value) -> str:
    match value:
        case FieldValue(name=name):
            return kind_of(name).value
        case Lowered(value=inner):
            return _kind(inner)
        case Size():
            return "size"
        case _:
            return "path" if isinstance(value, PathValue) else "literals"


def test_python_agrees_with_the_table() -> None:
    pairs = python(NODES, EVENTS)
    assert _in_words(pairs - EXPECTED) == []
    assert _in_words(EXPECTED - pairs) == []


def test_the_index_agrees_with_the_table(spark: SparkSession) -> None:
    pairs = pairs_from_spark(spark, [plan(n, node) for n, node in enumerate(NODES)], EVENTS)
    assert _in_words(set(pairs) - EXPECTED) == []
    assert _in_words(EXPECTED - set(pairs)) == []
    assert len(pairs) == len(set(pairs)), "an event is found once per subscription"


def test_the_index_agrees_with_the_table_when_many_ask_about_a_path(spark: SparkSession) -> None:
    texts_asked = [n for n, node in enumerate(NODES) if any(asked_leaves(node))]
    plans = [plan(n * MANY + copy, NODES[n]) for n in texts_asked for copy in range(MANY)]
    assert 20 < len(texts_asked) < len(NODES)
    first_plans, later_plans = plans[: len(plans) // 2], plans[len(plans) // 2 :]
    index = index_of(first_plans).with_plans((), later_plans)
    assert len(index.extracted_paths.names) == MOST
    assert index.extracted_paths.word_fields
    pairs = pairs_through_index(spark, index, EVENTS)
    expected = {(n * MANY + copy, offset) for n, offset in EXPECTED if n in texts_asked for copy in range(MANY)}
    assert _in_words({(n // MANY, offset) for n, offset in set(pairs) ^ expected}) == []
    assert len(pairs) == len(set(pairs))
