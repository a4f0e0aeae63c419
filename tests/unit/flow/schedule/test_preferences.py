"""Tests of quiet hours and preferred frequencies: due times of notifications for people who prefer something."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.flow.schedule.cron import next_time_ms
from tocsin.flow.schedule.decide import Timing
from tocsin.flow.schedule.messages import scheduled
from tocsin.flow.schedule.preferences import Preferred, waiting
from tocsin.flow.send.channels.table import GATHERINGS
from tocsin.model.preferences import Frequency, Preferences, QuietHours
from tocsin.model.subscription import Trigger

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = Preferences(timezone="Europe/Berlin", quiet_hours=QuietHours(start="20:00", end="08:00"))
TIMES = st.times().map(lambda time: f"{time:%H:%M}")


def at(text: str) -> int:
    """Return a local time in Berlin as epoch milliseconds."""
    return round(datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp() * 1000)


def row(channel: str = "Email", recipient: str | None = "ana") -> dict[str, object]:
    same = {"event_id": "e", "entity_id": "orders", "timestamp_ms": 0, "key": "ana@example.com"}
    return {**same, "channel": channel, "recipient_id": recipient, "subscription_ids": ["alert"]}


def due(
    one: dict[str, object], preferences: Preferences, now_ms: int, *, is_critical: bool = False
) -> tuple[int, bool]:
    """Return when a notification is due, and whether it waits with others."""
    timings = {"alert": Timing(Trigger(), is_critical=is_critical)}
    preferred = Preferred({"ana": preferences}, {"ana": 7}, {"e": ("description",)})
    (found,) = scheduled([one], timings, now_ms=now_ms, gatherings=GATHERINGS, preferred=preferred)
    return found["due_at_ms"], found["grouping_key"] == "preferences:7"


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-11-25T19:59", "2026-11-25T19:59"),
        ("2026-11-25T20:00", "2026-11-26T08:00"),
        ("2026-11-26T03:00", "2026-11-26T08:00"),
        ("2026-11-26T08:00", "2026-11-26T08:00"),
        ("2026-03-28T22:00", "2026-03-29T08:00"),  # summer time begins in this night
        ("2026-10-24T22:00", "2026-10-25T08:00"),  # and ends in this one
    ],
)
def test_quiet_hours_end_at_their_time_past_midnight_and_across_daylight_saving(now: str, expected: str) -> None:
    """Fault scenario 37."""
    assert due(row(), NIGHT, at(now)) == (at(expected), now != expected)


def test_neither_the_inbox_nor_critical_alerts_nor_addresses_wait() -> None:
    """Fault scenario 37."""
    night = at("2026-11-25T23:00")
    for one, is_critical in ((row("ActivityFeed"), False), (row("Webhook", None), False), (row(), True)):
        assert due(one, NIGHT, night, is_critical=is_critical)[0] == night
    assert due(row("Email", None), NIGHT, night)[0] == night


@pytest.mark.parametrize(
    ("preferences", "expected"),
    [
        ({"categories": {"description": "daily"}}, "2026-11-26T09:00"),
        ({"categories": {"description": "weekly"}, "digest_at": "07:30"}, "2026-11-30T07:30"),
        ({"frequency": "daily", "digest_at": "18:00"}, "2026-11-25T18:00"),
        ({"frequency": "daily", "categories": {"description": "immediate"}}, "2026-11-25T12:00"),
        ({"frequency": "daily", "categories": {"schema": "immediate"}}, "2026-11-26T09:00"),
        ({"frequency": "daily", "categories": {"description": "never"}}, "2026-11-25T12:00"),
        ({"frequency": "daily", "digest_at": "21:00", "quiet_hours": NIGHT.quiet_hours}, "2026-11-26T08:00"),
    ],
)
def test_changes_wait_for_the_digest_of_their_category(preferences: dict[str, object], expected: str) -> None:
    asked = Preferences(timezone="Europe/Berlin", **preferences)
    assert due(row(), asked, at("2026-11-25T12:00"))[0] == at(expected)


def test_of_several_categories_the_soonest_counts() -> None:
    asked = Preferences(frequency=Frequency.WEEKLY, categories={"schema": Frequency.IMMEDIATE, "tag": Frequency.DAILY})
    assert asked.frequency_of(("tag", "schema")) is Frequency.IMMEDIATE
    assert asked.frequency_of(("tag", "owner")) is Frequency.DAILY
    assert asked.frequency_of(()) is Frequency.WEEKLY
    never = Preferences(frequency=Frequency.NEVER, categories={"tag": Frequency.WEEKLY})
    assert never.frequency_of(("tag", "owner")) is Frequency.WEEKLY
    assert never.frequency_of(("owner",)) is Frequency.NEVER


@given(TIMES, TIMES, st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1)))
def test_what_waits_comes_out_of_the_quiet_hours_within_a_day(start: str, end: str, moment: datetime) -> None:
    quiet = QuietHours(start=start, end=end)
    preferences = Preferences(timezone="Europe/Berlin", quiet_hours=quiet)
    now_ms = round(moment.replace(tzinfo=UTC).timestamp() * 1000)
    trigger = waiting(preferences, (), now_ms)
    local = datetime.fromtimestamp(now_ms / 1000, BERLIN)
    assert (trigger is not None) == quiet.include(f"{local:%H:%M}")
    if trigger is not None:
        found_ms = next_time_ms(trigger, now_ms)
        found = datetime.fromtimestamp(found_ms / 1000, BERLIN)
        assert 0 < found_ms - now_ms <= timedelta(hours=25).total_seconds() * 1000
        assert start == end or not quiet.include(f"{found:%H:%M}")
