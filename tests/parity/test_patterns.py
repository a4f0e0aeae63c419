"""Tests of regular expressions on both engines: the most expensive ones accepted, on the longest texts."""

from __future__ import annotations

from itertools import product

import pytest
from pyspark.sql import SparkSession

from tocsin.conditions.backtracking import PatternError
from tocsin.conditions.patterns import MAX_STEPS, MAX_VALUE, is_match, steps_of, translate
from tocsin.spark.conditions import whole_pattern

pytestmark = pytest.mark.spark

_PARTS = (
    *(
        ".*",
        "[a-z]+",
        "[a-z_]*",
        "\\w+?",
        ".{0,8}",
        "a?",
        "(a|b|ab)",
        "(?:foo|bar)+",
        "\\s",
        "[^a]*",
        "_",
        "ab",
        "\\S{3}",
    ),
    *("[\\S.]", "(a|aa){2,4}", "(?:\\w+\\.){3}"),
)
_UNITS = ("a", "ab", "a_", "foobar", ". ", "\v", "é", "😀", "a.", "aab\n")
_LARGE = 50_000


def _hostile_texts() -> list[str]:
    longest = [(unit * MAX_VALUE)[:MAX_VALUE] for unit in _UNITS]
    return [*longest, *(text[:-1] + "!" for text in longest), *(text[: MAX_VALUE // 2] for text in longest)]


def _dear_patterns() -> list[str]:
    """Return patterns that are taken, of two and three parts: the dearest, and some of each cost below."""
    steps_by_pattern = dict[str, int]()
    for parts in (*product(_PARTS, repeat=2), *product(_PARTS, _PARTS, (".*", "[a-z]+", "(a|b|ab)", "x"))):
        try:
            pattern = translate("".join(parts))
        except PatternError:
            continue
        steps_by_pattern[pattern] = steps_of(pattern)
    assert max(steps_by_pattern.values()) <= MAX_STEPS
    dear = sorted(
        (pattern for pattern in steps_by_pattern if steps_by_pattern[pattern] > _LARGE),
        key=lambda one: -steps_by_pattern[one],
    )
    return [*dear[:12], *list(steps_by_pattern)[::40]]


def test_the_dearest_patterns_end_and_mean_the_same_on_both_engines(spark: SparkSession) -> None:
    cases = [(pattern, whole_pattern(pattern), text) for pattern, text in product(_dear_patterns(), _hostile_texts())]
    frame = spark.createDataFrame(cases, "pattern string, whole string, value string")
    answers = frame.selectExpr("pattern", "value", "rlike(value, whole) AS is_match").collect()
    assert [row for row in answers if row.is_match is not is_match(row.pattern, row.value)] == []
