"""Tests of quiet hours and preferred frequencies: due times of notifications for people who prefer something."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import islice, product
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drafts import EVENT, draft
from tests.soak import SOAK

from tocsin.clock import LATEST_MS
from tocsin.conditions.event_kinds import remaining_kind
from tocsin.flow.schedule.decide import Timing
from tocsin.flow.schedule.messages import next_slot, scheduled_notifications
from tocsin.flow.schedule.preferences import Preferred, wait_of
from tocsin.model.change_kinds import BOT, BREAKING, EventKind, Frequency
from tocsin.model.notification_draft import NotificationDraft
from tocsin.model.preferences import (
    RECOMMENDED,
    Absence,
    FrequencyChoice,
    Layer,
    Preferences,
    QuietHours,
    Weekday,
    choose,
)
from tocsin.model.subscription import Channel, Trigger

pytestmark = pytest.mark.xdist_group("preferences")  # one worker has the clocks of all zones

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = Preferences(timezone="Europe/Berlin", quiet_hours=QuietHours(start="20:00", end="08:00"))
TIMES = st.times().map(lambda time: f"{time:%H:%M}")


def ms_at(text: str) -> int:
    """Return a local time in Berlin as epoch milliseconds."""
    return round(datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp() * 1000)


def draft_for(recipient_id: str | None = "ana", channel: str = "Email") -> NotificationDraft:
    event = EVENT._replace(timestamp_ms=0)
    return draft(channel, "alert", event=event, key="ana@example.com", recipient_id=recipient_id)


def due(
    unscheduled: NotificationDraft, preferences: Preferences, now_ms: int, *, is_critical: bool = False
) -> tuple[int, bool]:
    """Return when a notification is due, and whether it waits with others."""
    timings = {"alert": Timing(Trigger(), is_critical=is_critical)}
    preferred = Preferred(
        {"ana": ((Layer.OWN, preferences),)}, {"ana": 7}, {"e": (EventKind("description", "description"),)}
    )
    (scheduled,) = scheduled_notifications([unscheduled], timings, now_ms=now_ms, preferred=preferred)
    return scheduled.slot.due_at_ms, scheduled.slot.grouping_key == "preferences:7"


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
    assert due(draft_for(), NIGHT, ms_at(now)) == (ms_at(expected), now != expected)


@pytest.mark.parametrize(
    ("changes", "now", "expected"),
    [
        ({}, "2026-12-01T12:00", "2026-12-07T08:00"),
        ({}, "2026-11-30T23:00", "2026-12-07T08:00"),  # the night before it begins ends while it lasts
        ({}, "2026-12-07T00:00", "2026-12-07T08:00"),
        ({}, "2026-12-07T08:00", "2026-12-07T08:00"),
        ({}, "2026-11-30T19:00", "2026-11-30T19:00"),
        ({"frequency": Frequency.WEEKLY, "digest_day": Weekday.FRIDAY}, "2026-12-01T12:00", "2026-12-07T08:00"),
        ({"frequency": Frequency.WEEKLY, "digest_day": Weekday.FRIDAY}, "2026-11-30T19:00", "2026-12-07T08:00"),
        ({"working_days": tuple(Weekday)[2:5]}, "2026-12-03T12:00", "2026-12-09T08:00"),
    ],
)
def test_what_comes_while_one_is_away_waits_for_the_return(changes: dict[str, object], now: str, expected: str) -> None:
    away = Absence(start=ms_at("2026-12-01T00:00"), until=ms_at("2026-12-07T00:00"))
    preferences = NIGHT.model_copy(update={"away": away, **changes})
    assert due(draft_for(), preferences, ms_at(now))[0] == ms_at(expected)


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/New_York"])
@pytest.mark.parametrize("digest", list(Frequency))
def test_who_is_away_until_the_calendar_ends_stops_nobodys_notifications(zone: str, digest: Frequency) -> None:
    away = Absence(until=LATEST_MS)
    times: dict[str, Any] = {"timezone": zone, "quiet_hours": NIGHT.quiet_hours, "working_days": (Weekday.MONDAY,)}
    preferences = Preferences(**times, away=away, frequency=digest)
    wait = wait_of(preferences, FrequencyChoice(digest))
    assert wait is not None
    due_ms = wait.due_at_ms(ms_at("2026-12-01T00:00"))
    assert ms_at("2026-12-01T00:00") < due_ms < wait.following_ms(due_ms) < LATEST_MS


WEEK = NIGHT.model_copy(update={"working_days": tuple(Weekday)[:5]})
FREE = Preferences(timezone="Europe/Berlin", working_days=tuple(Weekday)[:5])


@pytest.mark.parametrize(
    ("preferences", "now", "expected"),
    [
        (WEEK, "2026-11-27T19:59", "2026-11-27T19:59"),
        (WEEK, "2026-11-27T20:00", "2026-11-30T08:00"),  # Friday evening
        (WEEK, "2026-11-28T12:00", "2026-11-30T08:00"),
        (WEEK, "2026-11-29T23:00", "2026-11-30T08:00"),
        (FREE, "2026-11-27T23:59", "2026-11-27T23:59"),
        (FREE, "2026-11-28T00:00", "2026-11-30T00:00"),
        (FREE, "2026-10-24T12:00", "2026-10-26T00:00"),  # summer time ends on that Sunday
        (FREE, "2026-03-28T12:00", "2026-03-30T00:00"),
    ],
)
def test_days_that_are_no_working_days_are_quiet_and_join_the_nights(
    preferences: Preferences, now: str, expected: str
) -> None:
    assert due(draft_for(), preferences, ms_at(now)) == (ms_at(expected), now != expected)


@pytest.mark.parametrize(
    ("zone", "now", "expected"),
    [
        ("America/New_York", "2026-11-30T04:59", "2026-11-30T05:00"),  # Sunday 23:59 there
        ("Asia/Tokyo", "2026-11-29T14:59", "2026-11-29T15:00"),
        ("Africa/Cairo", "2026-04-23T22:00", "2026-04-23T22:00"),  # the clocks skip midnight of Friday, a working day
        ("Asia/Beirut", "2026-03-28T12:00", "2026-03-29T22:00"),  # and here that of Sunday
    ],
)
def test_a_working_day_begins_at_midnight_of_ones_own_zone(zone: str, now: str, expected: str) -> None:
    days = Preferences(timezone=zone, working_days=tuple(Weekday)[:5])
    moments_ms = [round(datetime.fromisoformat(f"{one}+00:00").timestamp() * 1_000) for one in (now, expected)]
    if zone == "Asia/Beirut":
        moments_ms[1] = 1_774_818_000_000  # Monday 00:00, three hours ahead of UTC
    assert due(draft_for(), days, moments_ms[0])[0] == moments_ms[1]


def test_neither_the_inbox_nor_critical_alerts_nor_addresses_wait() -> None:
    """Fault scenario 37."""
    night = ms_at("2026-11-25T23:00")
    in_app, hook = draft_for(channel="ActivityFeed"), draft_for(None, "Webhook")
    for unscheduled, is_critical in ((in_app, False), (hook, False), (draft_for(), True)):
        assert due(unscheduled, NIGHT, night, is_critical=is_critical)[0] == night
    assert due(draft_for(None), NIGHT, night)[0] == night


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
        ({"frequency": "weekly", "digest_at": "21:00", "quiet_hours": NIGHT.quiet_hours}, "2026-12-01T08:00"),
        ({"frequency": "weekly", "digest_at": "03:00", "quiet_hours": NIGHT.quiet_hours}, "2026-11-30T08:00"),
    ],
)
def test_changes_wait_for_the_digest_of_their_category(preferences: dict[str, Any], expected: str) -> None:
    choices = Preferences(timezone="Europe/Berlin", **preferences)
    assert due(draft_for(), choices, ms_at("2026-11-25T12:00"))[0] == ms_at(expected)


def test_what_comes_after_a_digest_that_lies_in_quiet_hours_waits_for_the_next_digest() -> None:
    choices = Preferences(
        timezone="Europe/Berlin", frequency=Frequency.DAILY, digest_at="21:00", quiet_hours=NIGHT.quiet_hours
    )
    assert due(draft_for(), choices, ms_at("2026-11-25T23:00"))[0] == ms_at("2026-11-27T08:00")


def test_what_comes_too_late_for_the_message_at_the_end_of_quiet_hours_follows_at_once() -> None:
    preferred = Preferred({"ana": ((Layer.OWN, NIGHT),)}, {"ana": 7}, {})
    (scheduled,) = scheduled_notifications([draft_for()], {}, now_ms=ms_at("2026-11-25T23:00"), preferred=preferred)
    assert next_slot(scheduled.slot).due_at_ms == ms_at("2026-11-26T08:00:01")


def test_of_several_categories_the_soonest_counts() -> None:
    choices = Preferences(
        frequency=Frequency.WEEKLY, categories={"schema": Frequency.IMMEDIATE, "tag": Frequency.DAILY}
    )
    assert frequency_of(choices, "tag", "schema") is Frequency.IMMEDIATE
    assert frequency_of(choices, "tag", "owner") is Frequency.DAILY
    assert frequency_of(choices) is Frequency.WEEKLY
    never = Preferences(frequency=Frequency.NEVER, categories={"tag": Frequency.WEEKLY})
    assert frequency_of(never, "tag", "owner") is Frequency.WEEKLY
    assert frequency_of(never, "owner") is Frequency.NEVER


PLANNED = (Frequency.IMMEDIATE, Frequency.HOURLY, Frequency.DAILY, Frequency.WEEKLY)


def frequency_of(preferences: Preferences, *categories: str) -> Frequency:
    """Return how often mails of changes of these categories come; ``breaking`` crosses them."""
    kinds = [EventKind(remaining_kind(one), "" if one == "breaking" else one) for one in categories]
    return choose([(Layer.OWN, preferences)], kinds, Channel.EMAIL).frequency


class Clock:
    """A zone's clocks, minute by minute: a time of the day comes when they first show it, or a later one."""

    FIRST, DAYS = date(2026, 1, 1), 480

    def __init__(self, zone: str) -> None:
        start = datetime(self.FIRST.year, self.FIRST.month, self.FIRST.day, tzinfo=UTC) - timedelta(days=2)
        start_s, zone_info = round(start.timestamp()), ZoneInfo(zone)
        self._start_ms = start_s * 1000
        walls, latest = [], ""
        for moment_s in range(start_s, start_s + (self.DAYS + 4) * 86_400, 60):
            wall = datetime.fromtimestamp(moment_s, zone_info).isoformat()[:16]  # formats cost four times as much
            if wall > latest:
                latest = wall
            walls.append(latest)
        self._shown = walls
        self._times: dict[str, tuple[int, ...]] = {}

    def when(self, day: date, time: str) -> int:
        return self._start_ms + 60_000 * bisect_left(self._shown, f"{day}T{time}")

    def times(self, time: str, *, weekly: bool = False) -> tuple[int, ...]:
        moments = self._times.get(time)
        if moments is None:
            days = (self.FIRST + timedelta(days=number) for number in range(self.DAYS))
            moments = self._times[time] = tuple(self.when(day, time) for day in days)
        return moments[-self.FIRST.weekday() % 7 :: 7] if weekly else moments

    def quiet_end(self, quiet: QuietHours, moment_ms: int) -> int | None:
        """Return when the quiet hours end in which a moment lies; a night belongs to the day on which it begins."""
        if quiet.start == quiet.end:
            return None
        starts, ends = self.times(quiet.start), self.times(quiet.end)
        at = bisect_right(starts, moment_ms) - 1
        end_ms = ends[at + (quiet.end < quiet.start)]
        return end_ms if moment_ms < end_ms else None

    def due_ms(self, preferences: Preferences, moment_ms: int) -> int:
        if preferences.frequency is Frequency.HOURLY:
            moment_ms += 3_600_000 - moment_ms % 3_600_000
        elif preferences.frequency is not Frequency.IMMEDIATE:
            digests = self.times(preferences.digest_at, weekly=preferences.frequency is Frequency.WEEKLY)
            moment_ms = digests[bisect_right(digests, moment_ms)]
        end_ms = preferences.quiet_hours and self.quiet_end(preferences.quiet_hours, moment_ms)
        return end_ms or moment_ms


