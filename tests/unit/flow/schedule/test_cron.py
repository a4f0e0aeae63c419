"""Tests of the times of scheduled triggers, against Quartz's meaning of its fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from croniter import croniter
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.soak import SOAK

from tocsin.errors import InvalidInput
from tocsin.flow.schedule.cron import END_MS, check_new_schedule, check_schedule, last_time_ms, next_time_ms
from tocsin.model.subscription import Trigger

SUNDAY = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def trigger(**fields: object) -> Trigger:
    return Trigger.model_validate({"triggerType": "Scheduled", **fields})


def fires(after: datetime, **fields: object) -> datetime:
    return datetime.fromtimestamp(next_time_ms(trigger(**fields), round(after.timestamp() * 1000)) / 1000, UTC)


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


def times(expression: str, after: datetime, count: int, timezone: str = "UTC") -> list[datetime]:
    """Return the next times, on the clocks of the zone."""
    moments, zone = [after], ZoneInfo(timezone)
    for _ in range(count):
        moments.append(fires(moments[-1], cronExpression=expression, timezone=timezone))
    return [one.astimezone(zone) for one in moments[1:]]


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("0 0 9 L * ?", "2026-02-01", "2026-02-28 2026-03-31 2026-04-30"),
        ("0 0 9 L 2 ?", "2026-03-01", "2027-02-28 2028-02-29"),
        ("0 0 9 L-3 * ?", "2026-11-22", "2026-11-27 2026-12-28 2027-01-28 2027-02-25"),
        ("0 0 9 LW * ?", "2026-01-01", "2026-01-30 2026-02-27 2026-03-31 2026-04-30 2026-05-29"),
        ("0 0 9 15W * ?", "2026-07-01", "2026-07-15 2026-08-14 2026-09-15 2026-10-15 2026-11-16"),
        ("0 0 9 1W * ?", "2026-07-02", "2026-08-03 2026-09-01 2026-10-01 2026-11-02"),  # never in another month
        ("0 0 9 31W * ?", "2026-03-01", "2026-03-31 2026-05-29 2026-07-31"),
        ("0 0 9 ? * L", "2026-11-22", "2026-11-28 2026-12-05"),  # alone: Saturday
        ("0 0 9 ? * 6L", "2026-11-22", "2026-11-27 2026-12-25 2027-01-29"),
        ("0 0 9 ? * friL", "2026-11-22", "2026-11-27 2026-12-25"),
        ("0 0 9 ? * 6#3", "2026-11-22", "2026-12-18 2027-01-15"),
        ("0 0 9 ? * 1#5", "2026-11-22", "2026-11-29 2027-01-31 2027-05-30"),
        ("0 0 9 ? * MON#1", "2026-11-22", "2026-12-07 2027-01-04"),
        ("0 0 9 ? * FRI-MON", "2026-11-22", "2026-11-22 2026-11-23 2026-11-27 2026-11-28"),
        ("0 0 9 ? * 2,4,6", "2026-11-22", "2026-11-23 2026-11-25 2026-11-27 2026-11-30"),
        ("0 0 9 30-2 * ?", "2026-11-22", "2026-11-30 2026-12-01 2026-12-02 2026-12-30"),
        ("0 0 9 1 1/4 ?", "2026-11-22", "2027-01-01 2027-05-01 2027-09-01 2028-01-01"),
        ("0 0 9 1 NOV-FEB ?", "2026-11-22", "2026-12-01 2027-01-01 2027-02-01 2027-11-01"),
        ("0 0 9 29 2 ? 2027-2033", "2026-11-22", "2028-02-29 2032-02-29"),
        ("0 0 9 4 7 ? 2026,2028/2", "2026-11-22", "2028-07-04 2030-07-04"),
        ("0 0 9 * * *", "2026-11-22", "2026-11-22 2026-11-23"),
        ("0 9 13 * 5", "2026-11-22", "2026-11-27 2026-12-04 2026-12-11 2026-12-13"),  # Unix: one or the other
        ("0 9 * * 7", "2026-11-22", "2026-11-22 2026-11-29"),
        ("0 9 * * 5-7", "2026-11-22", "2026-11-22 2026-11-27 2026-11-28 2026-11-29"),
        ("0 9 */10 * *", "2026-11-22", "2026-12-01 2026-12-11 2026-12-21 2026-12-31"),
    ],
)
def test_days_are_those_that_quartz_and_unix_name(expression: str, after: str, expected: str) -> None:
    days = expected.split()
    moments = times(expression, datetime.fromisoformat(after).replace(tzinfo=UTC), len(days))
    assert [f"{one:%Y-%m-%d}" for one in moments] == days
    assert {f"{one:%H:%M:%S}" for one in moments} == {"09:00:00"}


SPRING, AUTUMN = datetime(2026, 3, 29, 0, 0, tzinfo=UTC), datetime(2026, 10, 24, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        # 02:00 to 03:00 is skipped: what is due then is due at the change, once
        ("0 30 2 * * ?", SPRING, ["29 03:00 +0200", "30 02:30 +0200"]),
        ("0 0/20 2-3 * * ?", SPRING, ["29 03:00 +0200", "29 03:20 +0200", "29 03:40 +0200", "30 02:00 +0200"]),
        ("0 0 8 * * ?", SPRING, ["29 08:00 +0200", "30 08:00 +0200"]),
        # 02:00 to 03:00 comes twice: the first one counts
        ("0 30 2 * * ?", AUTUMN, ["25 02:30 +0200", "26 02:30 +0100"]),
        ("0 0/30 2-3 * * ?", AUTUMN, ["25 02:00 +0200", "25 02:30 +0200", "25 03:00 +0100", "25 03:30 +0100"]),
        ("0 0 8 * * ?", AUTUMN, ["25 08:00 +0100", "26 08:00 +0100"]),
        # every hour is every hour that passes
        ("0 30 * * * ?", SPRING, ["29 01:30 +0100", "29 03:30 +0200", "29 04:30 +0200"]),
        ("0 30 * * * ?", AUTUMN, ["25 02:30 +0200", "25 02:30 +0100", "25 03:30 +0100"]),
        ("0 * * * *", AUTUMN, ["25 02:00 +0200", "25 02:00 +0100", "25 03:00 +0100"]),
    ],
)
def test_clocks_that_change_skip_no_due_time_and_double_none(
    expression: str, after: datetime, expected: list[str]
) -> None:
    """Fault scenario 36."""
    moments = times(expression, after, len(expected), "Europe/Berlin")
    assert [f"{one:%d %H:%M %z}" for one in moments] == expected


@pytest.mark.parametrize(
    ("timezone", "after", "expected"),
    [
        ("America/Havana", datetime(2026, 3, 7, 12, tzinfo=UTC), "2026-03-08T05:00:00"),  # no midnight: 01:00
        ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, tzinfo=UTC), "2026-10-04T13:00:00"),  # half an hour
        ("Asia/Kathmandu", datetime(2026, 10, 3, 15, tzinfo=UTC), "2026-10-03T18:15:00"),
    ],
)
def test_a_day_begins_at_its_zones_midnight(timezone: str, after: datetime, expected: str) -> None:
    day_start = fires(after, scheduleInfo="Daily", timezone=timezone)
    assert day_start == datetime.fromisoformat(expected).replace(tzinfo=UTC)


ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Africa/Casablanca"]
minutes, hours = st.sets(st.integers(0, 59), min_size=1, max_size=3), st.sets(st.integers(0, 23), min_size=1)


@settings(max_examples=60 if SOAK else 20, deadline=None)
@given(
    minutes=minutes,
    hours=hours,
    zone=st.sampled_from(ZONES),
    day=st.dates(date(2025, 1, 1), date(2027, 12, 1)),
    days=st.integers(1, 240),
)
def test_every_wall_clock_time_is_due_once_whatever_the_clocks_do(
    minutes: set[int], hours: set[int], zone: str, day: date, days: int
) -> None:
    """Fault scenario 6.

    Judged by walking through all minutes that pass.
    """
    clocks, start = ZoneInfo(zone), datetime(day.year, day.month, day.day, tzinfo=UTC)
    change = next((at for at in _quarters(start, days) if _offset(at, clocks) != _offset(at - QUARTER, clocks)), start)
    first = change - timedelta(hours=6)
    expression = f"0 {_list_text(minutes)} {_list_text(hours)} * * ?"
    expected_times, past_walls, previous = [], set[datetime](), (first - MINUTE).astimezone(clocks).replace(tzinfo=None)
    for elapsed_minutes in range(12 * 60):
        at = first + elapsed_minutes * MINUTE
        wall = at.astimezone(clocks).replace(tzinfo=None)
        skipped_walls = [previous + step * MINUTE for step in range(1, (wall - previous) // MINUTE)]
        wall_times = [*([] if len(hours) == 24 else skipped_walls), wall]
        matching_walls = [one for one in wall_times if one.minute in minutes and one.hour in hours]
        if matching_walls and (len(hours) == 24 or any(one not in past_walls for one in matching_walls)):
            expected_times.append(at)
        past_walls.update(wall_times)
        previous = wall
    due_times = times(expression, first - MINUTE, len(expected_times) + 1, zone)
    assert [one.astimezone(UTC) for one in due_times[:-1]] == expected_times
    assert due_times[-1] >= first + timedelta(hours=12)


MINUTE, QUARTER = timedelta(minutes=1), timedelta(minutes=15)


def _quarters(start: datetime, days: int) -> Iterator[datetime]:
    return (start + step * QUARTER for step in range(days * 96))


def _offset(at: datetime, zone: ZoneInfo) -> timedelta | None:
    return at.astimezone(zone).utcoffset()


def _list_text(numbers: Iterable[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


def _field(least: int, greatest: int) -> st.SearchStrategy[str]:
    number = st.integers(least, greatest)
    ordered = st.sets(number, min_size=2, max_size=2).map(sorted)
    return st.one_of(
        st.just("*"),
        st.lists(number, min_size=1, max_size=4, unique=True).map(_list_text),
        ordered.map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.tuples(ordered, st.integers(1, min(9, greatest))).map(
            lambda given: f"{given[0][0]}-{given[0][1]}/{given[1]}"
        ),
        st.integers(1, 20).map(lambda step: f"*/{min(step, greatest)}"),
    )


_days = st.one_of(_field(1, 28), st.sampled_from(["L", "15W", "1W", "28W"]))
_weekdays = st.one_of(
    _field(1, 7).filter(lambda text: not text.startswith("*")),
    st.tuples(st.integers(1, 7), st.integers(1, 5)).map(lambda given: f"{given[0]}#{given[1]}"),
)


@settings(max_examples=200 if SOAK else 60, deadline=None)
@given(
    seconds=_field(0, 59),
    minutes=_field(0, 59),
    hours=_field(0, 23),
    days=st.one_of(st.tuples(_days, st.just("?")), st.tuples(st.just("?"), _weekdays)),
    months=_field(1, 12),
    at=st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)),
)
def test_times_are_those_of_another_implementation(
    seconds: str, minutes: str, hours: str, days: tuple[str, str], months: str, at: datetime
) -> None:
    """Croniter takes weekdays by Unix's numbers; they are translated first."""
    day, weekday = days
    after = at.replace(microsecond=0, tzinfo=UTC)
    theirs = f"{seconds} {minutes} {hours} {day.replace('?', '*')} {months} {_unix_weekdays(weekday)}"
    reference = croniter(theirs, after, second_at_beginning=True, max_years_between_matches=60)
    expected = [reference.get_next(datetime) for _ in range(3)]
    assert times(f"{seconds} {minutes} {hours} {day} {months} {weekday}", after, 3) == expected


