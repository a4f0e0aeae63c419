"""Tests of the next status and due time after an attempt."""

import pytest

from tocsin.flow.track.attempts import NextStep, kind_of, next_step, reason_of
from tocsin.model.message import Attempt, Delivered, MessageStatus, Outcome, OutcomeReason, Rejected, Retry

RETRY = Retry(OutcomeReason.SERVER_ERROR, status_code=500)
REJECTED = Rejected(OutcomeReason.REDIRECT, status_code=302)


def attempt_with(outcome: Outcome, number: int = 1) -> Attempt:
    return Attempt("d", number, started_at_ms=1_000, duration_ms=50, outcome=outcome)


def test_what_was_taken_is_delivered() -> None:
    assert next_step(attempt_with(Delivered(200)), retries=3, wait_s=5.0) == NextStep(MessageStatus.DELIVERED)


def test_what_will_never_go_through_fails_at_once() -> None:
    assert next_step(attempt_with(REJECTED), retries=3, wait_s=5.0) == NextStep(MessageStatus.FAILED)


def test_a_retry_is_due_after_the_wait_counted_from_the_end_of_the_attempt() -> None:
    assert next_step(attempt_with(RETRY), retries=3, wait_s=5.25) == NextStep(
        MessageStatus.AWAITING_RETRY, 6_300, 5_250
    )


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_message_is_tried_once_and_as_often_again_as_retries_say(retries: int) -> None:
    statuses = [
        next_step(attempt_with(RETRY, number), retries=retries, wait_s=1.0).status for number in range(1, retries + 2)
    ]
    assert statuses == [MessageStatus.AWAITING_RETRY] * retries + [MessageStatus.RETRY_LIMIT_REACHED]


def test_outcomes_have_a_name_and_a_reason() -> None:
    assert [kind_of(one) for one in (Delivered(), RETRY, REJECTED)] == ["delivered", "retry", "rejected"]
    assert [reason_of(one) for one in (Delivered(), RETRY)] == [OutcomeReason.OK, OutcomeReason.SERVER_ERROR]
