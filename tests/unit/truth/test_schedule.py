"""Tests of the second model of due times: by hand."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from truth.alerts import BELL, MAIL, Alert
from truth.expected import Reason
from truth.schedule import Planned, Schedule, preferred_ms

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = {"timezone": "Europe/Berlin", "quietHours": {"start": "20:00", "end": "08:00"}}
DAILY = Alert("Daily", ("table",), (), (), daily_at=4)
PLAIN = Alert("Plain", ("table",), (), ())
CRITICAL = Alert("Critical", ("table",), (), (), is_critical=True)


def ms_at(text: str, zone: ZoneInfo = BERLIN) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


@pytest.mark.parametrize(
    ("preferences", "moment", "expected"),
    [
        ({}, "2026-11-25T19:00", "2026-11-25T19:00"),
        ({}, "2026-11-25T23:00", "2026-11-26T08:00"),
        ({"frequency": "daily", "digestAt": "21:00"}, "2026-11-25T12:00", "2026-11-26T08:00"),
        ({"frequency": "daily", "digestAt": "21:00"}, "2026-11-25T23:00", "2026-11-27T08:00"),
        ({"frequency": "weekly", "digestAt": "21:00"}, "2026-11-25T12:00", "2026-12-01T08:00"),
        ({"frequency": "never"}, "2026-11-25T12:00", "2026-11-25T12:00"),
    ],
)
def test_a_person_is_notified_when_the_clock_says(preferences: dict[str, str], moment: str, expected: str) -> None:
    frequency = preferences.get("frequency", "immediate")
    assert preferred_ms({**NIGHT, **preferences}, ms_at(moment), frequency) == ms_at(expected)


def planned_message(*alerts: str, due: str, message: str = "m", channel: str = MAIL, person: str = "ann") -> Planned:
    reasons = frozenset(Reason("owner", one, 0) for one in alerts)
    created_ms = ms_at("2026-11-25T23:00")
    return Planned("e", created_ms, channel, "ann@x", person, reasons, created_ms, ms_at(due), message, "alert:1")


@pytest.mark.parametrize(
    ("planned_messages", "count"),
    [
        ([planned_message("Plain", due="2026-11-26T08:00")], 0),
        ([planned_message("Plain", due="2026-11-25T23:00")], 1),
        ([planned_message("Plain", "Critical", due="2026-11-25T23:00")], 0),
        ([planned_message("Critical", due="2026-11-26T08:00")], 1),
        ([planned_message("Daily", due="2026-11-26T08:00")], 0),
        ([planned_message("Daily", due="2026-11-26T05:00", person="")], 0),
        ([planned_message("Daily", due="2026-11-26T08:00", person="")], 1),
        ([planned_message("Plain", due="2026-11-26T08:00", message=one) for one in ("m", "n")], 1),
        ([planned_message("Plain", due="2026-11-25T23:00", message=one, person="") for one in ("m", "m")], 0),
        ([planned_message("Critical", due="2026-11-25T23:00", message=one) for one in ("m", "m")], 2),
        ([planned_message("Plain", due="2030-01-01T00:00", channel=BELL)], 0),
    ],
)
def test_times_and_messages_that_differ_are_found(planned_messages: list[Planned], count: int) -> None:
    schedule = Schedule({one.name: one for one in (DAILY, PLAIN, CRITICAL)}, {"ann": NIGHT})
    assert len(list(schedule.differences(planned_messages))) == count
