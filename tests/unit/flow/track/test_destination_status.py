"""Tests of a destination's status after attempts."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from tocsin.flow.track.attempts import next_step
from tocsin.flow.track.breaker import Breaker
from tocsin.flow.track.destination_status import UNTRIED, DestinationStatus, standing_after, standing_after_deliveries
from tocsin.flow.track.failing import Failing
from tocsin.model.message import Attempt, Delivered, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.subscription import SubscriptionState

SCHEMAS = Path(__file__).parents[5] / "shared" / "standards" / "schemas"
RETRY = Retry(OutcomeReason.SERVER_ERROR, status_code=503)
GONE = Retry(OutcomeReason.GONE, status_code=410)

CHANGED_MS = 900


def status_after(*outcomes: Outcome, number: int = 1, retries: int = 3) -> DestinationStatus:
    standing = UNTRIED
    for place, outcome in enumerate(outcomes):
        attempt = Attempt("d", number, started_at_ms=1_000 * (place + 1), duration_ms=10, outcome=outcome)
        step = next_step(attempt, retries=retries, wait_s=5.0)
        standing = standing_after(standing, attempt, step, channel="Webhook", configured_at_ms=CHANGED_MS)
    return standing


def test_an_answer_in_the_two_hundreds_makes_active() -> None:
    assert status_after(Delivered(200)) == DestinationStatus(
        SubscriptionState.ACTIVE,
        timestamp_ms=1_010,
        last_successful_at_ms=1_010,
        delivered_count=1,
        configured_at_ms=CHANGED_MS,
        breaker=Breaker(((0, 1, 0),)),
    )


def test_a_retry_to_come_makes_awaiting_retry_and_names_its_time() -> None:
    assert status_after(RETRY) == DestinationStatus(
        SubscriptionState.AWAITING_RETRY,
        timestamp_ms=1_010,
        last_failed_at_ms=1_010,
        last_failed_status_code=503,
        last_failed_reason="serverError",
        next_attempt_ms=6_010,
        configured_at_ms=CHANGED_MS,
        breaker=Breaker(((0, 1, 1),)),
        failing=Failing(since_ms=1_010, count=1),
    )


def test_the_last_retry_makes_retry_limit_reached() -> None:
    standing = status_after(RETRY, number=4)
    assert standing.status is SubscriptionState.RETRY_LIMIT_REACHED
    assert (standing.failed_count, standing.next_attempt_ms) == (1, None)


@pytest.mark.parametrize("reason", [OutcomeReason.BAD_URL, OutcomeReason.REDIRECT])
def test_what_fails_at_once_makes_failed(reason: OutcomeReason) -> None:
    standing = status_after(Rejected(reason))
    assert (standing.status, standing.failed_count) == (SubscriptionState.FAILED, 1)


def test_a_receiver_that_is_away_shows_as_failed_and_is_tried_again() -> None:
    away = Retry(OutcomeReason.CONNECTION_FAILED)
    standing = status_after(away)
    assert (standing.status, standing.failed_count) == (SubscriptionState.FAILED, 0)
    assert standing.next_attempt_ms == 6_010
    assert status_after(away, Delivered(200)).status is SubscriptionState.ACTIVE
    assert status_after(away, number=4).status is SubscriptionState.RETRY_LIMIT_REACHED


def test_the_next_success_makes_active_again_and_remembers_the_failure() -> None:
    standing = status_after(RETRY, Delivered(200))
    assert (standing.status, standing.next_attempt_ms) == (SubscriptionState.ACTIVE, None)
    assert (standing.last_successful_at_ms, standing.last_failed_at_ms) == (2_010, 1_010)


@pytest.mark.parametrize("reason", [OutcomeReason.DISABLED, OutcomeReason.RECIPIENT_GONE, OutcomeReason.MAY_NOT_VIEW])
def test_what_says_nothing_about_the_destination_leaves_it_alone(reason: OutcomeReason) -> None:
    assert status_after(Rejected(reason)) is UNTRIED
    assert status_after(GONE, Rejected(reason)) == status_after(GONE)


def test_gone_stops_a_destination_and_awaits_a_retry_as_any_other_4xx() -> None:
    standing = status_after(GONE, number=9, retries=0)
    assert (standing.status, standing.next_attempt_ms, standing.failed_count) == (
        SubscriptionState.AWAITING_RETRY,
        None,
        0,
    )
    assert standing.pause_to_wire() == {
        "state": "stopped",
        "stoppedAt": 1_010,
        "because": "gone",
        "failingSince": 1_010,
        "failureCount": 1,
    }
    assert standing.to_wire()["status"] == "failed", "nothing is sent there by itself any more"
    assert status_after(GONE, RETRY).failing.is_stopped
    assert status_after(GONE, Delivered(200)).pause_to_wire() == {"state": "closed"}


@pytest.mark.parametrize("outcome", [Delivered(200), RETRY, GONE, Rejected(OutcomeReason.BAD_URL)])
def test_a_standing_on_the_wire_holds_upstreams_schema(outcome: Outcome) -> None:
    if not SCHEMAS.is_dir():
        pytest.skip("OpenMetadata's schemas are not beside this repository (../shared/standards/schemas)")
    schema = json.loads((SCHEMAS / "events" / "subscriptionStatus.json").read_text())
    types = json.loads((SCHEMAS / "type" / "basic.json").read_text())
    resource = Resource.from_contents(types, default_specification=DRAFT7)
    validator = Draft7Validator(schema, registry=Registry(retrieve=lambda _uri: resource))  # type: ignore[call-arg]  # attrs hides it
    standing = status_after(outcome)
    assert [error.message for error in validator.iter_errors(standing.to_wire())] == []


def test_while_it_is_paused_the_next_attempt_is_the_next_probe() -> None:
    standing = status_after(*[RETRY] * 12)
    assert standing.breaker.is_open
    assert standing.status is SubscriptionState.AWAITING_RETRY
    assert standing.next_attempt_ms == standing.breaker.probe_at_ms == 42_010
    assert status_after(*[RETRY] * 12, Delivered(200)).next_attempt_ms is None


def test_a_pause_of_browsers_from_before_they_had_none_ends_with_the_next_attempt() -> None:
    paused = status_after(*[RETRY] * 12)
    attempt = Attempt("d", 1, started_at_ms=50_000, duration_ms=10, outcome=RETRY)
    step = next_step(attempt, retries=3, wait_s=5.0)
    standing = standing_after(paused, attempt, step, channel="Push", configured_at_ms=CHANGED_MS)
    assert (standing.breaker, standing.next_attempt_ms) == (Breaker(), step.due_at_ms)


@pytest.mark.parametrize("channel", ["Webhook", "Push"])
@pytest.mark.parametrize(
    "before", [UNTRIED, status_after(Delivered(200), RETRY), status_after(*[RETRY] * 12), status_after(GONE)]
)
@pytest.mark.parametrize(
    "times_ms",
    [[20_000], [20_000, 29_999, 30_000, 30_000, 61_000], [700_000, 20_000, 29_000, 350_000], [299_999, 330_000]],
)
def test_deliveries_that_are_counted_at_once_count_as_one_after_the_other(
    before: DestinationStatus, times_ms: list[int], channel: str
) -> None:
    standing = before
    for at_ms in times_ms:
        attempt = Attempt("d", 1, started_at_ms=at_ms, duration_ms=0, outcome=Delivered(200))
        step = next_step(attempt, retries=3, wait_s=5.0)
        standing = standing_after(standing, attempt, step, channel=channel, configured_at_ms=2_000)
    assert standing_after_deliveries(before, times_ms, channel=channel, configured_at_ms=2_000) == standing
