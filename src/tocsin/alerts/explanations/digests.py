"""Digests that hold a stored notification: which, when it goes out, and when it was sent, by what is stored of them.

A notification keeps the choice by which it was written, and its message the version of the preferences by which it
waits: where these are newer than the notification, it was taken out of its digest when they changed.
Next: ``alerts/explanations/answer.py``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tocsin.alerts.explanations.reader import ExplanationReader
from tocsin.flow.schedule.decide import SCHEDULED, key_of_check
from tocsin.flow.schedule.preferences import DIGESTS, PREFERRED
from tocsin.model.message import MessageStatus
from tocsin.model.notification_record import MessageRecord, NotificationRecord
from tocsin.model.preferences import Layer

_OF_CHECKS = key_of_check("")


class HoldingDigest(NamedTuple):
    """The digest that holds a notification: its frequency, when it is due, and when it was sent (epoch milliseconds).

    ``frequency`` is ``hourly``, ``daily`` or ``weekly`` as its recipient prefers, or ``scheduled`` as an alert does.
    """

    frequency: str
    due_at_ms: int
    sent_at_ms: int | None = None

    def says(self, reader: ExplanationReader) -> str:
        """Return it in words: ``the daily digest of Tuesday 1 December 2026, 08:00 Europe/Berlin, sent 08:00``."""
        due_at, zone_name = _local_time(self.due_at_ms, reader.zone)
        text = f"the {self.frequency} digest of {_day_text(due_at)}, {due_at:%H:%M} {zone_name}"
        if self.sent_at_ms is None:
            return text
        sent_at, _ = _local_time(self.sent_at_ms, reader.zone)
        day_text = "" if sent_at.date() == due_at.date() else f"{_day_text(sent_at)}, "
        return f"{text}, sent {day_text}{sent_at:%H:%M}"


def digest_of(record: NotificationRecord) -> HoldingDigest | None:
    """Return the digest that a notification waits in, or went out in; None of one that comes by itself, or at once."""
    message, frequency = record.message, _frequency_of(record)
    if message is None or frequency is None:
        return None
    return HoldingDigest(frequency, record.notification.due_at_ms, _sent_at_ms(message))


def _frequency_of(record: NotificationRecord) -> str | None:
    key, choice = (record.message.grouping_key if record.message else None) or "", record.choice
    if key == SCHEDULED or key.startswith(_OF_CHECKS):
        return "scheduled"
    if not key.startswith(PREFERRED) or choice.layer is Layer.NOBODY or choice.frequency not in DIGESTS:
        return None
    return None if has_left_digest(record) else str(choice.frequency.value)


def has_left_digest(record: NotificationRecord) -> bool:
    """Return whether a notification was taken out of the digest that it was written for, as preferences changed."""
    key = (record.message.grouping_key if record.message else None) or ""
    version = key.removeprefix(PREFERRED).partition(":")[0] if key.startswith(PREFERRED) else ""
    is_newer = version.isdecimal() and int(version) > record.notification.created_at_ms
    return is_newer and record.choice.frequency in DIGESTS


def _sent_at_ms(message: MessageRecord) -> int | None:
    if message.status != MessageStatus.DELIVERED:
        return None
    return message.attempts[-1].started_at_ms if message.attempts else None


def _day_text(at: datetime) -> str:
    return f"{at:%A} {at.day} {at:%B %Y}"


def _local_time(at_ms: int, zone_name: str) -> tuple[datetime, str]:
    """Return a time in a zone, and the zone; in UTC where this machine does not know it."""
    at = datetime.fromtimestamp(at_ms / 1_000, UTC)
    try:
        return at.astimezone(ZoneInfo(zone_name)), zone_name
    except (ValueError, ZoneInfoNotFoundError, OverflowError):
        return at, "UTC"
