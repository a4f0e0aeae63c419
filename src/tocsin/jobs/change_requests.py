"""Change requests job: every minute, asks the authors of requests that are due and not done what became of them.

It also reminds those that have not answered, at the intervals that requests name, and ends deprecations on their dates.
Each request has a transaction of its own: an error at one keeps no other waiting.
Next: ``catalogue/changes.py``.
"""

from __future__ import annotations

from functools import partial

from sqlalchemy import Engine

from tocsin.catalogue.changes import ask_author, complete_deprecation, remind_open
from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock
from tocsin.jobs.reminder_failures import ReminderFailure, ReminderFailures, remind_apart
from tocsin.store.catalogue.changes.requests import ChangeRequestLog
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

EVERY_S = 60.0


class ChangeRequestsJob:
    """The job over the store behind ``engine``."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._requests, self._clock = ChangeRequestLog(engine), clock
        self._writes = Writes(SqlCatalogue(engine), clock)
        self._failures = ReminderFailures()

    def look(self) -> int:
        """Ask authors, remind those that are open, end deprecations; return of how many requests."""
        now_ms = self._clock.now_ms()
        deprecation_ids = self._requests.list_due_deprecations(now_ms)
        works = [(one, partial(ask_author, request_id=one)) for one in self._requests.list_unasked(now_ms)]
        works += [(one, partial(remind_open, request_id=one)) for one in self._requests.list_to_remind(now_ms)]
        works += [(one, partial(complete_deprecation, request_id=one)) for one in deprecation_ids]
        results = [remind_apart(self._writes, request_id, work) for request_id, work in works]
        self._failures.note([one for one in results if isinstance(one, ReminderFailure)])
        return results.count(True)
