"""Reports of failing destinations: each is recorded on its alert once, however many workers there are.

Next: ``alerts/events.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from tocsin.alerts.events import FailureLog
from tocsin.clock import Clock
from tocsin.errors import Conflict, NotFound
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.status import DestinationStatuses

_log = structlog.get_logger("tocsin.worker")


@dataclass(frozen=True)
class FailureReports:
    """Reports what ``failures`` finds to ``log``."""

    failures: DestinationStatuses
    log: FailureLog

    def report(self) -> int:
        """Report what is not reported yet; return how many events that made."""
        count = 0
        for failure in self.failures.unreported_failures():
            try:
                is_new = self.log.add(failure)
            except (Conflict, IntegrityError):  # another worker is reporting it: the next look finds out
                continue
            except NotFound:  # the alert or its destination is gone
                is_new = False
            if is_new:
                _log.warning("worker.destination_failing", **failure.to_wire({}), subscription=failure.subscription_id)
            self.failures.mark_reported(failure)
            count += is_new
        return count


def failure_reports(engine: Engine, clock: Clock) -> FailureReports:
    """Return the reports of one store."""
    events = EventLog(engine)
    log = FailureLog(SqlCatalogue(engine), clock, lambda event_id: events.find(event_id) is not None)
    return FailureReports(DestinationStatuses(engine), log)
