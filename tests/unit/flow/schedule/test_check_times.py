"""Tests of the times at which alerts may ask for the state of assets."""

from __future__ import annotations

import pytest

from tocsin.errors import InvalidInput
from tocsin.flow.schedule.check_times import check_spacing, last_check_ms
from tocsin.model.subscription import Trigger

HOUR_MS = 3_600_000


def trigger_at(expression: str, zone: str = "UTC") -> Trigger:
    return Trigger.model_validate({"triggerType": "Scheduled", "cronExpression": expression, "timezone": zone})


@pytest.mark.parametrize(
    "expression", ["* * * * *", "0 0,30 8 * * ?", "0 59 7,8,9 ? * MON", "0 0 8 * * ?", "0 5 * * * ?"]
)
def test_times_are_an_hour_apart(expression: str) -> None:
    is_dense = expression in ("* * * * *", "0 0,30 8 * * ?")
    if is_dense:
        with pytest.raises(InvalidInput, match="more often than once an hour"):
            check_spacing(trigger_at(expression))
    else:
        check_spacing(trigger_at(expression))


def test_a_schedule_with_one_time_left_and_one_in_a_zone_of_half_hours_are_taken() -> None:
    check_spacing(trigger_at("0 0 8 1 1 ?", "Asia/Kolkata"))
    check_spacing(trigger_at("0 30 * * * ?", "Asia/Kolkata"))


def test_of_the_times_in_an_hour_the_first_one_counts() -> None:
    start_ms = 500_000 * HOUR_MS
    assert last_check_ms(trigger_at("*/10 * * * *"), start_ms + 35 * 60_000) == start_ms
    assert last_check_ms(trigger_at("5 * * * *"), start_ms + 4 * 60_000) == start_ms - 55 * 60_000
    assert last_check_ms(trigger_at("5 * * * *"), start_ms + 5 * 60_000) == start_ms + 5 * 60_000
