"""Circuit breaker of a destination: opened when most recent attempts failed, closed by a success.

While it is open the destination is paused: its messages wait, except one at a time that is sent as a probe.
Source: Convoy's defaults (five minutes, 10 requests, 70 %, 30 s). Next: ``store/outbox/pauses.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tocsin.flow.track.attempts import Finished, NextStep, reason_of
from tocsin.model.entity import Document
from tocsin.model.message import Attempt, Delivered, MessageStatus, OutcomeReason, Rejected, Retry

WINDOW_MS = 300_000
"""Attempts of so many last milliseconds count."""

LEAST_ATTEMPTS = 10
"""With fewer attempts in that time it stays closed."""

FAILED_SHARE = 0.7
"""It opens if at least this share of them failed."""

PROBE_WAIT_MS = 30_000
"""So long after a failure the next probe is due."""

PROBE_LIMIT_MS = 180_000
"""So long others wait for the result of a probe: longer than any attempt takes."""

_SLICE_MS = 30_000
_ABOUT_MESSAGE = frozenset({400, 413, 422})
"""Answers about the message that was sent, not about the destination."""
_FAILURES = frozenset(
    {
        OutcomeReason.CONNECTION_FAILED,
        OutcomeReason.TIMEOUT,
        OutcomeReason.INFORMATIONAL,
        OutcomeReason.REDIRECT,
        OutcomeReason.RATE_LIMITED,
        OutcomeReason.NOT_VERIFIED,
        OutcomeReason.CLIENT_ERROR,
        OutcomeReason.SERVER_ERROR,
    }
)
Slice = tuple[int, int, int]
"""Attempts that ended in a part of the window: when it begins (ms), how many there were, how many failed."""


@dataclass(frozen=True)
class Breaker:
    """State of a breaker. It is open since ``opened_at_ms`` and then has a next probe due at ``probe_at_ms``, if any.

    ``slices`` are kept while it is closed, oldest first.
    """

    slices: tuple[Slice, ...] = ()
    opened_at_ms: int | None = None
    probe_at_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """Return whether the destination is paused."""
        return self.opened_at_ms is not None

    def to_wire(self) -> Document:
        """Return the state as JSON."""
        if not self.is_open:
            return {"state": "closed"}
        return {"state": "open", "openedAt": self.opened_at_ms, "nextProbeAt": self.probe_at_ms}


def breaker_after(before: Breaker, attempt: Attempt) -> Breaker:
    """Return the breaker after an attempt at its destination."""
    is_failure, ended_at_ms = has_failed(attempt), attempt.started_at_ms + attempt.duration_ms
    if before.is_open:
        if is_failure is False:
            return Breaker()
        return replace(before, probe_at_ms=ended_at_ms + (PROBE_WAIT_MS if is_failure else 0))
    if is_failure is None:
        return before
    slices = _with_attempts(before.slices, ended_at_ms, 1, failed_count=int(is_failure))
    if is_failure and _is_too_much(slices):
        return Breaker(opened_at_ms=ended_at_ms, probe_at_ms=ended_at_ms + PROBE_WAIT_MS)
    return Breaker(slices)


def breaker_after_deliveries(before: Breaker, ended_at_ms: Sequence[int]) -> Breaker:
    """Return the breaker after attempts that all delivered, which ended at these times: as one after the other."""
    slices, counted_ms = ((), ended_at_ms[1:]) if before.is_open else (before.slices, ended_at_ms)
    for begin_ms, times_ms in groupby(counted_ms, key=_slice_of):
        slices = _with_attempts(slices, begin_ms, len(list(times_ms)))
    return Breaker(slices)


def as_probe(finished: Finished) -> Finished:
    """Return a finished attempt as that of a probe.

    Where it failed, it does not count: its message is due again, behind those that are due already.
    """
    attempt, was_tried = finished.attempt, finished.message.attempt_count > 0
    if not (has_failed(attempt) and isinstance(attempt.outcome, Retry)):
        return replace(finished, is_probe=True)
    status = MessageStatus.AWAITING_RETRY if was_tried else MessageStatus.PENDING
    step = NextStep(status, attempt.started_at_ms + attempt.duration_ms)
    return replace(finished, step=step, is_probe=True, counts=False)


def has_failed(attempt: Attempt) -> bool | None:
    """Return whether an attempt shows that its destination fails; None if it says nothing about that.

    A mail server's answer to one recipient says nothing, and so do answers about what was sent.
    """
    match attempt.outcome:
        case Delivered():
            return False
        case Retry(reason=OutcomeReason.MAIL_DEFERRED, status_code=None):
            return True
        case Retry() | Rejected() as outcome if reason_of(outcome) in _FAILURES:
            return None if outcome.status_code in _ABOUT_MESSAGE else True
        case _:
            return None


def _with_attempts(slices: tuple[Slice, ...], at_ms: int, count: int, *, failed_count: int = 0) -> tuple[Slice, ...]:
    """Return the slices with attempts at times of one slice more, ``at_ms`` among them, without those that are over."""
    start = _slice_of(at_ms)
    counts = {begin: (total, bad) for begin, total, bad in slices if at_ms - WINDOW_MS < begin <= at_ms}
    total, bad = counts.get(start, (0, 0))
    counts[start] = (total + count, bad + failed_count)
    return tuple((begin, *counts[begin]) for begin in sorted(counts))


def _slice_of(at_ms: int) -> int:
    return at_ms - at_ms % _SLICE_MS


def _is_too_much(slices: tuple[Slice, ...]) -> bool:
    attempts, failures = (sum(one[place] for one in slices) for place in (1, 2))
    return attempts >= LEAST_ATTEMPTS and failures >= FAILED_SHARE * attempts
