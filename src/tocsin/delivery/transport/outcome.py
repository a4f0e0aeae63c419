"""Table for all channels that maps the response of a receiver to an ``Outcome``.

It follows the subscription schema's ``status`` text: timeouts, 4xx and 5xx await a retry; bad URLs, 1xx and 3xx fail.
Connection failures have the status failed there and are retried all the same: a receiver that restarts loses
nothing. Source: seeds/001, ``definitions/status``; RFC 9110 for 410 and 429; RFC 5321 section 4.2.1 for mail.
Next: ``delivery/transport/retry.py``.
"""

from __future__ import annotations

from tocsin.model.message import Delivered, Outcome, OutcomeReason, Rejected, Retry

DETAIL_LIMIT = 20_000
"""Most bytes of an answer that are read and kept."""

_BY_STATUS = {410: OutcomeReason.GONE, 429: OutcomeReason.RATE_LIMITED}
_BY_CLASS = {
    1: OutcomeReason.INFORMATIONAL,
    2: OutcomeReason.OK,
    3: OutcomeReason.REDIRECT,
    4: OutcomeReason.CLIENT_ERROR,
    5: OutcomeReason.SERVER_ERROR,
}
_RETRIED = frozenset(
    {
        OutcomeReason.CONNECTION_FAILED,
        OutcomeReason.TIMEOUT,
        OutcomeReason.RATE_LIMITED,
        OutcomeReason.GONE,
        OutcomeReason.NOT_VERIFIED,
        OutcomeReason.CLIENT_ERROR,
        OutcomeReason.SERVER_ERROR,
        OutcomeReason.MAIL_DEFERRED,
        OutcomeReason.INTERNAL_ERROR,
    }
)


def of_http_status(status: int, *, detail: str = "", after_s: float | None = None) -> Outcome:
    """Return what an HTTP answer with this status means; statuses beyond 599 count as server errors."""
    reason = _BY_STATUS.get(status) or _BY_CLASS.get(status // 100, OutcomeReason.SERVER_ERROR)
    return of_reason(reason, status_code=status, detail=detail, after_s=after_s)


def of_smtp_code(code: int, *, detail: str = "") -> Outcome:
    """Return what a mail server's reply code means: 4xx is for later, 5xx is for good."""
    if 200 <= code < 400:
        return of_reason(OutcomeReason.OK, status_code=code, detail=detail)
    reason = OutcomeReason.MAIL_DEFERRED if 400 <= code < 500 else OutcomeReason.MAIL_REFUSED
    return of_reason(reason, status_code=code, detail=detail)


def of_reason(
    reason: OutcomeReason, *, status_code: int | None = None, detail: str = "", after_s: float | None = None
) -> Outcome:
    """Return the outcome that ``reason`` leads to."""
    excerpt = detail[:DETAIL_LIMIT]
    if reason is OutcomeReason.OK:
        return Delivered(status_code=status_code, detail=excerpt)
    if reason in _RETRIED:
        return Retry(reason, status_code=status_code, detail=excerpt, after_s=after_s)
    return Rejected(reason, status_code=status_code, detail=excerpt)
