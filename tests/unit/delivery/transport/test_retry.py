"""Tests of the retry schedule."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from tocsin.delivery.transport.retry import WAITS_S, parse_retry_after, wait_s
from tocsin.model.message import OutcomeReason, Retry

SERVER_ERROR = Retry(OutcomeReason.SERVER_ERROR)


def test_waits_follow_the_table_and_stay_at_its_last_row() -> None:
    assert [wait_s(SERVER_ERROR, number, jitter=0.5) for number in range(1, 10)] == [*WAITS_S, 36_000.0, 36_000.0]


@pytest.mark.parametrize(("jitter", "share"), [(0.0, 0.8), (0.25, 0.9), (0.75, 1.1), (0.999999, 1.2)])
def test_jitter_moves_a_wait_by_a_fifth_at_most(jitter: float, share: float) -> None:
    assert wait_s(SERVER_ERROR, 2, jitter=jitter) == pytest.approx(300 * share, rel=1e-5)


@pytest.mark.parametrize("reason", [OutcomeReason.RATE_LIMITED, OutcomeReason.TIMEOUT])
@pytest.mark.parametrize("jitter", [0.0, 0.5, 0.9])
def test_a_busy_receiver_rests_a_minute_at_least(reason: OutcomeReason, jitter: float) -> None:
    assert wait_s(Retry(reason), 1, jitter=jitter) == 60.0
    assert wait_s(Retry(reason), 2, jitter=jitter) >= 240.0


@pytest.mark.parametrize(
    ("asked_s", "granted_s"), [(0.0, 300.0), (400.0, 400.0), (86_400.0, 86_400.0), (1e9, 86_400.0)]
)
def test_retry_after_is_honoured_up_to_a_day_and_never_shortens_the_plan(asked_s: float, granted_s: float) -> None:
    assert wait_s(Retry(OutcomeReason.SERVER_ERROR, after_s=asked_s), 2, jitter=0.0) == granted_s


def test_retry_after_counts_from_the_minute_that_a_busy_receiver_gets() -> None:
    assert wait_s(Retry(OutcomeReason.RATE_LIMITED, after_s=90.0), 1, jitter=0.0) == 90.0
    assert wait_s(Retry(OutcomeReason.RATE_LIMITED, after_s=400.0), 1, jitter=0.0) == 400.0
    assert wait_s(Retry(OutcomeReason.RATE_LIMITED, after_s=1.0), 1, jitter=0.0) == 60.0


NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("-5", None),
        ("soon", None),
        ("1e9", None),
        ("٣", None),
        ("9" * 400, 999_999_999_999.0),
        (format_datetime(NOW.replace(minute=2), usegmt=True), 120.0),
        (format_datetime(NOW.replace(hour=11), usegmt=True), None),
        ("Wed, 99 Nov 2026 12:00:00 GMT", None),
    ],
)
def test_retry_after_reads_seconds_and_dates_and_nothing_else(text: str | None, seconds: float | None) -> None:
    """Fault scenario 22."""
    assert parse_retry_after(text, now_ms=NOW_MS) == seconds
