"""Tests of rhythms as preferences spell them."""

from __future__ import annotations

import pytest

from tocsin.model.change_kinds import Frequency
from tocsin.model.rhythm import parse_rhythm


@pytest.mark.parametrize("frequency", Frequency)
def test_a_frequency_alone_is_a_rhythm(frequency: Frequency) -> None:
    assert parse_rhythm(frequency.value) == (frequency, "", "")


@pytest.mark.parametrize(
    ("text", "moment"),
    [("daily 08:30", "08:30"), ("weekly friday", "friday"), ("weekly 08:30", "08:30"), ("weekly friday 08:30",) * 2],
)
def test_a_digest_may_name_its_day_and_time(text: str, moment: str) -> None:
    assert parse_rhythm(text).moment == moment.removeprefix("weekly ")


@pytest.mark.parametrize(
    "text", ["", "Daily", "daily 8:30", "daily 24:00", "daily monday", "hourly 08:30", "weekly 08:30 friday", "daily\n"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be immediate, hourly"):
        parse_rhythm(text)
