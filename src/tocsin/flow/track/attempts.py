"""Next status and due time of a delivery after an attempt.

Pure; the delay is passed in (from ``flow/send/retry.py``). Next: ``flow/track/destination_status.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.model.delivery import Attempt, Delivered, Delivery, DeliveryStatus, Outcome, OutcomeReason, Rejected, Retry


@dataclass(frozen=True)
class Step:
    """Where a delivery goes after an attempt; ``due_at_ms`` is None when it goes nowhere any more.

    ``wait_ms`` is how long the wait is until then: a clock that is set meanwhile does not make it longer.
    """

    status: DeliveryStatus
    due_at_ms: int | None = None
    wait_ms: int = 0


@dataclass(frozen=True)
class Finished:
    """A finished attempt: the delivery as claimed, the attempt, and the next step."""

    delivery: Delivery
    attempt: Attempt
    step: Step


def next_step(attempt: Attempt, *, retries: int, wait_s: float) -> Step:
    """Return what follows ``attempt``: the end, or another attempt ``wait_s`` after it ended.

    ``retries`` counts the attempts after the first, so a delivery is tried ``1 + retries`` times at most.
    """
    match attempt.outcome:
        case Delivered():
            return Step(DeliveryStatus.DELIVERED)
        case Rejected():
            return Step(DeliveryStatus.FAILED)
        case Retry() if attempt.number > retries:
            return Step(DeliveryStatus.RETRY_LIMIT_REACHED)
        case Retry():
            ended_at_ms = attempt.started_at_ms + attempt.duration_ms
            wait_ms = round(wait_s * 1000)
            return Step(DeliveryStatus.AWAITING_RETRY, ended_at_ms + wait_ms, wait_ms)


def reason_of(outcome: Outcome) -> OutcomeReason:
    """Return why the attempt ended as it did."""
    return OutcomeReason.OK if isinstance(outcome, Delivered) else outcome.reason


def kind_of(outcome: Outcome) -> str:
    """Return the outcome's name as it is stored and logged: delivered, retry or rejected."""
    return type(outcome).__name__.lower()