CHANGES = {
    "Europe/Berlin": ("2026-03-29", "2026-10-25"),
    "America/New_York": ("2026-03-08", "2026-11-01"),
    "Australia/Lord_Howe": ("2026-04-05", "2026-10-04"),
    "Asia/Kolkata": ("2026-11-29",),
}
"""Days on which the clocks change, all of them Sundays: the digest of the week is on the next day."""

SMALL = ("00:00", "02:00", "02:15", "02:45", "08:00", "21:00")


@lru_cache
def clock(zone: str) -> Clock:
    return Clock(zone)


def due_by_preference(preferences: Preferences, moment_ms: int) -> int:
    wait = wait_of(preferences, FrequencyChoice(preferences.frequency or Frequency.IMMEDIATE))
    return moment_ms if wait is None else wait.due_at_ms(moment_ms)


def combinations(first: int = 0, step: int = 1) -> Iterator[Preferences]:
    """Return each ``step``-th choice of frequency, digest and quiet hours, from the ``first`` on."""
    for frequency, digest_at, start, end in islice(product(PLANNED, SMALL, SMALL, SMALL), first, None, step):
        if frequency is not Frequency.IMMEDIATE or digest_at == SMALL[0]:
            quiet = QuietHours(start=start, end=end)
            yield Preferences(frequency=frequency, digest_at=digest_at, quiet_hours=quiet)


