"""Tone of a message: what its colour means. Changes have none; before and after are told by strike and underline.

Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from enum import IntEnum

from tocsin.delivery.wording.change_requests import is_change_overdue
from tocsin.delivery.wording.reports import is_failure_report, is_recovery
from tocsin.model.change import INCIDENT_REMINDER, STILL_FAILING, ChangeEvent, EventType


class Tone(IntEnum):
    """What a message means for its reader, the worst last."""

    NEUTRAL = 0
    WELL = 1
    ATTENTION = 2
    FAILED = 3


_STILL = (STILL_FAILING, INCIDENT_REMINDER)
_TONES = {
    EventType.LAG_RECOVERED: Tone.WELL,
    EventType.SLA_VIOLATION: Tone.ATTENTION,
    EventType.FRESHNESS_VIOLATION: Tone.ATTENTION,
    EventType.PROFILE_ANOMALY: Tone.ATTENTION,
    EventType.SCHEDULED_CHECK: Tone.ATTENTION,
    EventType.LAG_EXCEEDED: Tone.ATTENTION,
    EventType.AUDIT_FINDING: Tone.ATTENTION,
    EventType.ALERT_NARROWED: Tone.ATTENTION,
    EventType.ALERT_EXPIRING: Tone.ATTENTION,
    EventType.ALERT_EXPIRED: Tone.ATTENTION,
    EventType.DESTINATION_FAILING: Tone.ATTENTION,
    EventType.DESTINATION_STOPPED: Tone.FAILED,
}


def is_still_failing(event: ChangeEvent) -> bool:
    """Return whether the event says that a test or run fails at a time of a schedule, or reminds of an incident."""
    described = event.change_description
    return described is not None and any(change.name in _STILL for change in described.fields_added)


def tone_of(event: ChangeEvent) -> Tone:
    """Return the tone: red for a failure, green for what is well again, amber for what breaks readers or is late."""
    if is_failure_report(event) or is_still_failing(event):
        return Tone.FAILED
    if event.breaking_reasons or is_change_overdue(event):
        return Tone.ATTENTION
    return Tone.WELL if is_recovery(event) else _TONES.get(event.event_type, Tone.NEUTRAL)
