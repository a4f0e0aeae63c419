"""Does the index find each match once, however a subscription is made?"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from tests.parity.happenings import HAPPENINGS
from tests.parity.logged import events_frame

from tocsin.conditions.check import checked
from tocsin.conditions.fields import CLOSURES, FIELDS
from tocsin.conditions.nodes import Has, Or
from tocsin.flow.match import local
from tocsin.flow.match.plan import Plan
from tocsin.spark.conditions import COLUMNS, expression
from tocsin.spark.match import index_of, matches
from tocsin.spark.schema import EVENTS

pytestmark = pytest.mark.spark

LOG = list(HAPPENINGS.values())


def plan(name: str, condition: str | None = None, *, resources: tuple[str, ...] = ("all",), since_ms: int = 0) -> Plan:
    node = None if condition is None else checked(condition)
    return Plan(name, resources, node, since_ms)


def found(spark: SparkSession, *plans: Plan) -> list[tuple[str, int]]:
    rows = matches(events_frame(spark, LOG), index_of(plans)).collect()
    return sorted((row.subscription_id, row.log_offset) for row in rows)


def expected(*plans: Plan) -> list[tuple[str, int]]:
    return sorted((p.subscription_id, one.offset) for p in plans for one in LOG if local.matches(p, one))


def test_spark_finds_what_python_finds_whatever_the_plan(spark: SparkSession) -> None:
    middle = LOG[4].event.timestamp
    plans = [
        plan("every"),
        plan("tables", resources=("table",)),
        plan("two types", resources=("table", "testCase")),
        plan("nothing", resources=()),
        plan("never", "false"),
        plan("since", since_ms=middle),
        plan("after all", since_ms=LOG[-1].event.timestamp + 1),
        plan("negative", "!isBot() && userName != 'ann'"),
        plan("negative on tables", "!tags.contains('PII.Sensitive')", resources=("table",)),
        plan("several anchors", "tags.containsAny({'PII.Sensitive','Tier.Tier1'})"),
        plan("several ways", "tags == 'PII.Sensitive' && !isBot() || owners == 'ann' && userName == 'ann'"),
        plan("test and fact", "entity.name matches '.*s' || tags == 'PII.Sensitive'", resources=("table", "policy")),
        Plan("disabled", ("all",), None, 0, enabled=False),
    ]
    assert found(spark, *plans) == expected(*plans)


def test_a_condition_too_large_for_the_index_is_evaluated_as_it_stands(spark: SparkSession) -> None:
    many = Has("entityId", tuple(sorted(f"entity-{n}" for n in range(300))))
    node = Or((many, checked("isBot()")))
    plans = [Plan("large", ("table", "pipeline"), node, 0), Plan("large everywhere", ("all",), node, 0)]
    assert found(spark, *plans) == expected(*plans)


def test_an_empty_index_finds_nothing(spark: SparkSession) -> None:
    assert found(spark) == []


def test_event_columns_come_along_when_asked_for(spark: SparkSession) -> None:
    frame = matches(events_frame(spark, LOG), index_of([plan("a", "isBot()")]), columns=("event_id", "timestamp_ms"))
    assert frame.columns == ["log_offset", "event_id", "timestamp_ms", "subscription_id"]
    assert [row.event_id for row in frame.collect()] == ["event-2"]


def test_a_text_with_quotes_and_backslashes_is_taken_as_it_is(spark: SparkSession) -> None:
    plans = [plan("a", r"""userName != 'it''s \ a "b" ${x} %'"""), plan("b", r"entity.name != 'it''s \n'")]
    assert found(spark, *plans) == expected(*plans)


def test_the_index_depends_on_what_is_asked_not_on_how_often() -> None:
    few = index_of([plan(str(n), f"tags == 'T{n}' && !isBot()") for n in range(3)])
    many = index_of([plan(str(n), f"tags == 'T{n}' && !isBot()") for n in range(300)])
    assert few.facts == many.facts
    assert many.rows.num_rows == 300


def test_a_test_that_many_ask_for_is_evaluated_once() -> None:
    index = index_of([plan(str(n), f"entity.name == 'a' && tags == 'T{n}'") for n in range(9)])
    assert index.facts.count(expression(checked("entity.name == 'a'"))) == 1


def test_a_condition_hangs_from_its_rarest_fact() -> None:
    index = index_of([plan("a", "eventType == 'entityUpdated' && owners == 'ann'", resources=("table",))])
    assert index.rows.column("anchor").to_pylist() == ["owners=ann"]


def test_every_field_has_its_column() -> None:
    assert set(COLUMNS) == set(FIELDS)
    assert set(COLUMNS.values()) <= set(EVENTS.fieldNames())
    assert set(CLOSURES.values()) <= set(COLUMNS)
