"""Retry schedule: backoff table, jitter, and the delay that a receiver may request.

Source: Svix server defaults and Standard Webhooks 1.0.0. Jitter is passed in. Next: ``flow/track/attempts.py``.
"""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime

from tocsin.model.message import OutcomeReason, Retry

WAITS_S = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 36_000.0)
"""Seconds to wait after the first, second, … failed attempt; the last one holds from there on."""

LEAST_S_WHEN_BUSY = 60.0
"""A receiver that is overrun or silent gets at least so many seconds of rest."""

LONGEST_ASKED_S = 86_400.0
"""Longest delay that a receiver may ask for."""

SPREAD = 0.2
"""How far jitter moves a wait, as a share of it."""

_BUSY = frozenset({OutcomeReason.RATE_LIMITED, OutcomeReason.TIMEOUT})


def wait_s(outcome: Retry, number: int, *, jitter: float) -> float:
    """Return the seconds to wait after attempt ``number`` (from 1) ended with ``outcome``.

    ``jitter`` is in [0, 1); 0.5 changes nothing. The delay that the receiver asks for (``after_s``) is honoured up to
    ``LONGEST_ASKED_S``, never below the planned wait.
    """
    planned = WAITS_S[min(number, len(WAITS_S)) - 1]
    floor = LEAST_S_WHEN_BUSY if outcome.reason in _BUSY else 0.0
    if outcome.after_s is not None:
        return max(planned, floor, min(outcome.after_s, LONGEST_ASKED_S))
    return max(planned * (1 + SPREAD * (2 * jitter - 1)), floor)


def parse_retry_after(text: str | None, *, now_ms: int) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for; None when it says nothing usable.

    Source: RFC 9110 section 10.2.3 (seconds or an HTTP date).
    """
    if text is None:
        return None
    if text.strip().isdecimal() and text.isascii():
        return float(text[:12])
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    asked_s = at.replace(tzinfo=at.tzinfo or UTC).timestamp() - now_ms / 1000
    return asked_s if asked_s > 0 else None