def _unix_weekdays(text: str) -> str:
    if text in "*?":
        return "*"
    numbers, sign, ordinal = text.partition("#" if "#" in text else "/")
    return re.sub(r"\d", lambda found: str(int(found[0]) - 1), numbers) + sign + ordinal


@settings(max_examples=50 if SOAK else 15, deadline=None)
@given(
    expression=st.sampled_from(
        ["0 0/7 8-17 * * ?", "0 0 * * * ?", "0 30 2 ? * MON-FRI", "0 0 0 L * ?", "0 0 9 29 2 ?"]
    ),
    zone=st.sampled_from(ZONES),
    until=st.datetimes(datetime(2025, 1, 1), datetime(2030, 1, 1)),
)
def test_the_last_time_is_the_one_before_the_next(expression: str, zone: str, until: datetime) -> None:
    schedule = trigger(cronExpression=expression, timezone=zone)
    until_ms = round(until.replace(tzinfo=UTC).timestamp() * 1000)
    last_ms = last_time_ms(schedule, until_ms)
    assert last_ms is not None
    assert last_ms <= until_ms < next_time_ms(schedule, last_ms)
    assert next_time_ms(schedule, last_ms - 1_000) == last_ms


def test_a_schedule_that_has_ended_is_due_at_the_end_of_time() -> None:
    ended = trigger(cronExpression="0 0 8 1 1 ? 2026")
    assert next_time_ms(ended, round(SUNDAY.timestamp() * 1000)) == END_MS
    assert last_time_ms(ended, END_MS - 1) is None


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("0 0 * * * *", "write '0 0 * * * ?'"),
        ("0 0 * 4 * *", "write '0 0 * 4 * ?'"),
        ("0 0 * * * 4", "write '0 0 * ? * 4'"),
        ("0 0 8 * * MON-FRI 2030", "write '0 0 8 ? * MON-FRI 2030'"),
        ("0 0 8 ? * SAT,SUN,L", "'L' cannot stand beside other days; make an alert for each, in the field day of week"),
        ("0 8 * * SAT,SUN,L", "'L' cannot stand beside other days"),
        ("0 0 8 ? * 6L,2", "'6L' cannot stand beside other days"),
        ("0 0 8 ? * 6#3,2", "'6#3' cannot stand beside other days"),
        ("0 0 8 1,L * ?", "'L' cannot stand beside other days; make an alert for each, in the field day of month"),
        ("0 0 8 1,15W * ?", "'15W' cannot stand beside other days"),
    ],
)
def test_what_quartz_refuses_is_refused_when_it_is_saved_and_goes_on_where_it_is_stored(
    expression: str, says: str
) -> None:
    schedule = trigger(cronExpression=expression)
    with pytest.raises(InvalidInput) as refused:
        check_new_schedule(schedule, {})
    assert says in refused.value.message
    check_new_schedule(schedule, {"cronExpression": expression})
    check_schedule(schedule)
    assert next_time_ms(schedule, 0)


