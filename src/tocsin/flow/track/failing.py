"""Consecutive failures of a destination: since when, at which percentages of the limit they are reported, and its stop.

A destination is stopped after five days of nothing but failures, or when its receiver answers that it is gone: then its
messages wait without probes until a person resumes it. Source: Svix and Standard Webhooks 1.0.0 (disabling, 410).
Next: ``alerts/events.py`` reports it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tocsin.flow.track.attempts import reason_of
from tocsin.model.message import Attempt, Delivered, OutcomeReason
from tocsin.model.subscription import TO_PEOPLE

LIMIT_MS = 5 * 86_400_000
"""After so long with nothing but failures a destination is stopped."""

LEAST_FAILURES = 10
"""Fewer failures than these are no reason to warn of a destination or to stop it."""

_OF_NO_DESTINATION = frozenset({OutcomeReason.INTERNAL_ERROR, OutcomeReason.RECIPIENT_UNKNOWN})

WARNED_AT = (50, 90, 100)
"""Percent of that time at which it is reported; the last is the end."""


@dataclass(frozen=True)
class Failing:
    """Failures of a destination since the last success or the last change of its alert.

    ``count`` counts attempts, ``percent`` is the highest of ``WARNED_AT`` that was reached, ``reported_percent`` the
    highest that was reported.
    """

    since_ms: int | None = None
    count: int = 0
    percent: int = 0
    reported_percent: int = 0
    stopped_at_ms: int | None = None

    @property
    def is_stopped(self) -> bool:
        """Return whether nothing is sent there any more."""
        return self.stopped_at_ms is not None


def failing_after(before: Failing, attempt: Attempt, channel: str, *, has_changed: bool) -> Failing:
    """Return the streak after an attempt; ``has_changed``: the alert was changed since the attempt before.

    Mail does not count: its failures are those of the mail server or of a single recipient. Neither do those of the
    browsers of a person, our own, nor a recipient whom the receiver does not know.
    """
    outcome, ended_at_ms = attempt.outcome, attempt.started_at_ms + attempt.duration_ms
    if isinstance(outcome, Delivered):
        return Failing()
    if channel in TO_PEOPLE or reason_of(outcome) in _OF_NO_DESTINATION:
        return before
    streak = Failing() if has_changed or before.since_ms is None else before
    since_ms = ended_at_ms if streak.since_ms is None else streak.since_ms
    streak = replace(streak, since_ms=since_ms, count=streak.count + 1)
    if streak.is_stopped:
        return streak
    is_gone = reason_of(outcome) is OutcomeReason.GONE
    percent = 100 if is_gone else max(streak.percent, _percent(ended_at_ms - since_ms, streak.count))
    return replace(streak, percent=percent, stopped_at_ms=ended_at_ms if percent == WARNED_AT[-1] else None)


def _percent(elapsed_ms: int, count: int) -> int:
    """Return the highest of ``WARNED_AT`` that is reached; 0 for none."""
    if count < LEAST_FAILURES:
        return 0
    return max((one for one in WARNED_AT if elapsed_ms * 100 >= one * LIMIT_MS), default=0)
