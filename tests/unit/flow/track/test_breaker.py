"""Tests of a destination's breaker."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.delivery.events import dispatch

from tocsin.flow.track.attempts import Finished, next_step
from tocsin.flow.track.breaker import PROBE_WAIT_MS, WINDOW_MS, Breaker, as_probe, breaker_after
from tocsin.model.message import Attempt, Delivered, MessageStatus, Outcome, OutcomeReason, Rejected, Retry

OK = Delivered(200)
BAD = Retry(OutcomeReason.SERVER_ERROR, status_code=503)
START_MS = 1_800_000_000_000


def attempt(outcome: Outcome, at_ms: int = START_MS, number: int = 1) -> Attempt:
    return Attempt("m", number, at_ms - 5, 5, outcome)


def breaker_after_each(*outcomes: Outcome, every_ms: int = 1_000, before: Breaker = Breaker()) -> Breaker:  # noqa: B008  frozen
    breaker = before
    for place, outcome in enumerate(outcomes):
        breaker = breaker_after(breaker, attempt(outcome, START_MS + place * every_ms))
    return breaker


def test_ten_failures_open_it_and_nine_do_not() -> None:
    assert not breaker_after_each(*[BAD] * 9).is_open
    ended_ms = START_MS + 9_000
    assert breaker_after_each(*[BAD] * 10) == Breaker(opened_at_ms=ended_ms, probe_at_ms=ended_ms + PROBE_WAIT_MS)


@pytest.mark.parametrize(("good", "bad", "opens"), [(3, 7, True), (4, 8, False), (30, 70, True), (31, 69, False)])
def test_seven_failures_of_ten_open_it(good: int, bad: int, opens: bool) -> None:
    assert breaker_after_each(*[OK] * good, *[BAD] * bad).is_open is opens


def test_attempts_older_than_five_minutes_do_not_count() -> None:
    assert not breaker_after_each(*[BAD] * 20, every_ms=WINDOW_MS // 8).is_open
    breaker = breaker_after_each(*[OK] * 1_000, every_ms=1)
    for number in range(10):
        breaker = breaker_after(breaker, attempt(BAD, START_MS + WINDOW_MS + 1_000 + number))
    assert breaker.is_open


def test_a_success_closes_it_and_it_counts_from_anew() -> None:
    opened = breaker_after_each(*[BAD] * 10)
    assert breaker_after_each(OK, before=opened) == Breaker()
    assert not breaker_after_each(OK, *[BAD] * 9, before=opened).is_open


def test_a_failure_while_open_moves_the_next_probe() -> None:
    opened = breaker_after_each(*[BAD] * 10)
    later_ms = START_MS + 60_000
    probed = breaker_after(opened, attempt(BAD, later_ms))
    assert (probed.opened_at_ms, probed.probe_at_ms) == (opened.opened_at_ms, later_ms + PROBE_WAIT_MS)


@pytest.mark.parametrize(
    ("outcome", "opens"),
    [
        (Retry(OutcomeReason.TIMEOUT), True),
        (Retry(OutcomeReason.CONNECTION_FAILED), True),
        (Retry(OutcomeReason.RATE_LIMITED, 429), True),
        (Retry(OutcomeReason.CLIENT_ERROR, 404), True),
        (Rejected(OutcomeReason.REDIRECT, 301), True),
        (Retry(OutcomeReason.MAIL_DEFERRED), True),
        (Retry(OutcomeReason.MAIL_DEFERRED, 450), False),
        (Retry(OutcomeReason.CLIENT_ERROR, 400), False),
        (Retry(OutcomeReason.CLIENT_ERROR, 422), False),
        (Retry(OutcomeReason.INTERNAL_ERROR), False),
        (Rejected(OutcomeReason.MAIL_REFUSED, 550), False),
        (Rejected(OutcomeReason.BAD_URL), False),
        (Rejected(OutcomeReason.MUTED), False),
    ],
)
def test_only_failures_of_the_destination_open_it(outcome: Outcome, opens: bool) -> None:
    assert breaker_after_each(*[outcome] * 30).is_open is opens


@pytest.mark.parametrize("count", [0, 3])
def test_a_failed_probe_uses_up_no_attempt_and_goes_behind_what_is_due(count: int) -> None:
    message = replace(dispatch().message, attempt_count=count)
    failed_attempt = attempt(BAD, number=count + 1)
    probe = as_probe(Finished(message, failed_attempt, next_step(failed_attempt, retries=0, wait_s=0.0)))
    assert not probe.counts
    assert probe.step.status is (MessageStatus.AWAITING_RETRY if count else MessageStatus.PENDING)
    assert (probe.step.due_at_ms, probe.step.wait_ms) == (START_MS, 0)


@pytest.mark.parametrize(
    "outcome", [OK, Retry(OutcomeReason.CLIENT_ERROR, 400), Rejected(OutcomeReason.MUTED), Retry(OutcomeReason.GONE)]
)
def test_a_probe_that_does_not_show_a_failure_is_an_attempt_like_any_other(outcome: Outcome) -> None:
    probe_attempt = attempt(outcome)
    finished = Finished(dispatch().message, probe_attempt, next_step(probe_attempt, retries=3, wait_s=7.0))
    probe = as_probe(finished)
    assert probe.counts
    assert probe.step == finished.step


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 60_000)), max_size=200))
def test_it_opens_exactly_when_seven_tenths_of_at_least_ten_failed(steps: list[tuple[bool, int]]) -> None:
    breaker, at_ms, outcomes = Breaker(), START_MS, []
    for failed, wait_ms in steps:
        at_ms += wait_ms
        breaker = breaker_after(breaker, attempt(BAD if failed else OK, at_ms))
        outcomes.append((at_ms, failed))
        recent = [bad for ended_ms, bad in outcomes if ended_ms - ended_ms % 30_000 > at_ms - WINDOW_MS]
        must_open = failed and len(recent) >= 10 and sum(recent) >= 0.7 * len(recent)
        assert breaker.is_open is must_open
        if breaker.is_open:
            return
