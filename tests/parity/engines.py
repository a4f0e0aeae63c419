"""Adapters of both engines; each returns pairs of (number of the condition, offset of the event)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession
from tests.parity.logged import events_frame

from tocsin.conditions.evaluate import holds
from tocsin.conditions.nodes import Node
from tocsin.flow.match.plan import Plan
from tocsin.model.change import LoggedEvent
from tocsin.spark.match import Index, index_of, matches


def plan(number: int, node: Node) -> Plan:
    """Return a plan for events of every type and time."""
    return Plan(subscription_id=str(number), resources=("all",), node=node, created_at_ms=0)


def python(nodes: Sequence[Node], events: Sequence[LoggedEvent]) -> set[tuple[int, int]]:
    """Ask the Python engine."""
    return {(n, one.offset) for n, node in enumerate(nodes) for one in events if holds(node, one)}


def on_spark(spark: SparkSession, nodes: Sequence[Node], events: Sequence[LoggedEvent]) -> set[tuple[int, int]]:
    """Ask Spark, each condition as a plan of its own."""
    return set(pairs_from_spark(spark, [plan(n, node) for n, node in enumerate(nodes)], events))


def pairs_from_spark(
    spark: SparkSession, plans: Sequence[Plan], events: Sequence[LoggedEvent]
) -> list[tuple[int, int]]:
    """Ask Spark, all conditions at once through an index of them."""
    return pairs_through_index(spark, index_of(plans), events)


def pairs_through_index(spark: SparkSession, index: Index, events: Sequence[LoggedEvent]) -> list[tuple[int, int]]:
    """Ask Spark through an index."""
    matched = matches(events_frame(spark, events), index).collect()
    return [(int(row.subscription_id), row.log_offset) for row in matched]
