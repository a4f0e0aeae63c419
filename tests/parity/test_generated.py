"""Tests of both engines on generated conditions and events, many pairs in one Spark job."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from tests.parity.engines import pairs_from_spark, plan, python
from tests.parity.generated import conditions, draw_examples, event_parts, log_of
from tests.soak import SOAK

from tocsin.conditions.check import parse_and_check
from tocsin.flow.match.extracted_paths import MANY
from tocsin.model.change import LoggedEvent

pytestmark = pytest.mark.spark

CONDITIONS, EVENTS, JOBS = (90, 150, 3) if SOAK else (40, 60, 1)
"""How many are made up, and into how many Spark jobs the conditions go: all of one job are one expression each."""


def test_both_engines_agree_on_generated_pairs(spark: SparkSession) -> None:
    texts = sorted(set(draw_examples(conditions, CONDITIONS)))
    log = log_of(draw_examples(event_parts, EVENTS))
    assert len(texts) * len(log) >= (10_000 if SOAK else 1_500)
    for part in range(JOBS):
        part_texts = texts[part::JOBS]
        nodes = [parse_and_check(text) for text in part_texts]
        expected = python(nodes, log)
        pairs = pairs_from_spark(spark, [plan(n, node) for n, node in enumerate(nodes)], log)
        assert _in_words(set(pairs) ^ expected, part_texts, log) == []
        assert len(pairs) == len(set(pairs))
    often = [plan(n, node) for n, node in enumerate(nodes) for _ in range(MANY)]
    assert set(pairs_from_spark(spark, often, log)) == expected, "paths that many ask about are taken out once"


def _in_words(pairs: set[tuple[int, int]], texts: list[str], log: list[LoggedEvent]) -> list[str]:
    """Return pairs in words, for the message of a failing assertion."""
    return [f"{texts[n]}  <-  {log[offset].event.to_wire()} {log[offset].derived}" for n, offset in sorted(pairs)][:5]
