"""Expiry of alerts: the moment from which an alert is disabled; which one may be set; the events that tell its owners.

An alert that expires within a week has one event that says so, ``alertExpiring``; one that has expired is disabled by
the event that says so, ``alertExpired``, in one transaction. Next: ``jobs/expiry.py``.
"""

from __future__ import annotations

from uuid import uuid5

from tocsin.catalogue.writes import Writes
from tocsin.clock import LATEST_MS, Clock, moment_of
from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Catalogue
from tocsin.flow.capture.write import Record
from tocsin.model.change import EXPIRY, ChangeDescription, EventType, FieldChange
from tocsin.model.entity import Document
from tocsin.model.notification import NAMESPACE
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key

EXPIRES = "expires"
"""The key of an alert that holds the moment, in epoch milliseconds."""

TOLD_BEFORE_MS = 7 * 86_400_000
"""So long before an alert expires its owners are told."""

_ALERT = "eventsubscription"


def expiry_ms(value: object) -> int:
    """Return the moment that a request names: epoch milliseconds, or a date or time of ISO 8601, UTC without a zone.

    Raises
    ------
    InvalidInput : it names none
    """
    moment = moment_of(value) if isinstance(value, str) else value
    if not isinstance(moment, int) or isinstance(moment, bool) or not 0 < moment <= LATEST_MS:
        message = "must be a date or time such as 2026-12-31 or 2026-12-31T18:00+01:00, or epoch milliseconds"
        raise InvalidInput(message, field=EXPIRES)
    return moment


def check_expiry(alert: Document, before: Document, now_ms: int) -> None:
    """Refuse a moment that is over, and that an alert is enabled after the one that it has.

    Raises
    ------
    InvalidInput : the alert would be disabled at once
    """
    moment_ms = alert.get(EXPIRES)
    if moment_ms is None or moment_ms > now_ms:
        return
    if moment_ms != before.get(EXPIRES):
        raise InvalidInput("is over already; name a later time", field=EXPIRES)
    if alert.get("enabled", True) and not before.get("enabled", True):
        raise InvalidInput("is over: set a later time, or remove it, to enable the alert again", field=EXPIRES)


class ExpiryLog:
    """Writes down that alerts expire, and disables those that have expired."""

    def __init__(self, catalogue: Catalogue, clock: Clock) -> None:
        self._catalogue, self._clock = catalogue, clock

    def announce(self, alert_id: str, expires_ms: int) -> bool:
        """Put an event on an alert that expires soon; return whether it still does, at that moment.

        The event's id follows from the alert and the moment: a second one collides.
        """

        def work(record: Record) -> bool:
            alert = record.transaction.find(_ALERT, Key.by_id(alert_id))
            if alert is None or alert.document.get(EXPIRES) != expires_ms or not alert.document.get("enabled", True):
                return False
            description = ChangeDescription(fields_updated=(_change_of(expires_ms),))
            record.note(alert, description, event_type=EventType.ALERT_EXPIRING)
            return True

        event_id = announcement_id(alert_id, expires_ms)
        return Writes(self._catalogue, self._clock, event_id=lambda: event_id).within(work, actor=SYSTEM)

    def expire(self, alert_id: str) -> bool:
        """Disable an alert if its moment is over; return whether it did."""

        def work(record: Record) -> bool:
            alert = record.transaction.find(_ALERT, Key.by_id(alert_id))
            if alert is None or not alert.document.get("enabled", True):
                return False
            expires_ms = alert.document.get(EXPIRES)
            if expires_ms is None or expires_ms > record.at_ms:
                return False
            beside = ChangeDescription(fields_updated=(_change_of(expires_ms),))
            fields = alert.document | {"enabled": False}
            record.change(alert, fields, EventType.ALERT_EXPIRED, beside=beside)
            return True

        return Writes(self._catalogue, self._clock).within(work, actor=SYSTEM)


def announcement_id(alert_id: str, expires_ms: int) -> str:
    """Return the id of the event that tells that an alert expires at this moment."""
    return str(uuid5(NAMESPACE, f"expiring {alert_id} {expires_ms}"))


def _change_of(expires_ms: int) -> FieldChange:
    return FieldChange(name=EXPIRY, new_value={EXPIRES: expires_ms})
