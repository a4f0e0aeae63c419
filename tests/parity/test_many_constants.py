"""Tests of conditions with many constants for one path: they cost one look at its values, and both engines agree."""

from __future__ import annotations

from random import Random

import pytest
from pyspark.sql import SparkSession
from tests.parity.engines import pairs_from_spark, plan, python
from tests.parity.logged import event_at_offset

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.nodes import Node
from tocsin.conditions.normal_form import MAX_TERMS
from tocsin.logic import conjunction_of, disjunction_of, negation_of
from tocsin.model.change import LoggedEvent
from tocsin.spark.index_rows import rows_of
from tocsin.spark.signatures import Shapes

SEED = 27
_VALUES = (0, -0.0, 1, 2.5, -3, 10**12, "", "a", "B", "é", "1", "ab", True, None, {"x": 1}, [1], ["a", 7])
_NUMBERS, _TEXTS = ("0", "1", "2.5", "-3"), ("", "a", "b", "é", "1")
_OF_NUMBERS = ("a == {}", "a < {}", "a <= {}", "a > {}", "a >= {}", "a.contains({})", "a.size() >= {}")
_OF_TEXTS = (
    "a == '{}'",
    "a < '{}'",
    "a >= '{}'",
    "a.contains('{}')",
    "a.startsWith('{}')",
    "a.endsWith('{}')",
    "a.matches('{}.*')",
    "a.toLowerCase() == '{}'",
    "a.toLowerCase().contains('{}')",
)


def _event(offset: int, values: object) -> LoggedEvent:
    entity = {"name": "t", "extension": {"a": values}}
    return event_at_offset(offset, eventType="entityUpdated", entityType="table", entity=entity)


def _tests_of(text: str, constants: tuple[str, ...]) -> list[Node]:
    return [parse_and_check(f"entity.extension.{text.format(constant)}") for constant in constants]


def _many() -> list[Node]:
    """Return what has no normal form for its size, and matches nothing."""
    return [parse_and_check(f"entity.extension.a == 'no {number}'") for number in range(MAX_TERMS + 1)]


def test_one_of_many_constants_is_enough_on_both_engines(spark: SparkSession) -> None:
    rng = Random(SEED)
    events = [_event(offset, rng.choices(_VALUES, k=rng.randrange(4))) for offset in range(1, 61)]
    test_groups = [_tests_of(text, _NUMBERS) for text in _OF_NUMBERS] + [_tests_of(text, _TEXTS) for text in _OF_TEXTS]
    test_samples = [rng.sample(tests, rng.randrange(1, len(tests) + 1)) for tests in test_groups for _ in range(3)]
    nodes = [
        *(disjunction_of(*tests) for tests in test_samples),
        *(disjunction_of(*tests, *_many()) for tests in test_samples[::3]),
        *(
            conjunction_of(negation_of(disjunction_of(*tests)), disjunction_of(*_many(), *tests[:1]))
            for tests in test_samples[1::3]
        ),
        *(negation_of(disjunction_of(*tests, *_many())) for tests in test_samples[2::3]),
    ]
    expected_pairs = python(nodes, events)
    assert len({number for number, _ in expected_pairs}) > len(nodes) / 2
    assert (
        set(pairs_from_spark(spark, [plan(number, node) for number, node in enumerate(nodes)], events))
        == expected_pairs
    )


@pytest.mark.parametrize("text", [*_OF_NUMBERS[:-1], "a.size() == {}", *_OF_TEXTS[:6]])
@pytest.mark.parametrize("count", [2, MAX_TERMS + 50])
def test_alternatives_that_differ_in_their_constants_only_are_one_test(text: str, count: int) -> None:
    """Each test looks at all columns of a table: 330 of them took 20 s for one event of a table with 3,000."""
    node = disjunction_of(*_tests_of(text, tuple(map(str, range(count)))))
    programs = [row["program"] for row in rows_of(plan(1, node), Shapes(), ())]
    assert [len(program) for program in programs] == [1] * len(programs)
    assert programs


def test_all_of_many_texts_are_needed_on_both_engines(spark: SparkSession) -> None:
    rng = Random(SEED)
    texts = ("", "a", "b", "é", "1", "ab", "A", "ba", "é1", "1a", "a1", "x")
    values = (*texts, *_VALUES, list(texts[:6]), ["", "ab", 1], "ab1éA")
    value_samples = [rng.sample(values, rng.randrange(1, len(values))) for _ in range(60)]
    events = [
        _event(offset, content)
        for offset, content in enumerate([list(texts), "".join(texts), [texts[:9]], *value_samples], 1)
    ]
    test_groups = [_tests_of(text, texts) for text in _OF_TEXTS]
    pairs = [[disjunction_of(*rng.sample(tests, 2)) for _ in range(12)] for tests in test_groups]
    nodes = [
        *(conjunction_of(*tests[:count]) for tests in test_groups for count in (9, 10, len(texts))),
        *(conjunction_of(*tests) for tests in pairs),
        *(disjunction_of(conjunction_of(*tests), *_many()) for tests in test_groups),
        *(negation_of(disjunction_of(conjunction_of(*tests), *_many())) for tests in pairs),
    ]
    expected_pairs = python(nodes, events)
    assert len({number for number, _ in expected_pairs}) > len(nodes) / 2
    assert (
        set(pairs_from_spark(spark, [plan(number, node) for number, node in enumerate(nodes)], events))
        == expected_pairs
    )


@pytest.mark.parametrize("text", [_OF_TEXTS[0], *_OF_TEXTS[3:6], *_OF_TEXTS[7:]])
def test_many_tests_that_must_all_pass_look_twice_at_the_document(text: str) -> None:
    """400 of them took 28 s for one event of a table with 3,000 columns; the first is apart, as it may be a guard."""
    node = conjunction_of(*_tests_of(text, tuple(map(str, range(MAX_TERMS + 50)))))
    programs = [row["program"] for row in rows_of(plan(1, node), Shapes(), ())]
    assert [len(program) for program in programs] == [2] * len(programs)
    assert programs
