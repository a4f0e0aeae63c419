"""Tests of the times of scheduled triggers, against Quartz's meaning of its fields."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.errors import InvalidInput
from tocsin.flow.schedule.cron import next_time_ms
from tocsin.model.subscription import Trigger

SUNDAY = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
QUARTZ_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def trigger(**given: object) -> Trigger:
    return Trigger.model_validate({"triggerType": "Scheduled", **given})


def fires(after: datetime, **given: object) -> datetime:
    return datetime.fromtimestamp(next_time_ms(trigger(**given), round(after.timestamp() * 1000)) / 1000, UTC)


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ("Daily", datetime(2026, 11, 23, 0, 0, tzinfo=UTC)),
        ("Weekly", datetime(2026, 11, 23, 0, 0, tzinfo=UTC)),
        ("Monthly", datetime(2026, 12, 1, 0, 0, tzinfo=UTC)),
        (None, datetime(2026, 11, 23, 0, 0, tzinfo=UTC)),
    ],
)
def test_a_schedule_by_name(info: str | None, expected: datetime) -> None:
    assert fires(SUNDAY, **({"scheduleInfo": info} if info else {})) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 8 * * ?", datetime(2026, 11, 23, 8, 0, tzinfo=UTC)),
        ("30 15 8 * * ? *", datetime(2026, 11, 23, 8, 15, 30, tzinfo=UTC)),
        ("0 0 9 ? * 2", datetime(2026, 11, 23, 9, 0, tzinfo=UTC)),  # Monday
        ("0 0 9 ? * 1", datetime(2026, 11, 29, 9, 0, tzinfo=UTC)),  # Sunday: today's 9 is over
        ("0 0 9 ? * 7", datetime(2026, 11, 28, 9, 0, tzinfo=UTC)),  # Saturday
        ("0 0 9 ? * L", datetime(2026, 11, 28, 9, 0, tzinfo=UTC)),
        ("0 0 9 ? * 2-6", datetime(2026, 11, 23, 9, 0, tzinfo=UTC)),  # Monday to Friday
        ("0 0 9 ? * MON-FRI", datetime(2026, 11, 23, 9, 0, tzinfo=UTC)),
        ("0 0 9 ? * 6#1", datetime(2026, 12, 4, 9, 0, tzinfo=UTC)),  # the first Friday
        ("0 0 9 ? * 6L", datetime(2026, 11, 27, 9, 0, tzinfo=UTC)),  # the last Friday
        ("0 0 9 L * ?", datetime(2026, 11, 30, 9, 0, tzinfo=UTC)),
        ("0 0/20 * * * ?", datetime(2026, 11, 22, 12, 20, tzinfo=UTC)),
        ("0 9 * * 1", datetime(2026, 11, 23, 9, 0, tzinfo=UTC)),  # Unix: Monday is 1
        ("0 9 * * 0", datetime(2026, 11, 29, 9, 0, tzinfo=UTC)),
    ],
)
def test_an_expression_means_what_its_own_world_says(expression: str, expected: datetime) -> None:
    assert fires(SUNDAY, scheduleInfo="Custom", cronExpression=expression) == expected
    assert fires(SUNDAY, scheduleInfo="Daily", cronExpression=expression) == expected


@given(first=st.integers(1, 7), length=st.integers(0, 6), at=st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1)))
def test_ranges_of_weekdays_by_number_are_those_by_name(first: int, length: int, at: datetime) -> None:
    last = min(first + length, 7)
    after = at.replace(microsecond=0, tzinfo=UTC)
    names = {QUARTZ_DAYS[number - 1] for number in range(first, last + 1)}
    found = fires(after, cronExpression=f"0 0 9 ? * {first}-{last}")
    days = (after + timedelta(days=ahead) for ahead in range(9))
    nines = (day.replace(hour=9, minute=0, second=0) for day in days)
    assert found == next(one for one in nines if one > after and one.strftime("%a").upper() in names)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"cronExpression": "at noon"}, "is not a cron expression"),
        ({"cronExpression": "0 0 8 ? * 9"}, "is not a cron expression"),
        ({"cronExpression": "0 0 8 * * ? 2027"}, "has a year"),
        ({"cronExpression": "0 0 8 15W * ?"}, "is not a cron expression"),
        ({"scheduleInfo": "Custom"}, "a Custom schedule needs one"),
    ],
)
def test_what_is_no_time_is_refused(given: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        next_time_ms(trigger(**given), 0)
