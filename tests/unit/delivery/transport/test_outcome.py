"""Tests of the table from responses to outcomes."""

import pytest

from tocsin.delivery.transport.outcome import DETAIL_LIMIT, of_http_status, of_reason, of_smtp_code
from tocsin.model.message import Delivered, OutcomeReason, Rejected, Retry


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (101, Rejected, OutcomeReason.INFORMATIONAL),
        (200, Delivered, OutcomeReason.OK),
        (202, Delivered, OutcomeReason.OK),
        (204, Delivered, OutcomeReason.OK),
        (301, Rejected, OutcomeReason.REDIRECT),
        (308, Rejected, OutcomeReason.REDIRECT),
        (400, Retry, OutcomeReason.CLIENT_ERROR),
        (404, Retry, OutcomeReason.CLIENT_ERROR),
        (410, Retry, OutcomeReason.GONE),
        (429, Retry, OutcomeReason.RATE_LIMITED),
        (500, Retry, OutcomeReason.SERVER_ERROR),
        (503, Retry, OutcomeReason.SERVER_ERROR),
        (799, Retry, OutcomeReason.SERVER_ERROR),
    ],
)
def test_http_statuses_lead_where_the_schema_says(status: int, kind: type, reason: OutcomeReason) -> None:
    outcome = of_http_status(status)
    assert isinstance(outcome, kind)
    assert outcome.status_code == status
    assert isinstance(outcome, Delivered) or outcome.reason is reason


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (OutcomeReason.BAD_URL, Rejected),
        (OutcomeReason.BAD_ADDRESS, Rejected),
        (OutcomeReason.EGRESS_REFUSED, Rejected),
        (OutcomeReason.CONNECTION_FAILED, Retry),
        (OutcomeReason.DISABLED, Rejected),
        (OutcomeReason.RECIPIENT_GONE, Rejected),
        (OutcomeReason.TIMEOUT, Retry),
        (OutcomeReason.MAIL_DEFERRED, Retry),
        (OutcomeReason.INTERNAL_ERROR, Retry),
    ],
)
def test_what_is_no_answer_leads_where_the_schema_says(reason: OutcomeReason, kind: type) -> None:
    assert isinstance(of_reason(reason), kind)


@pytest.mark.parametrize(
    ("code", "reason"), [(450, OutcomeReason.MAIL_DEFERRED), (550, OutcomeReason.MAIL_REFUSED), (250, None)]
)
def test_mail_replies_are_for_later_or_for_good(code: int, reason: OutcomeReason | None) -> None:
    outcome = of_smtp_code(code)
    assert (None if isinstance(outcome, Delivered) else outcome.reason) is reason


def test_no_more_than_the_limit_of_an_answer_is_kept() -> None:
    assert len(of_http_status(200, detail="x" * 50_000).detail) == DETAIL_LIMIT
