"""Log of what the jobs of the pipeline find out about alerts. Next: ``alerts/events.py``."""

from __future__ import annotations

from sqlalchemy import Engine

from tocsin.alerts.events import FindingLog
from tocsin.clock import Clock, SystemClock
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog


def finding_log(engine: Engine, clock: Clock | None = None) -> FindingLog:
    """Return what writes findings about alerts into the store behind ``engine``."""
    log = EventLog(engine)
    return FindingLog(SqlCatalogue(engine), clock or SystemClock(), lambda event_id: log.find(event_id) is not None)
