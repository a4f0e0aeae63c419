"""Status of a destination, updated after each attempt.

Source: seeds/001 ``definitions/status``, OpenMetadata 1.13 ``events/subscriptionStatus.json``.
Next: ``store/outbox/status.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tocsin.flow.track.attempts import NextStep, reason_of
from tocsin.flow.track.breaker import Breaker, breaker_after, breaker_after_deliveries
from tocsin.flow.track.failing import Failing, failing_after
from tocsin.model.entity import Document
from tocsin.model.message import SUPPRESSED, Attempt, Delivered, MessageStatus, OutcomeReason
from tocsin.model.subscription import Channel, SubscriptionState

_STATES = {
    MessageStatus.DELIVERED: SubscriptionState.ACTIVE,
    MessageStatus.PENDING: SubscriptionState.AWAITING_RETRY,  # a failed probe
    MessageStatus.AWAITING_RETRY: SubscriptionState.AWAITING_RETRY,
    MessageStatus.AWAITING_REPLAY: SubscriptionState.AWAITING_RETRY,
    MessageStatus.FAILED: SubscriptionState.FAILED,
    MessageStatus.RETRY_LIMIT_REACHED: SubscriptionState.RETRY_LIMIT_REACHED,
}


@dataclass(frozen=True)
class DestinationStatus:
    """Status of a destination and counts of its messages.

    ``next_attempt_ms`` is set only while a retry is awaited, or while the destination is paused: to the next probe.
    ``failed_count`` counts messages that were given up, not attempts. ``configured_at_ms`` is when the alert had last
    been changed, at the last attempt.
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
    breaker: Breaker = field(default_factory=Breaker)
    failing: Failing = field(default_factory=Failing)

    def to_wire(self) -> Document:
        """Return the status in the form of upstream's ``subscriptionStatus.json``; one that is stopped has failed."""
        status = SubscriptionState.FAILED if self.failing.is_stopped else self.status
        wire = {
            "status": status.value,
            "lastSuccessfulAt": self.last_successful_at_ms,
            "lastFailedAt": self.last_failed_at_ms,
            "lastFailedStatusCode": self.last_failed_status_code,
            "lastFailedReason": self.last_failed_reason,
            "nextAttempt": self.next_attempt_ms,
            "timestamp": self.timestamp_ms,
        }
        return {key: value for key, value in wire.items() if value is not None}

    def since(self, since_ms: int) -> DestinationStatus | None:
        """Return what attempts from then on say of the destination; None where there were none."""
        if self.timestamp_ms < since_ms:
            return None
        is_pause_known = self.failing.since_ms is None or self.failing.since_ms >= since_ms
        status = self if is_pause_known else replace(self, breaker=Breaker(), failing=Failing())
        if (status.last_successful_at_ms or 0) < since_ms:
            status = replace(status, last_successful_at_ms=None)
        if (status.last_failed_at_ms or 0) < since_ms:
            status = replace(status, last_failed_at_ms=None, last_failed_status_code=None, last_failed_reason=None)
        return status

    def pause_to_wire(self) -> Document:
        """Return as JSON whether the destination is sent to, paused or stopped, and since when it fails."""
        failing = self.failing
        streak = {"failingSince": failing.since_ms, "failureCount": failing.count} if failing.since_ms else {}
        if failing.is_stopped:
            because = OutcomeReason.GONE.value if self.last_failed_reason == OutcomeReason.GONE else "failing"
            return {"state": "stopped", "stoppedAt": failing.stopped_at_ms, "because": because, **streak}
        return {**self.breaker.to_wire(), **streak}


UNTRIED = DestinationStatus(SubscriptionState.ACTIVE, 0)
"""The status of a destination that nothing was sent to yet."""


def concerns_destination(attempt: Attempt) -> bool:
    """Return whether the attempt's outcome concerns its destination."""
    return reason_of(attempt.outcome) not in SUPPRESSED


def standing_after(
    before: DestinationStatus, attempt: Attempt, step: NextStep, *, channel: str, configured_at_ms: int | None = None
) -> DestinationStatus:
    """Return the destination's status after ``attempt`` over ``channel``, which led to ``step``.

    Outcomes that do not concern the destination (disabled, muted, recipient deleted, hidden) leave it unchanged. Those
    at the browsers of a person never pause it.
    """
    outcome, ended_at_ms = attempt.outcome, attempt.started_at_ms + attempt.duration_ms
    if not concerns_destination(attempt):
        return before
    has_changed = before.configured_at_ms not in (None, configured_at_ms)
    failing = failing_after(before.failing, attempt, channel, has_changed=has_changed)
    stopped_breaker = Breaker(opened_at_ms=ended_at_ms)  # open, without a probe
    breaker_now = Breaker() if _is_of_browsers(channel) else breaker_after(before.breaker, attempt)
    breaker = stopped_breaker if failing.is_stopped else breaker_now
    if isinstance(outcome, Delivered):
        count_fields: dict[str, Any] = {  # Any: the field's value
            "last_successful_at_ms": ended_at_ms,
            "delivered_count": before.delivered_count + 1,
        }
    else:
        count_fields = {
            "last_failed_at_ms": ended_at_ms,
            "last_failed_status_code": outcome.status_code,
            "last_failed_reason": outcome.reason.value,
            "failed_count": before.failed_count + (step.due_at_ms is None),
        }
    return replace(
        before,
        status=_state(attempt, step),
        timestamp_ms=ended_at_ms,
        next_attempt_ms=breaker.probe_at_ms if breaker.is_open else step.due_at_ms,
        configured_at_ms=configured_at_ms,
        breaker=breaker,
        failing=failing,
        **count_fields,
    )


def standing_after_deliveries(
    before: DestinationStatus, ended_at_ms: Sequence[int], *, channel: str, configured_at_ms: int | None = None
) -> DestinationStatus:
    """Return the destination's status after attempts over ``channel`` that all delivered, in the order of these ends.

    It is what ``standing_after`` returns for one after the other.
    """
    return replace(
        before,
        status=_STATES[MessageStatus.DELIVERED],
        timestamp_ms=ended_at_ms[-1],
        last_successful_at_ms=ended_at_ms[-1],
        delivered_count=before.delivered_count + len(ended_at_ms),
        next_attempt_ms=None,
        configured_at_ms=configured_at_ms,
        breaker=Breaker() if _is_of_browsers(channel) else breaker_after_deliveries(before.breaker, ended_at_ms),
        failing=Failing(),
    )


def _is_of_browsers(channel: str) -> bool:
    """Return whether an attempt was at the browsers of one person: its failures must keep back nobody else's."""
    return channel == Channel.PUSH


def _state(attempt: Attempt, step: NextStep) -> SubscriptionState:
    """Return the status to show: an unreachable receiver has failed, although it is retried."""
    is_away = reason_of(attempt.outcome) is OutcomeReason.CONNECTION_FAILED
    return SubscriptionState.FAILED if is_away and step.due_at_ms is not None else _STATES[step.status]
