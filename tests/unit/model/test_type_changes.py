"""Tests of the table of types: what is wider, what is narrower, and what has less room."""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tocsin.model.type_changes import FAMILIES, ColumnType, TypeChange, is_widening, type_change

_NAMES = sorted({name for steps in FAMILIES.values() for step in steps for name in step} | {"UNKNOWN", "JSON"})
_SIZES = st.none() | st.integers(0, 40)
_TYPES = st.builds(ColumnType, st.sampled_from(_NAMES), _SIZES, _SIZES, _SIZES)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ColumnType("INT"), ColumnType("BIGINT")),
        (ColumnType("TINYINT"), ColumnType("LARGEINT")),
        (ColumnType("INT"), ColumnType("DOUBLE")),
        (ColumnType("INT"), ColumnType("DECIMAL", precision=12, scale=2)),
        (ColumnType("INT"), ColumnType("DECIMAL")),
        (ColumnType("DECIMAL", precision=10, scale=2), ColumnType("NUMERIC", precision=12, scale=4)),
        (ColumnType("CHAR", 20), ColumnType("VARCHAR", 20)),
        (ColumnType("VARCHAR", 20), ColumnType("TEXT", 1)),
        (ColumnType("VARCHAR"), ColumnType("VARCHAR", 20)),
        (ColumnType("DATE"), ColumnType("TIMESTAMP")),
        (ColumnType("UNKNOWN"), ColumnType("INT")),
        (ColumnType("ARRAY", element="INT"), ColumnType("ARRAY", element="LONG")),
    ],
)
def test_what_holds_every_old_value_is_safe(before: ColumnType, after: ColumnType) -> None:
    assert type_change(before, after) is TypeChange.SAFE


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (ColumnType("BIGINT"), ColumnType("INT"), TypeChange.NARROWED),
        (ColumnType("BIGINT"), ColumnType("DOUBLE"), TypeChange.NARROWED),
        (ColumnType("VARCHAR", 20), ColumnType("INT"), TypeChange.NARROWED),
        (ColumnType("TIMESTAMP"), ColumnType("DATE"), TypeChange.NARROWED),
        (ColumnType("TIMESTAMP"), ColumnType("TIMESTAMPZ"), TypeChange.NARROWED),
        (ColumnType("INT"), ColumnType("UNKNOWN"), TypeChange.NARROWED),
        (ColumnType("LONG"), ColumnType("UNSIGNED_LONG"), TypeChange.NARROWED),
        (ColumnType("ARRAY", element="LONG"), ColumnType("ARRAY", element="INT"), TypeChange.NARROWED),
        (ColumnType("VARCHAR", 20), ColumnType("VARCHAR", 10), TypeChange.CUT),
        (ColumnType("CHAR", 20), ColumnType("VARCHAR", 10), TypeChange.CUT),
        (ColumnType("INT"), ColumnType("DECIMAL", precision=10, scale=2), TypeChange.CUT),
        (ColumnType("DECIMAL", precision=10, scale=2), ColumnType("DECIMAL", precision=10, scale=4), TypeChange.CUT),
        (ColumnType("DECIMAL", precision=10, scale=2), ColumnType("DECIMAL", precision=10, scale=0), TypeChange.CUT),
        (ColumnType("TIME", precision=6), ColumnType("TIME", precision=3), TypeChange.CUT),
    ],
)
def test_what_may_lose_values_says_how(before: ColumnType, after: ColumnType, verdict: TypeChange) -> None:
    assert type_change(before, after) is verdict


def test_each_step_of_a_family_holds_the_one_before_and_not_the_reverse() -> None:
    for steps in FAMILIES.values():
        for narrow, wide in pairwise(steps):
            assert all(is_widening(one, other) for one in narrow for other in wide)
            assert not any(is_widening(other, one) for one in narrow for other in wide)


def test_every_type_in_the_table_is_one_of_a_schema() -> None:
    kinds = ("dataType", "dataTypeTopic", "entity/data/searchIndex#dataType")
    shapes = json.loads(files("tocsin.model").joinpath("shapes.json").read_text())
    schema_types = {name for kind in kinds for name in shapes["shapes"][kind]["enum"]}
    assert {name for steps in FAMILIES.values() for step in steps for name in step} <= schema_types


@given(_TYPES)
def test_no_change_is_safe(data_type: ColumnType) -> None:
    assert type_change(data_type, data_type) is TypeChange.SAFE


@given(_TYPES, _TYPES)
@example(ColumnType("NUMBER", 0), ColumnType("NUMBER", 1))
def test_a_change_that_is_safe_both_ways_is_between_types_of_one_size(before: ColumnType, after: ColumnType) -> None:
    if type_change(before, after) is type_change(after, before) is TypeChange.SAFE and before.name == after.name:
        first_size = (
            2 if before.name in ("DECIMAL", "NUMERIC", "NUMBER") else 1
        )  # the length of a number limits nothing
        sizes = zip(before[first_size:4], after[first_size:4], strict=True)
        assert all(a == b or None in (a, b) for a, b in sizes)


@given(st.sampled_from(_NAMES), st.sampled_from(_NAMES), st.sampled_from(_NAMES))
def test_wider_than_wider_is_wider(narrow: str, wide: str, widest: str) -> None:
    if "UNKNOWN" not in (wide, widest) and is_widening(narrow, wide) and is_widening(wide, widest):
        assert is_widening(narrow, widest)
