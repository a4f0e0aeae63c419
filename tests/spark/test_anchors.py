"""Tests of anchor hashes: Spark (for events) and Python (for alerts) compute the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from pyspark.sql import SparkSession
from tests.parity.happenings import HAPPENINGS
from tests.parity.logged import events_frame

from tocsin.conditions.fields import canonical, values_of
from tocsin.flow.match.indexing import EVERY, Anchor
from tocsin.model.change import LoggedEvent
from tocsin.spark.anchors import anchor_hashes, number_of

pytestmark = pytest.mark.spark

LOG = list(HAPPENINGS.values())
COMBINATIONS = [
    (),
    ("userName",),
    ("isBot",),
    ("testStatus", "entityType"),
    ("fqnPath",),
    ("testedNames",),
    ("entityType", "fqnPath"),
    ("domains", "entityType", "tags"),
    ("fieldChanged", "owners"),
    ("fieldsAdded",),
    ("changes:category+operation",),
    ("databaseNames",),
    ("entityType", "schemaNames"),
]


ODD_NAMES = (
    *('svc."a.b".c', 'svc.""', "a", "a..b", ".a", "a.", ".", "é.ö.ü", "a b.c", '"a.b"', 'a."b".c."d.e.f"', "x." * 40),
    *('a."say ""b.c""".d', '"a"."a"."a"', 'a"b.c.d', "a.a.a", 'a.".c.d', '"".a.b', 'a.b""c.d'),
)


def numbers(log: list[LoggedEvent], spark: SparkSession) -> list[list[int]]:
    anchor_rows = events_frame(spark, log).select(anchor_hashes(COMBINATIONS).alias("numbers")).collect()
    return [sorted(row.numbers) for row in anchor_rows]


def expected_numbers(logged: LoggedEvent) -> list[int]:
    anchors = set()
    for fields in COMBINATIONS:
        values = ([canonical(name, value) for value in values_of(name, logged)] for name in fields)
        anchors |= {Anchor(fields, chosen) for chosen in product(*values)}
    return sorted(map(number_of, anchors))


def test_an_event_states_the_numbers_of_its_anchors_each_once(spark: SparkSession) -> None:
    assert numbers(LOG, spark) == [expected_numbers(logged) for logged in LOG]
    assert any(len(one) > len(COMBINATIONS) for one in map(expected_numbers, LOG))


def test_a_name_is_cut_alike_however_odd(spark: SparkSession) -> None:
    """One job for all names: each would be planned anew."""
    odd_log = [
        replace(LOG[0], event=LOG[0].event.model_copy(update={"entity_fully_qualified_name": name}))
        for name in ODD_NAMES
    ]
    numbers_by_name = dict(zip(ODD_NAMES, numbers(odd_log, spark), strict=True))
    assert numbers_by_name == {name: expected_numbers(odd) for name, odd in zip(ODD_NAMES, odd_log, strict=True)}


def test_what_an_event_says_twice_is_stated_once(spark: SparkSession) -> None:
    twice = replace(LOG[0], derived={**LOG[0].derived, "fieldsAdded": ["columns", "columns"]})
    assert numbers([twice], spark) == [expected_numbers(twice)]


def test_equal_values_of_other_fields_are_other_anchors() -> None:
    anchors = [EVERY, Anchor(("owners",), ("ann",)), Anchor(("mentions",), ("ann",)), Anchor(("owners",), ("bob",))]
    both = [Anchor(("owners", "tags"), ("ab", "c")), Anchor(("owners", "tags"), ("a", "bc"))]
    assert len({number_of(one) for one in [*anchors, *both]}) == 6
