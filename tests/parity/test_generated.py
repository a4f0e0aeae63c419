"""Do both engines agree on what nobody thought of? Generated conditions and events, many pairs in one Spark job."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.parity.engines import indexed, on_columns, plan, python
from tests.parity.generated import conditions, events

from tocsin.conditions.check import checked
from tocsin.model.change import LoggedEvent

pytestmark = pytest.mark.spark


# Shrinking would take a Spark job per step; the failing pair is printed instead.
@settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(texts=st.lists(conditions, min_size=20, max_size=30, unique=True), log=events)
def test_both_engines_agree_on_generated_pairs(spark: SparkSession, texts: list[str], log: list[LoggedEvent]) -> None:
    nodes = [checked(text) for text in texts]
    expected = python(nodes, log)
    found = indexed(spark, [plan(n, node) for n, node in enumerate(nodes)], log)
    assert _told(on_columns(spark, nodes, log) ^ expected, texts, log) == []
    assert _told(set(found) ^ expected, texts, log) == []
    assert len(found) == len(set(found))


def _told(pairs: set[tuple[int, int]], texts: list[str], log: list[LoggedEvent]) -> list[str]:
    """Return pairs in words, for the message of a failing assertion."""
    return [f"{texts[n]}  <-  {log[offset].event.to_wire()} {log[offset].derived}" for n, offset in sorted(pairs)][:5]
