"""Next status and due time of a message after an attempt.

Pure; the delay is passed in (from ``delivery/transport/retry.py``). Next: ``flow/track/destination_status.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.model.message import (
    Attempt,
    Delivered,
    Entry,
    Message,
    MessageStatus,
    Outcome,
    OutcomeReason,
    Rejected,
    Retry,
)


@dataclass(frozen=True)
class NextStep:
    """Where a message goes after an attempt; ``due_at_ms`` is None when it goes nowhere any more.

    ``wait_ms`` is how long the wait is until then: a clock that is set meanwhile does not make it longer.
    """

    status: MessageStatus
    due_at_ms: int | None = None
    wait_ms: int = 0


@dataclass(frozen=True)
class Finished:
    """A finished attempt: the message as claimed, the attempt, the next step, and what it carried, if known.

    ``is_probe``: its destination was paused. ``counts``: it is one of the attempts of its message.
    """

    message: Message
    attempt: Attempt
    step: NextStep
    entries: tuple[Entry, ...] = ()
    is_probe: bool = False
    counts: bool = True

    @property
    def is_held(self) -> bool:
        """Return whether nothing was tried, because it is to be sent later."""
        return reason_of(self.attempt.outcome) is OutcomeReason.HELD


def next_step(attempt: Attempt, *, retries: int, wait_s: float) -> NextStep:
    """Return what follows ``attempt``: the end, or another attempt ``wait_s`` after it ended.

    ``retries`` counts the attempts after the first, so a message is tried ``1 + retries`` times at most. ``FAILED`` and
    ``RETRY_LIMIT_REACHED`` make it a dead letter. What was sent to a receiver that is gone waits until its destination
    is resumed.
    """
    match attempt.outcome:
        case Delivered():
            return NextStep(MessageStatus.DELIVERED)
        case Rejected():
            return NextStep(MessageStatus.FAILED)
        case Retry(reason=reason) if attempt.number > retries and reason is not OutcomeReason.GONE:
            return NextStep(MessageStatus.RETRY_LIMIT_REACHED)
        case Retry():
            ended_at_ms = attempt.started_at_ms + attempt.duration_ms
            wait_ms = round(wait_s * 1000)
            return NextStep(MessageStatus.AWAITING_RETRY, ended_at_ms + wait_ms, wait_ms)


def hold(message: Message, entries: tuple[Entry, ...], *, until_ms: int, now_ms: int) -> Finished:
    """Return the end of a claim of a message that is to be sent later (epoch milliseconds); it was not tried."""
    status = MessageStatus.AWAITING_RETRY if message.attempt_count else MessageStatus.PENDING
    attempt = Attempt(message.id, message.attempt_count + 1, now_ms, 0, Retry(OutcomeReason.HELD))
    return Finished(message, attempt, NextStep(status, until_ms, until_ms - now_ms), entries, counts=False)


def reason_of(outcome: Outcome) -> OutcomeReason:
    """Return why the attempt ended as it did."""
    return OutcomeReason.OK if isinstance(outcome, Delivered) else outcome.reason


def kind_of(outcome: Outcome) -> str:
    """Return the outcome's name as it is stored and logged: delivered, retry or rejected."""
    return type(outcome).__name__.lower()
