"""Tests of timed frequencies as preferences spell them."""

from __future__ import annotations

import pytest

from tocsin.model.change_kinds import Frequency
from tocsin.model.timed_frequency import parse_timed_frequency


@pytest.mark.parametrize("frequency", Frequency)
def test_a_frequency_alone_is_a_timed_one(frequency: Frequency) -> None:
    assert parse_timed_frequency(frequency.value) == (frequency, "", "")


@pytest.mark.parametrize(
    ("text", "moment"),
    [("daily 08:30", "08:30"), ("weekly friday", "friday"), ("weekly 08:30", "08:30"), ("weekly friday 08:30",) * 2],
)
def test_a_digest_may_name_its_day_and_time(text: str, moment: str) -> None:
    assert parse_timed_frequency(text).moment == moment.removeprefix("weekly ")


@pytest.mark.parametrize(
    "text", ["", "Daily", "daily 8:30", "daily 24:00", "daily monday", "hourly 08:30", "weekly 08:30 friday", "daily\n"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be immediate, hourly"):
        parse_timed_frequency(text)