@pytest.mark.parametrize(
    ("number", "zone", "day"),
    [
        (number, zone, day)
        for number, (zone, day) in enumerate((zone, day) for zone in CHANGES for day in CHANGES[zone])
    ],
)
def test_all_small_combinations_are_due_when_the_clocks_say(number: int, zone: str, day: str) -> None:
    """On each day a fifth, other ones than on the day before; in ``make soak`` all on each."""
    zone_clock, first = clock(zone), date.fromisoformat(day)
    around = [zone_clock.when(first - timedelta(days=1), "22:30")]
    moments = [*around, *(zone_clock.when(first, "02:00") + 1_800_000 * number for number in (0, 2, 40))]
    wrong = [
        (preferences.to_wire(), datetime.fromtimestamp(moment_ms / 1000, ZoneInfo(zone)))
        for choices in (combinations() if SOAK else combinations(number % 5, 5))
        for preferences in (choices.model_copy(update={"timezone": zone}),)
        for moment_ms in moments
        if due_by_preference(preferences, moment_ms) != zone_clock.due_ms(preferences, moment_ms)
    ]
    assert wrong == []


@given(
    st.sampled_from(sorted(CHANGES)),
    st.sampled_from(PLANNED),
    *(TIMES, TIMES, TIMES),
    st.integers(0, 400 * 1440),
)
def test_any_combination_is_due_when_the_clocks_say(
    zone: str, frequency: Frequency, digest_at: str, start: str, end: str, minute: int
) -> None:
    quiet = QuietHours(start=start, end=end)
    preferences = Preferences(timezone=zone, frequency=frequency, digest_at=digest_at, quiet_hours=quiet)
    moment_ms = clock(zone).when(Clock.FIRST + timedelta(days=10), "00:00") + 60_000 * minute
    assert due_by_preference(preferences, moment_ms) == clock(zone).due_ms(preferences, moment_ms)


