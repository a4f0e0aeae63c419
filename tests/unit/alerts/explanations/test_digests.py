"""Tests of the digests that explanations name: as they were when a notification was written, and sent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tocsin.alerts.explanations.digests import digest_of
from tocsin.alerts.explanations.reader import ExplanationReader
from tocsin.model.change_kinds import Frequency
from tocsin.model.message import MessageStatus
from tocsin.model.notification import Notification
from tocsin.model.notification_record import AttemptRecord, MessageRecord, NotificationRecord
from tocsin.model.preferences import DEFAULT, FrequencyChoice, Layer

WRITTEN_MS, DUE_MS = 1_796_040_000_000, 1_796_108_400_000  # Monday noon, Tuesday 07:00, in UTC
IN_BERLIN = ExplanationReader(zone="Europe/Berlin")
DAILY = FrequencyChoice(Frequency.DAILY, "description", Layer.OWN)


def record(key: str | None, choice: FrequencyChoice = DAILY, *, sent_at_ms: int | None = None) -> NotificationRecord:
    notification = Notification("n", "e", 7, "Email", "ann@example.org", "ann", (), DUE_MS, WRITTEN_MS)
    status = MessageStatus.PENDING if sent_at_ms is None else MessageStatus.DELIVERED
    attempt = AttemptRecord(1, sent_at_ms or 0, 10, "delivered", "delivered", None, "")
    attempts = () if sent_at_ms is None else (attempt,)
    message = MessageRecord("m", "ann@example.org", status.value, len(attempts), DUE_MS, key, 3, attempts)
    return NotificationRecord(notification, None, message, "ann", choice)


def says(stored_record: NotificationRecord) -> str | None:
    digest = digest_of(stored_record)
    return None if digest is None else digest.says(IN_BERLIN)


def test_a_digest_that_is_ahead_is_named_with_its_day_time_and_zone() -> None:
    expected = "the daily digest of Tuesday 1 December 2026, 08:00 Europe/Berlin"
    assert says(record(f"preferences:{WRITTEN_MS - 1}")) == expected
    assert says(record("preferences:0:most:5")) == expected


@pytest.mark.parametrize(
    ("late_ms", "sent"), [(20_000, "08:00"), (3_600_000, "09:00"), (86_400_000, "Wednesday 2 December 2026, 08:00")]
)
def test_a_digest_that_was_sent_says_when(late_ms: int, sent: str) -> None:
    sent_record = record("preferences:0", sent_at_ms=DUE_MS + late_ms)
    assert says(sent_record) == f"the daily digest of Tuesday 1 December 2026, 08:00 Europe/Berlin, sent {sent}"


@pytest.mark.parametrize("key", ["scheduled", "check:0 8 * * *"])
def test_the_digest_of_an_alert_is_the_scheduled_one(key: str) -> None:
    assert says(record(key, DEFAULT)) == "the scheduled digest of Tuesday 1 December 2026, 08:00 Europe/Berlin"


@pytest.mark.parametrize(
    "key", [None, "alert:7f", f"preferences:{WRITTEN_MS + 1}", f"preferences:{WRITTEN_MS + 1}:retry"]
)
def test_what_comes_by_itself_or_was_taken_out_when_preferences_changed_is_in_no_digest(key: str | None) -> None:
    assert says(record(key)) is None


def test_what_only_waits_for_the_end_of_quiet_hours_is_in_no_digest() -> None:
    assert says(record("preferences:0", FrequencyChoice(Frequency.IMMEDIATE, "", Layer.OWN))) is None
    assert says(record("preferences:0", DEFAULT)) is None
    assert digest_of(replace(record("preferences:0"), message=None)) is None


def test_an_unknown_zone_is_read_as_utc() -> None:
    digest = digest_of(record("preferences:0"))
    assert digest is not None
    assert digest.says(ExplanationReader(zone="Mars/Olympus")).endswith("07:00 UTC")