@pytest.mark.parametrize("expression", ["0 0 8 * * ?", "0 0 8 ? * L", "0 0 8 LW * ?", "0 8 1,15 * MON,WED"])
def test_standard_expressions_are_saved(expression: str) -> None:
    check_new_schedule(trigger(cronExpression=expression), {})


@pytest.mark.parametrize("zone", ["localtime", "Factory", "posixrules", "posix/Europe/Berlin"])
def test_the_zone_of_a_machine_is_refused_when_it_is_saved(zone: str) -> None:
    schedule = trigger(scheduleInfo="Daily", timezone=zone)
    with pytest.raises(InvalidInput, match=r"depends on the machine|unknown time zone") as refused:
        check_new_schedule(schedule, {})
    assert refused.value.field == "trigger.timezone"


def test_a_stored_zone_of_a_machine_goes_on() -> None:
    stored = {"scheduleInfo": "Daily", "timezone": "localtime"}
    schedule = trigger(**stored)
    if "localtime" in available_timezones():  # where the machine has such a file
        check_new_schedule(schedule, stored)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"cronExpression": "at noon"}, "it has 2 fields; Quartz's have 6 or 7, Unix's 5"),
        ({"cronExpression": "0 0 8 ? * 9"}, "9 is not between 1 and 7, in the field day of week"),
        ({"cronExpression": "0 0 24 * * ?"}, "24 is not between 0 and 23, in the field hour"),
        ({"cronExpression": "0 0 8 * * ? 1900"}, "1900 is not between 1970 and 2099, in the field year"),
        ({"cronExpression": "0 0 8 * * ? 2030-2026"}, "'2030-2026' ends before it begins"),
        ({"cronExpression": "0 0 8 15 * 2"}, "write \\? for one of them"),
        ({"cronExpression": "0 0 8 ? * ?"}, "only one of day of month and day of week can be \\?"),
        ({"cronExpression": "0 ? 8 * * ?"}, "\\? is only for days, in the field minute"),
        ({"cronExpression": "0 0 8 ?,3 * *"}, "\\? stands alone"),
        ({"cronExpression": "0 0 8 ? * FRI#6"}, "#6 is not between #1 and #5"),
        ({"cronExpression": "0 0 8 L-31 * ?"}, "'L-31' is before every month's first day"),
        ({"cronExpression": "0 0 8 1,,2 * ?"}, "'' is not a number, range or step, in the field day of month"),
        ({"cronExpression": "0 0/0 8 * * ?"}, "the step 0 is not between 1 and 59, in the field minute"),
        ({"cronExpression": "0 0 8 * FOO ?"}, "'FOO' is not a number or name, in the field month"),
        ({"cronExpression": "0 0 8 ? * 1" + ",1" * 300}, "more than 500 characters"),
        ({"cronExpression": "0 0 8 30 2 ?"}, "matches no date"),
        ({"timezone": "Europe/Berln"}, "unknown time zone 'Europe/Berln'.*; did you mean Europe/Berlin"),
        ({"timezone": "../etc/passwd"}, "unknown time zone"),
        ({"timezone": "America"}, "unknown time zone"),
        ({"scheduleInfo": "Custom"}, "a Custom schedule needs one"),
    ],
)
def test_what_is_no_time_is_refused(fields: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        next_time_ms(trigger(**fields), 0)
