"""Tests of a destination's streak of failures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.flow.track.failing import LEAST_FAILURES, LIMIT_MS, Failing, failing_after
from tocsin.model.message import Attempt, Delivered, Outcome, OutcomeReason, Rejected, Retry

BAD = Retry(OutcomeReason.SERVER_ERROR, status_code=503)
GONE = Retry(OutcomeReason.GONE, status_code=410)
START_MS = 1_800_000_000_000
DAY_MS = 86_400_000


def streak_after(*outcomes: Outcome, days: float, channel: str = "Webhook", before: Failing = Failing()) -> Failing:  # noqa: B008  frozen
    """Return the streak after attempts at equal intervals over so many days."""
    streak = before
    for place, outcome in enumerate(outcomes):
        ended_ms = START_MS + round(place * days * DAY_MS / max(1, len(outcomes) - 1))
        streak = failing_after(streak, Attempt("m", 1, ended_ms - 5, 5, outcome), channel, has_changed=False)
    return streak


@pytest.mark.parametrize(
    ("days", "percent"), [(0, 0), (2.49, 0), (2.5, 50), (4.49, 50), (4.5, 90), (4.99, 90), (5, 100), (50, 100)]
)
def test_half_of_five_days_nine_tenths_and_the_end_are_reported(days: float, percent: int) -> None:
    streak = streak_after(*[BAD] * 100, days=days)
    assert (streak.percent, streak.is_stopped) == (percent, percent == 100)


@pytest.mark.parametrize(("count", "percent"), [(LEAST_FAILURES - 1, 0), (LEAST_FAILURES, 100)])
def test_a_few_failures_do_not_stop_it(count: int, percent: int) -> None:
    assert streak_after(*[BAD] * count, days=5).percent == percent


def test_one_success_ends_the_streak() -> None:
    assert streak_after(*[BAD] * 50, Delivered(200), days=4.9) == Failing()
    assert streak_after(*[BAD] * 50, Delivered(200), *[BAD] * 50, days=9.9).percent == 90


def test_a_change_of_the_alert_begins_a_new_streak() -> None:
    stopped = streak_after(*[BAD] * 50, days=5)
    assert stopped.is_stopped
    again = failing_after(stopped, Attempt("m", 1, START_MS, 5, BAD), "Webhook", has_changed=True)
    assert again == Failing(since_ms=START_MS + 5, count=1)


def test_what_was_stopped_stays_stopped_and_is_not_reported_again() -> None:
    stopped = streak_after(*[BAD] * 50, days=5)
    assert streak_after(*[BAD] * 50, days=9, before=stopped).stopped_at_ms == stopped.stopped_at_ms


def test_gone_stops_it_at_once() -> None:
    assert streak_after(GONE, days=0) == Failing(START_MS, 1, 100, 0, START_MS)


@pytest.mark.parametrize(
    ("outcome", "channel"),
    [(Retry(OutcomeReason.INTERNAL_ERROR), "Webhook"), (Retry(OutcomeReason.MAIL_DEFERRED), "Email")],
)
def test_our_own_failures_and_those_of_mail_do_not_count(outcome: Outcome, channel: str) -> None:
    assert streak_after(*[outcome] * 50, days=9, channel=channel) == Failing()


@pytest.mark.parametrize("outcome", [Rejected(OutcomeReason.EGRESS_REFUSED), Retry(OutcomeReason.CLIENT_ERROR, 400)])
def test_whatever_keeps_everything_from_arriving_counts(outcome: Outcome) -> None:
    assert streak_after(*[outcome] * 50, days=5).is_stopped


@given(st.lists(st.tuples(st.booleans(), st.integers(0, DAY_MS)), max_size=100))
def test_it_stops_only_after_five_days_without_a_success(steps: list[tuple[bool, int]]) -> None:
    streak, at_ms, failures = Failing(), START_MS, list[int]()
    for works, wait_ms in steps:
        at_ms += wait_ms
        streak = failing_after(
            streak, Attempt("m", 1, at_ms, 0, Delivered(200) if works else BAD), "Slack", has_changed=False
        )
        failures = [] if works else [*failures, at_ms]
        is_over = len(failures) >= LEAST_FAILURES and at_ms - failures[0] >= LIMIT_MS
        assert streak.is_stopped is is_over
        assert streak.count == len(failures)
