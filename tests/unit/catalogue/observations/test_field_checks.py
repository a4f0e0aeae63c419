"""Tests of report validators: errors name the wrong field."""

from __future__ import annotations

import pytest

from tocsin.catalogue.observations.field_checks import (
    check_timestamp,
    checked_document,
    count,
    day,
    flag,
    integer,
    number,
    text,
)
from tocsin.catalogue.observations.reports import REPORTS
from tocsin.errors import InvalidInput

_RUN = {"timestamp": 1, "executionStatus": "Failed"}


@pytest.mark.parametrize(
    ("run", "field"),
    [
        ({}, "executionStatus"),
        ({"executionStatus": "Failed"}, "timestamp"),
        (_RUN | {"timestamp": True}, "timestamp"),
        (_RUN | {"timestamp": -1}, "timestamp"),
        (_RUN | {"executionStatus": "failed"}, "executionStatus"),
        (_RUN | {"executionStatus": ["Failed"]}, "executionStatus"),
        (_RUN | {"spoon": 1}, "spoon"),
        (_RUN | {"taskStatus": {}}, "taskStatus"),
        (_RUN | {"taskStatus": [1]}, "taskStatus[0]"),
        (_RUN | {"taskStatus": [{"name": "a", "executionStatus": "?"}]}, "taskStatus[0].executionStatus"),
        (_RUN | {"taskStatus": [{"name": " ", "executionStatus": "Failed"}]}, "taskStatus[0].name"),
        (_RUN | {"metrics": {"cost": "dear"}}, "metrics.cost"),
    ],
)
def test_a_report_is_refused_at_the_field_that_is_wrong(run: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_document(REPORTS["pipeline"].form, run)
    assert (refused.value.field, field in refused.value.message) == (field, True)


def test_a_refusal_names_what_is_allowed() -> None:
    with pytest.raises(InvalidInput, match="Successful, Failed, Pending, Skipped"):
        checked_document(REPORTS["pipeline"].form, _RUN | {"executionStatus": "Lost"})


def test_nulls_are_as_good_as_nothing() -> None:
    assert checked_document(REPORTS["pipeline"].form, _RUN | {"endTime": None, "taskStatus": None}) == _RUN


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (text, "a", 1),
        (flag, True, 1),
        (number, 1.5, True),
        (integer, -1, 1.5),
        (count, 0, -1),
        (count, 1, 2**60),
        (check_timestamp, 0, 2**60),
        (day, "2026-01-31", "2026-02-31"),
        (day, "2026-01-31", "20260131"),
        (day, "2026-01-31", None),
    ],
)
def test_simple_values(check: object, right: object, wrong: object) -> None:
    assert callable(check)
    check(right, "x")
    with pytest.raises(InvalidInput):
        check(wrong, "x")
