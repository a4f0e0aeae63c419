"""Tests of the match index: each match is found once, for every kind of subscription."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import cycle, islice

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.parity.happenings import HAPPENINGS
from tests.parity.logged import events_frame

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.nodes import Has
from tocsin.conditions.normal_form import normal_form
from tocsin.flow.match import local
from tocsin.flow.match.extracted_paths import MANY_MORE, MOST
from tocsin.flow.match.indexing import Anchor
from tocsin.flow.match.plan import Plan
from tocsin.logic import Or
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.thread import THREAD_KEYS
from tocsin.spark.anchors import number_of
from tocsin.spark.match import Index, index_of, matches
from tocsin.spark.schema import EVENTS

pytestmark = pytest.mark.spark

_VARIABLE = re.compile(r"\b[xyz]_\d+\b")
LOG = list(HAPPENINGS.values())


def plan(
    name: str, condition: str | None = None, *, resources: tuple[str, ...] = ("all",), at: tuple[int, int] = (0, 0)
) -> Plan:
    node = None if condition is None else parse_and_check(condition)
    """Return a plan that was made ``at`` an offset and a moment."""
    offset, created_at_ms = at
    return Plan(name, resources, node, created_at_ms, since_offset=offset)


def found_matches(spark: SparkSession, *plans: Plan) -> list[tuple[str, int]]:
    match_rows = matches(events_frame(spark, LOG), index_of(plans)).collect()
    return sorted((row.subscription_id, row.log_offset) for row in match_rows)


def expected_matches(*plans: Plan) -> list[tuple[str, int]]:
    return sorted((p.subscription_id, one.offset) for p in plans for one in LOG if local.matches(p, one))


def test_replayed_events_have_the_time_of_the_history_on_spark_and_in_python(compiling_spark: SparkSession) -> None:
    log = [replace(one, derived=one.derived | {"recorded": True}) if one.offset % 2 else one for one in LOG]
    moment = sorted(one.event.timestamp for one in LOG)[len(LOG) // 2]
    subscription_plan = plan("since", at=(LOG[2].offset, moment))
    match_rows = matches(events_frame(compiling_spark, log), index_of([subscription_plan])).collect()
    offsets = {one.offset for one in log if local.matches(subscription_plan, one)}
    assert {row.log_offset for row in match_rows} == offsets
    placed = {one.offset for one in log if one.offset >= LOG[2].offset}
    has_a_time = {one.offset for one in log if one.is_recorded or one.reported_at_ms is not None}
    assert offsets == placed - {one.offset for one in log if one.offset in has_a_time and one.event.timestamp < moment}
    assert offsets != placed


def test_late_reports_match_nothing_on_spark_and_in_python(compiling_spark: SparkSession) -> None:
    times = {one.offset: one.reported_at_ms for one in LOG if one.reported_at_ms is not None}
    reports = [one for one in LOG if one.offset in times]
    older = [replace(one, derived=one.derived | {"reportedAt": times[one.offset] - 1}) for one in reports]
    late = [replace(one, offset=one.offset + 1_000, derived=one.derived | {"late": True}) for one in reports]
    log = [*(one for one in LOG if one not in reports), *older, *late]
    for moment in set(times.values()):
        subscription_plan = plan("since", at=(0, moment))
        match_rows = matches(events_frame(compiling_spark, log), index_of([subscription_plan])).collect()
        offsets = {one.offset for one in log if local.matches(subscription_plan, one)}
        assert {row.log_offset for row in match_rows} == offsets
        assert offsets.isdisjoint(
            {one.offset for one in (*late, *(one for one in older if times[one.offset] <= moment))}
        )
        assert {one.offset for one in LOG if one not in reports} <= offsets


def test_spark_finds_what_python_finds_whatever_the_plan(compiling_spark: SparkSession) -> None:
    offset, moment = LOG[4].offset, LOG[4].event.timestamp
    plans = [
        plan("every"),
        plan("tables", resources=("table",)),
        plan("two types", resources=("table", "testCase")),
        plan("nothing", resources=()),
        plan("never", "false"),
        plan("since", at=(offset, moment + 1)),
        plan("since a later moment", at=(offset, LOG[-1].event.timestamp + 1)),
        plan("after all", at=(LOG[-1].offset + 1, 0)),
        plan("negative", "!isBot() && userName != 'ann'"),
        plan("negative on tables", "!tags.contains('PII.Sensitive')", resources=("table",)),
        plan("several anchors", "tags.containsAny({'PII.Sensitive','Tier.Tier1'})"),
        plan("several ways", "tags == 'PII.Sensitive' && !isBot() || owners == 'ann' && userName == 'ann'"),
        plan("test and fact", "entity.name matches '.*s' || tags == 'PII.Sensitive'", resources=("table", "policy")),
        Plan("disabled", ("all",), None, 0, enabled=False),
    ]
    assert found_matches(compiling_spark, *plans) == expected_matches(*plans)


def test_a_condition_too_large_for_the_index_is_evaluated_as_it_stands(compiling_spark: SparkSession) -> None:
    many = Has("entityId", tuple(sorted(f"entity-{n}" for n in range(300))))
    node = Or((many, parse_and_check("isBot()")))
    plans = [Plan("large", ("table", "pipeline"), node, 0), Plan("large everywhere", ("all",), node, 0)]
    assert found_matches(compiling_spark, *plans) == expected_matches(*plans)


def test_an_empty_index_finds_nothing(compiling_spark: SparkSession) -> None:
    assert found_matches(compiling_spark) == []


def test_event_columns_come_along_when_asked_for(compiling_spark: SparkSession) -> None:
    frame = matches(
        events_frame(compiling_spark, LOG), index_of([plan("a", "isBot()")]), columns=("event_id", "timestamp_ms")
    )
    assert frame.columns == ["log_offset", "event_id", "timestamp_ms", "subscription_id", "asked"]
    assert [row.event_id for row in frame.collect()] == ["event-2"]


def test_a_text_with_quotes_and_backslashes_is_taken_as_it_is(compiling_spark: SparkSession) -> None:
    plans = [plan("a", r"""userName != 'it''s \ a "b" ${x} %'"""), plan("b", r"entity.name != 'it''s \n'")]
    assert found_matches(compiling_spark, *plans) == expected_matches(*plans)


def questions(index: Index) -> tuple[str, ...]:
    """All that Spark has to compile: what an index asks of events, with the variables of functions renamed."""
    return tuple(_VARIABLE.sub("variable", str(column)) for column in (index.keys, index.candidate, index.holds))


def test_the_questions_depend_on_their_shapes_not_on_how_many_ask_them(spark: SparkSession) -> None:
    few, many = (
        index_of(
            [
                plan(str(n), f"tags == 'T{n}' && tier == 'T' && entity.columns.dataLength > {n} && !isBot()")
                for n in range(count)
            ]
        )
        for count in (3, 300)
    )
    assert questions(few) == questions(many)
    assert many.table.num_rows == 300


def test_the_questions_do_not_grow_with_the_paths_that_are_asked_about(spark: SparkSession) -> None:
    few, many = (
        index_of(
            [
                plan(
                    str(n),
                    f"entity.extension.x{n} > 5 && newValue('y{n}').size() == 2 && entity.extension.a.z{n} == true"
                    f" && entity.columns[{n}].name == 'id' && tags == 'T'",
                )
                for n in range(count)
            ]
        )
        for count in (3, 300)
    )
    assert questions(few) == questions(many)


def test_a_condition_that_is_too_large_for_a_normal_form_adds_no_question(compiling_spark: SparkSession) -> None:
    def pairs(first: int) -> str:
        numbers = range(first, first + 8)
        return " && ".join(
            f"(entity.name == 'n{n}' && userName == 'u{n}' || tags == 't{n}' && isBot())" for n in numbers
        )

    small = [plan("small", "(entity.name == 'x' || userName == 'y' && tags == 't') && !isBot()")]
    large = [plan(f"large {n}", f"{pairs(20 * n)} || entity.name != 'o{n}'") for n in range(30)]
    assert all(normal_form(one.node) is None for one in large if one.node is not None)
    assert len({questions(index_of([*small, *large[:count]]))[2] for count in (1, 2, 5)}) == 1
    assert found_matches(compiling_spark, *small, *large) == expected_matches(*small, *large)


def test_tests_of_one_shape_are_distinguished_by_their_constants(compiling_spark: SparkSession) -> None:
    plans = [plan(f"longer than {n}", f"entity.columns.dataLength > {n}") for n in (0, 10, 79, 80, 200)]
    plans += [plan(f"named {name}", f"entity.name == '{name}'") for name in ("orders", "customers", "it''s", "")]
    plans += [plan(f"like {text}", f"userName matches '{text}'") for text in ("a.*", ".*n", "b[eo]b", "ann")]
    plans += [plan(f"below {n}", f"currentVersion < {n}") for n in (0.1, 0.3, 99)]
    assert found_matches(compiling_spark, *plans) == expected_matches(*plans)


def test_many_alerts_on_what_every_event_states_are_distinguished_by_more(compiling_spark: SparkSession) -> None:
    everywhere = [plan(f"people {n}", f"!isBot() && userName == 'u{n}'") for n in range(300)]
    tables = [
        plan(f"tables {n}", f"tags == 'T{n}' && eventType == 'entityUpdated'", resources=("table",)) for n in range(300)
    ]
    index = index_of([*everywhere, *tables])
    assert {"isBot", "entityType", "eventType"}.isdisjoint(index.table["fields"].to_pylist())
    keyed = (
        events_frame(compiling_spark, LOG)
        .select("*", index.keys.alias("keys"))
        .select("*", F.explode("keys").alias("key"))
    )
    assert keyed.join(index.frame(compiling_spark), F.expr("key = anchor")).count() == 0


def test_a_condition_hangs_from_its_rarest_fact() -> None:
    index = index_of([plan("a", "eventType == 'entityUpdated' && owners == 'ann'", resources=("table",))])
    assert index.table.column("fields").to_pylist() == ["owners"]
    assert index.table.column("anchor").to_pylist() == [number_of(Anchor(("owners",), ("ann",)))]


def test_what_facts_say_is_asked_in_numbers_and_nothing_is_left(compiling_spark: SparkSession) -> None:
    plans = [
        plan("needed", "userName == 'ann' && tags == 'PII.Sensitive' && eventType == 'entityUpdated'"),
        plan("barred", "userName == 'ann' && !(tags == 'PII.Sensitive' || owners == 'bob') && !isBot()"),
        plan("one way bars", "userName == 'ann' && tags == 'PII.Sensitive' || owners == 'ann' && !isBot()"),
        plan("of some", "userName == 'ann' && (tags == 'PII.Sensitive' || entity.name == 'orders')"),
    ]
    index_rows = index_of(plans).table.to_pylist()
    facts = {
        row["subscription_id"]: (len(row["needed"]), len(row["barred"]), len(row["program"])) for row in index_rows
    }
    assert facts["needed"] == (2, 0, 0)
    assert facts["barred"] == (0, 3, 0)
    assert facts["of some"] == (0, 0, 2)
    assert found_matches(compiling_spark, *plans) == expected_matches(*plans)


def test_texts_that_many_search_are_found_by_their_words(compiling_spark: SparkSession) -> None:
    texts = (
        "row per",
        "One row",
        "see shop.wiki",
        " per order;",
        "wiki",
        "row  per",
        "é",
        "One row per order; see shop.wiki",
    )
    plans = [plan(f"holds {text}", f"entity.description.contains('{text}')") for text in texts]
    plans += [plan(f"ends {text}", f"entity.description.endsWith('{text}')") for text in texts]
    plans += [plan(f"unlike {text}", f"!entity.description.startsWith('{text}') && isBot()") for text in texts]
    plans += [plan("like", "entity.description matches 'One .* per order; .*'")]
    index = index_of(plans)
    assert sum(fields.endswith("_words") for fields in index.table["fields"].to_pylist()) > len(texts)
    assert found_matches(compiling_spark, *plans) == expected_matches(*plans)


def test_an_alert_that_changes_takes_its_own_rows_along_and_no_others(compiling_spark: SparkSession) -> None:
    before = [
        plan("a", "tags == 'PII.Sensitive'"),
        plan("b", "userName == 'ann'"),
        plan("c", "entity.name == 'orders'"),
    ]
    after = [before[0], plan("b", "!isBot()"), plan("d", "owners == 'ann'")]
    index = index_of(before).with_plans({"c"}, after[1:])
    match_rows = matches(events_frame(compiling_spark, LOG), index).collect()
    assert sorted((row.subscription_id, row.log_offset) for row in match_rows) == expected_matches(*after)
    assert index.unindexed_ids() == ["b"]
    assert index.with_plans({"a", "b", "d"}, []).table.num_rows == 0


def test_a_document_is_read_once_however_many_paths_into_it_are_asked_about(spark: SparkSession) -> None:
    few, many = (
        index_of(
            [
                plan(f"{n} {copy}", f"entity.columns[{n}].name == 'a' && entity.extension.x{n} > {n}")
                for n in range(count)
                for copy in range(MANY_MORE)
            ]
        )
        for count in (1, 8)
    )
    assert [len(index.extracted_paths.names) for index in (few, many)] == [2, 16]
    assert [_parse_count(spark, index) for index in (few, many)] == [1, 1]


def test_what_is_extracted_is_what_python_finds_whatever_the_document_is_like(compiling_spark: SparkSession) -> None:
    values = ["a", 7, -0.0, True, None, {"b": "a"}, ["a", 7], [["a"]], [], {"B": "a", "b": ["a", {"b": "a"}]}, "7"]
    log = [
        replace(
            logged_event,
            event=logged_event.event.model_copy(
                update={"entity": {"columns": value, "extension": {"X": [value, {"b": value}, "b"], "x": value}}}
            ),
        )
        for logged_event, value in zip(islice(cycle(LOG), len(values)), values, strict=True)
    ]
    log = [replace(logged_event, offset=offset) for offset, logged_event in enumerate(log)]
    entity, extension = "entity.columns", "entity.extension"
    entity_paths = (entity, f"{entity}.b", f"{entity}.B", f"{entity}[0]", f"{entity}.b.b")
    paths = (*entity_paths, f"{extension}.X", f"{extension}.X.b", f"{extension}.X[1].b")
    plans = [plan(f"{path} {test}", f"{path} {test}") for path in paths for test in ("== 'a'", ">= 0", "< 'b'")]
    index = index_of(plans)
    assert len(index.extracted_paths.names) == MOST
    match_rows = matches(events_frame(compiling_spark, log), index).collect()
    expected_pairs = {(p.subscription_id, one.offset) for p in plans for one in log if local.matches(p, one)}
    assert {(row.subscription_id, row.log_offset) for row in match_rows} == expected_pairs
    assert len(expected_pairs) > len(plans)


def _parse_count(spark: SparkSession, index: Index) -> int:
    """Return how many times the plan of ``matches`` reads JSON."""
    events = spark.createDataFrame(spark.sparkContext.emptyRDD(), EVENTS)
    plan_text = matches(events, index)._jdf.queryExecution().executedPlan().toString()
    return len(re.findall(r"from_json|parseJson", plan_text))


def test_keys_that_paths_begin_at_differ_in_more_than_case() -> None:
    keys = THREAD_KEYS.union(*(row.keys for row in ENTITY_TYPES.values()))
    assert len({key.lower() for key in keys}) == len(keys), "Spark does not tell fields of a struct by case"
