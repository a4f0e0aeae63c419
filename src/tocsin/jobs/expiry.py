"""Expiry job: every minute, tells the owners of alerts that expire within a week, and disables those that have expired.

Next: ``alerts/expiry.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from tocsin.alerts.expiry import TOLD_BEFORE_MS, ExpiryLog, announcement_id
from tocsin.clock import Clock, SystemClock
from tocsin.errors import Conflict
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.reports import Reports

EVERY_S = 60.0
_LOG = structlog.get_logger(__name__)


class ExpiryJob:
    """The job over the store behind ``engine``; it reads alerts anew only when one was written since its last look."""

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        self._alerts, self._reports = Subscriptions(engine), Reports(engine)
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
        expired = [one for one, moment_ms in self._moments_ms.items() if moment_ms <= now_ms]
        expiring = [one for one, moment_ms in self._moments_ms.items() if 0 < moment_ms - now_ms <= TOLD_BEFORE_MS]
        return sum(map(self._expire, expired)) + sum(map(self._announce, self._untold(expiring)))

    def _untold(self, alert_ids: Sequence[str]) -> list[str]:
        """Return those of these alerts whose moment the owners have not been told of."""
        event_ids = {alert_id: announcement_id(alert_id, self._moments_ms[alert_id]) for alert_id in alert_ids}
        told_ids = self._reports.logged_ids(list(event_ids.values())) if event_ids else ()
        return [alert_id for alert_id, event_id in event_ids.items() if event_id not in told_ids]

    def _expire(self, alert_id: str) -> bool:
        is_new = self._log.expire(alert_id)
        if is_new:
            _LOG.info("alert_expired", subscription_id=alert_id, expires_ms=self._moments_ms[alert_id])
        return is_new

    def _announce(self, alert_id: str) -> bool:
        moment_ms = self._moments_ms[alert_id]
        try:
            is_new = self._log.announce(alert_id, moment_ms)
        except (Conflict, IntegrityError):  # another pipeline has just told of it
            return False
        if is_new:
            _LOG.info("alert_expiring", subscription_id=alert_id, expires_ms=moment_ms)
        return is_new
