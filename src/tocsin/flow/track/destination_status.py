"""Status of a destination, updated after each attempt.

Source: seeds/001 ``definitions/status``, OpenMetadata 1.13 ``events/subscriptionStatus.json``.
Next: ``store/outbox/status.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tocsin.flow.track.attempts import Step, reason_of
from tocsin.model.entity import Document
from tocsin.model.message import Attempt, Delivered, MessageStatus, OutcomeReason
from tocsin.model.subscription import SubscriptionState

GONE_STATUS = 410

_SAYS_NOTHING = frozenset(
    {OutcomeReason.DISABLED, OutcomeReason.RECIPIENT_GONE, OutcomeReason.MAY_NOT_VIEW, OutcomeReason.MUTED}
)
_STATES = {
    MessageStatus.DELIVERED: SubscriptionState.ACTIVE,
    MessageStatus.AWAITING_RETRY: SubscriptionState.AWAITING_RETRY,
    MessageStatus.FAILED: SubscriptionState.FAILED,
    MessageStatus.RETRY_LIMIT_REACHED: SubscriptionState.RETRY_LIMIT_REACHED,
}


@dataclass(frozen=True)
class DestinationStatus:
    """Status of a destination and counts of its messages.

    ``next_attempt_ms`` is set only while a retry is awaited. ``failed_count`` counts messages that were
    given up, not attempts. ``configured_at_ms`` is when the alert had last been changed, at the last attempt.
    """

    status: SubscriptionState
    timestamp_ms: int
    last_successful_at_ms: int | None = None
    last_failed_at_ms: int | None = None
    last_failed_status_code: int | None = None
    last_failed_reason: str | None = None
    next_attempt_ms: int | None = None
    delivered_count: int = 0
    failed_count: int = 0
    configured_at_ms: int | None = None

    def to_wire(self) -> Document:
        """Return the status in the form of upstream's ``subscriptionStatus.json``."""
        wire = {
            "status": self.status.value,
            "lastSuccessfulAt": self.last_successful_at_ms,
            "lastFailedAt": self.last_failed_at_ms,
            "lastFailedStatusCode": self.last_failed_status_code,
            "lastFailedReason": self.last_failed_reason,
            "nextAttempt": self.next_attempt_ms,
            "timestamp": self.timestamp_ms,
        }
        return {key: value for key, value in wire.items() if value is not None}


UNTRIED = DestinationStatus(SubscriptionState.ACTIVE, 0)
"""The status of a destination that nothing was sent to yet."""


def concerns_destination(attempt: Attempt) -> bool:
    """Return whether the attempt's outcome concerns its destination."""
    return reason_of(attempt.outcome) not in _SAYS_NOTHING


def standing_after(
    before: DestinationStatus, attempt: Attempt, step: Step, *, configured_at_ms: int | None = None
) -> DestinationStatus:
    """Return the destination's status after ``attempt``, which led to ``step``.

    Outcomes that do not concern the destination (disabled, muted, recipient deleted, hidden) leave it unchanged.
    """
    outcome, ended_at_ms = attempt.outcome, attempt.started_at_ms + attempt.duration_ms
    if not concerns_destination(attempt):
        return before
    status = _state(attempt, step)
    after = replace(
        before,
        status=status,
        timestamp_ms=ended_at_ms,
        next_attempt_ms=step.due_at_ms,
        configured_at_ms=configured_at_ms,
    )
    if isinstance(outcome, Delivered):
        return replace(after, last_successful_at_ms=ended_at_ms, delivered_count=before.delivered_count + 1)
    return replace(
        after,
        last_failed_at_ms=ended_at_ms,
        last_failed_status_code=outcome.status_code,
        last_failed_reason=outcome.reason.value,
        failed_count=before.failed_count + (step.due_at_ms is None),
    )


def _state(attempt: Attempt, step: Step) -> SubscriptionState:
    """Return the status to show: an unreachable receiver has failed, although it is retried."""
    is_away = reason_of(attempt.outcome) is OutcomeReason.CONNECTION_FAILED
    return SubscriptionState.FAILED if is_away and step.due_at_ms is not None else _STATES[step.status]


def asked_to_stop(standing: DestinationStatus | None, *, configured_at_ms: int) -> bool:
    """Return whether the receiver answered 410 since its subscription was last changed: then nothing is sent there.

    Changing the subscription enables the destination again. Only the subscription's own state decides this:
    clocks that differ, or are set, must not keep a destination disabled.
    """
    return (
        standing is not None
        and standing.status is SubscriptionState.FAILED
        and standing.last_failed_status_code == GONE_STATUS
        and standing.configured_at_ms == configured_at_ms
    )