def test_what_breaks_readers_is_a_kind_of_its_own_where_it_is_named() -> None:
    plain = Preferences(frequency=Frequency.WEEKLY, categories={"schema": Frequency.DAILY})
    at_once = plain.model_copy(update={"categories": {"schema": Frequency.DAILY, "breaking": Frequency.IMMEDIATE}})
    muted = plain.model_copy(update={"categories": {"breaking": Frequency.NEVER, "schema": Frequency.IMMEDIATE}})
    assert frequency_of(plain, "schema", "breaking") is Frequency.DAILY
    assert frequency_of(at_once, "schema", "breaking") is Frequency.IMMEDIATE
    assert frequency_of(at_once, "schema") is Frequency.DAILY
    assert frequency_of(muted, "schema", "breaking") is Frequency.NEVER


COLUMNS, BY_BOT, BREAKS = EventKind("columns", "schema"), EventKind(BOT, ""), EventKind(BREAKING, "")


def choice_above_recommended(preferences: dict[str, object], *kinds: EventKind) -> str:
    """Return the choice for mails of a person with these preferences, on a server with the recommended defaults."""
    layers = ((Layer.OWN, Preferences.model_validate(preferences)), (Layer.SERVER, RECOMMENDED))
    return choose(layers, kinds, Channel.EMAIL).to_text()


@pytest.mark.parametrize(
    ("preferences", "expected"),
    [
        ({"kinds": {"columns": {"Email": "immediate"}}}, "own immediate columns"),
        ({"kinds": {"columns": {"Email": "never"}}}, "own never columns"),
        ({"categories": {"schema": "weekly"}}, "own weekly schema"),
        ({"frequency": "hourly"}, "own hourly "),
        ({"kinds": {"columns": {"Email": "immediate"}, "bot": {"Email": "never"}}}, "own never bot"),
        ({"kinds": {"columns": {"Slack": "immediate"}, "tag": {"Email": "weekly"}}}, "server daily bot"),
    ],
)
def test_a_choice_of_ones_own_comes_before_the_default_for_bots(preferences: dict[str, object], expected: str) -> None:
    assert choice_above_recommended(preferences, BY_BOT, COLUMNS) == expected


def test_a_choice_of_ones_own_comes_before_the_default_for_breaking_changes() -> None:
    breaking_weekly = Preferences.model_validate({"kinds": {"breaking": {"Email": "weekly"}}})
    columns_hourly = Preferences.model_validate({"kinds": {"columns": {"Email": "hourly"}}})
    layers = ((Layer.OWN, columns_hourly), (Layer.SERVER, breaking_weekly))
    assert choose(layers, [BREAKS, COLUMNS], Channel.EMAIL).to_text() == "own hourly columns"


def test_what_breaks_does_not_wait_for_the_digest_of_its_other_kinds() -> None:
    further_kind = EventKind("other", "other")
    assert choice_above_recommended({}, further_kind) == "server daily other"
    assert choice_above_recommended({}, BREAKS, further_kind) == "server immediate breaking"
    own_choice: dict[str, object] = {"kinds": {"other": {"Email": "weekly"}}}
    assert choice_above_recommended(own_choice, BREAKS, further_kind) == "own weekly other"


def test_what_a_bot_breaks_does_not_wait_for_the_digest_of_bots() -> None:
    assert choice_above_recommended({}, BREAKS, BY_BOT, COLUMNS) == "server immediate breaking"
    assert choice_above_recommended({}, BY_BOT, COLUMNS) == "server daily bot"
