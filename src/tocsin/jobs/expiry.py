"""Expiry job: every minute, tells the owners of alerts that expire within a week, and disables those that have expired.

Next: ``alerts/expiry.py``.
"""

from __future__ import annotations

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from tocsin.alerts.expiry import TOLD_BEFORE_MS, ExpiryLog, announcement_id
from tocsin.clock import Clock, SystemClock
from tocsin.errors import Conflict
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog

EVERY_S = 60.0
_LOG = structlog.get_logger(__name__)


class ExpiryJob:
    """The job over the store behind ``engine``; it reads alerts anew only when one was written since its last look."""

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        self._alerts, self._events = Subscriptions(engine), EventLog(engine)
        self._clock = clock or SystemClock()
        self._log = ExpiryLog(SqlCatalogue(engine), self._clock)
        self._revision: int | None = None
        self._moments_ms: dict[str, int] = {}

    def look(self) -> int:
        """Tell and disable what is due; return how many alerts that concerns."""
        revision = self._alerts.revision()
        if revision != self._revision:
            alerts = self._alerts.list_enabled()
            self._moments_ms = {one.id: one.expires for one in alerts if one.expires is not None}
            self._revision = revision
        now_ms = self._clock.now_ms()
        return sum(self._treat(alert_id, moment_ms, now_ms) for alert_id, moment_ms in self._moments_ms.items())

    def _treat(self, alert_id: str, moment_ms: int, now_ms: int) -> bool:
        if moment_ms <= now_ms:
            is_new = self._log.expire(alert_id)
        elif moment_ms - now_ms > TOLD_BEFORE_MS or self._events.find(announcement_id(alert_id, moment_ms)) is not None:
            return False
        else:
            is_new = self._announce(alert_id, moment_ms)
        if is_new:
            name = "alert_expired" if moment_ms <= now_ms else "alert_expiring"
            _LOG.info(name, subscription_id=alert_id, expires_ms=moment_ms)
        return is_new

    def _announce(self, alert_id: str, moment_ms: int) -> bool:
        try:
            return self._log.announce(alert_id, moment_ms)
        except (Conflict, IntegrityError):  # another pipeline has just told of it
            return False
