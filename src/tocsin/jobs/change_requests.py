"""Change requests job: every minute, asks the authors of requests that are due and not done what became of them.

It also reminds those that have not answered, at the intervals that requests name.
Next: ``catalogue/changes.py``.
"""

from __future__ import annotations

from functools import partial

from sqlalchemy import Engine

from tocsin.catalogue.changes import ask_author, remind_open
from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.changes.requests import ChangeRequestLog
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

EVERY_S = 60.0


class ChangeRequestsJob:
    """The job over the store behind ``engine``."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._requests, self._clock = ChangeRequestLog(engine), clock
        self._writes = Writes(SqlCatalogue(engine), clock)

    def look(self) -> int:
        """Ask the authors who have not been asked, and remind those that are open; return of how many requests."""
        now_ms = self._clock.now_ms()
        works = [partial(ask_author, request_id=one) for one in self._requests.list_unasked(now_ms)]
        works += [partial(remind_open, request_id=one) for one in self._requests.list_to_remind(now_ms)]
        return sum(self._writes.within(work, actor=SYSTEM) for work in works)
