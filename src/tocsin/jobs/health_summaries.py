"""Job of health summaries: tells each person who has chosen it of their week, once for each of their times.

A time is told of when the notice of it is stored, and its thread begun; a person of whose week nothing is to be said
gets no thread. After a time without the pipeline the last time alone is told of, with all since the one before, a month
at most. Next: ``store/outbox/health_summaries.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import structlog
from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache
from tocsin.clock import Clock, SystemClock
from tocsin.flow.schedule.health_times import DAY_MS, last_due_ms
from tocsin.jobs.notices import NoticeBeginning
from tocsin.model.personal_notice import NoticeKind, notice_of
from tocsin.model.preferences import Preferences
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.outbox.health_choices import HealthChoices
from tocsin.store.outbox.health_summaries import HealthSummaries
from tocsin.store.outbox.personal_notices import PersonalNotices

SUMMARIES = "tocsin-health-summaries"
"""The thread that runs the job."""

_WEEK_MS, _LONGEST_MS, _KEPT_MS = 7 * DAY_MS, 31 * DAY_MS, 90 * DAY_MS
_EVERY_S = 30.0
_MESSAGE = "your health summary of the week is there. See it: tocsin summary"
_LOG = structlog.get_logger(__name__)


class HealthSummariesJob:
    """The job over the store behind ``engine``."""

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._choices, self._stored = HealthChoices(engine), PersonalNotices(engine)
        self._summaries = HealthSummaries(engine, PermissionCache(SqlSubjects(engine)))
        self._notices = NoticeBeginning(engine, self._clock)

    def look(self) -> int:
        """Tell everybody whose time has come; return how many get a summary."""
        now_ms = self._clock.now_ms()
        self._stored.forget(NoticeKind.HEALTH, before_ms=now_ms - _KEPT_MS, after_ms=now_ms + _WEEK_MS)
        count = 0
        for page in self._choices.pages():
            last_ms = self._stored.last_until_ms(NoticeKind.HEALTH, page)
            count += sum(self._tell(one, preferences, last_ms, now_ms) for one, preferences in page.items())
        for notice in self._stored.unbegun(NoticeKind.HEALTH):
            self._notices.begin(notice.thread_id, notice.user_id, _MESSAGE, is_resolved=True)
            self._stored.note_begun(notice)
        if count:
            _LOG.info("health_summaries", people=count)
        return count

    def _tell(self, user_id: str, preferences: Preferences, last_ms: Mapping[str, int], now_ms: int) -> bool:
        """Store what is due for a person; return whether there is something to say."""
        if last_ms.get(user_id, 0) < now_ms - _KEPT_MS:  # from now on
            self._stored.add(notice_of(NoticeKind.HEALTH, user_id, now_ms, now_ms))
            return False
        due_ms = last_due_ms(preferences, now_ms)
        if due_ms is None or due_ms <= last_ms[user_id]:
            return False
        since_ms = max(last_ms[user_id], due_ms - _LONGEST_MS)
        is_told = not self._summaries.of(user_id, since_ms, due_ms).is_empty
        self._stored.add(notice_of(NoticeKind.HEALTH, user_id, since_ms, due_ms), is_begun=not is_told)
        return is_told


def run(job: HealthSummariesJob, stopping: threading.Event) -> None:
    """Tell whose time has come until ``stopping`` is set."""
    while not stopping.wait(_EVERY_S):
        job.look()
