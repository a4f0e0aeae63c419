"""Audit findings: a match, notification or message without exactly one result.

Next: ``jobs/audit.py`` detects them, ``alerts/events.py`` records them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import uuid5

from tocsin.model.entity import Document
from tocsin.model.notification import NAMESPACE


class FindingKind(StrEnum):
    """What is wrong."""

    RESULT_MISSING = "resultMissing"
    """An event matches an alert, and nothing says what came of it."""
    NOT_MATCHED = "notMatched"
    """People were notified of an event by an alert that it does not match."""
    NOTIFICATION_MISSING = "notificationMissing"
    """Fewer notifications are there than were written."""
    NOTIFICATION_UNEXPECTED = "notificationUnexpected"
    """More notifications are there than were written."""
    RELATION_MISSING = "relationMissing"
    """Relations of a hard-deleted asset were lost before its deletion was notified."""
    NOTIFIED_TWICE = "notifiedTwice"
    """A person has two notifications of one event over one channel."""
    DELIVERY_MISSING = "deliveryMissing"
    """A notification to be sent has no message."""
    DELIVERED_TWICE = "deliveredTwice"
    """The message that carries a notification was delivered more than once."""
    DELIVERY_STUCK = "deliveryStuck"
    """A message is long due, and nobody tries it."""
    INCIDENT_MISSING = "incidentMissing"
    """A failure that the alert matched belongs to no incident that it watches."""
    INCIDENT_UNRESOLVED = "incidentUnresolved"
    """An incident that the alert watches lasts beyond a success of its asset."""
    REMINDER_MISSING = "reminderMissing"
    """The alert should have reminded of an incident, and did not."""
    CHECK_MISSING = "checkMissing"
    """A time of the alert's schedule has passed, and nobody looked for what is still so."""
    TOO_SLOW = "tooSlow"
    """The alert's conditions took so long that all others would have waited: it was switched off."""
    NAME_UNKNOWN = "nameUnknown"
    """A name in the alert is no longer that of anything: of a team that is gone, or of a tag that nobody has."""
    FAILING = "failing"
    """The alert's conditions cannot be planned or evaluated: it was switched off."""
    TOO_COSTLY = "tooCostly"
    """All alerts together cost more than the pipeline can bear, and this one is among the costliest: switched off."""
    UNREADABLE = "unreadable"
    """The alert's conditions cannot be read any more: nobody is notified."""


OF_MICRO_BATCHES = frozenset({FindingKind.TOO_SLOW, FindingKind.FAILING, FindingKind.TOO_COSTLY})
"""Kinds whose event is the first of a micro-batch, which the readers of the alert may be unable to view: not shown."""


@dataclass(frozen=True)
class AuditFinding:
    """One finding of the audit.

    ``about`` distinguishes it from others of its kind with the same event and alert: the id of a notification, a
    recipient, an incident, a time, or why an alert is unreadable. Without an ``event_id`` it is about the alert as
    such.
    """

    kind: FindingKind
    event_id: str
    log_offset: int
    subscription_id: str
    about: str = ""
    expected: int = 0
    actual: int = 0

    @property
    def id(self) -> str:
        """Return the id of its event: the same whenever and however often it is found."""
        return str(uuid5(NAMESPACE, f"finding|{self.kind}|{self.event_id}|{self.subscription_id}|{self.about}"))

    def to_wire(self) -> Document:
        """Return it as the event's document says it."""
        is_of_event = bool(self.event_id) and self.kind not in OF_MICRO_BATCHES
        event: Document = {"eventId": self.event_id, "offset": self.log_offset} if is_of_event else {}
        about = {"about": self.about} if self.about else {}
        return {"kind": self.kind.value, **event, **about, "expected": self.expected, "found": self.actual}
