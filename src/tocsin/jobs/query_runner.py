"""Runner of the queries that people ask by the API: one at a time, in a thread of the pipeline.

It hands each query to a process of its own (``jobs/query_process.py``) and watches whether its asker still waits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from uuid import uuid4

import structlog
from sqlalchemy import Engine

from tocsin.clock import Clock, SystemClock
from tocsin.errors import TocsinError
from tocsin.flow.eventlog.lake_query import QUERY_JOB, LakeQuery
from tocsin.jobs.intervals import FAILURES
from tocsin.jobs.query_process import QueryCancelled, QueryProcess, query_process
from tocsin.settings import Settings
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.eventlog.lake_queries import RequestedQueries
from tocsin.store.upkeep.stored_settings import with_lake_key

_DAY_MS = 86_400_000
_LOOK_EVERY_S = 0.3
_AGAIN_AFTER_S = 5.0
_SEEN_EVERY_MS = 6_000
_ASK_EVERY_S = 1.0
_LOG = structlog.get_logger(__name__)


def runner(settings: Settings, engine: Engine) -> QueryRunner:
    """Wire a runner over the lake of ``settings`` and the store behind ``engine``."""
    times = KeepingTimes(settings.lake_answer_minutes * 60_000, settings.lake_query_days * _DAY_MS)
    process = query_process(with_lake_key(engine, settings))
    idle_s = settings.lake_query_idle_s
    return QueryRunner(RequestedQueries(engine), ScheduledJobs(engine), process, SystemClock(), times, idle_s)


@dataclass(frozen=True)
class KeepingTimes:
    """How long after the end of a query its answer is kept, and the query itself (milliseconds)."""

    answer_ms: int
    query_ms: int


@dataclass(frozen=True)
class QueryRunner:
    """Runs the queries of people; one per pipeline."""

    queries: RequestedQueries
    presence: ScheduledJobs
    process: QueryProcess
    clock: Clock
    times: KeepingTimes
    idle_s: float
    name: str = field(default_factory=lambda: str(uuid4()))

    def run(self, stopping: threading.Event) -> None:
        """Run queries until ``stopping`` is set; a running one is then given back."""
        seen_ms = 0
        with closing(self.process):
            while not stopping.wait(_LOOK_EVERY_S):
                try:
                    seen_ms = self._note_presence(seen_ms)
                    self._run_next(stopping)
                except FAILURES as error:
                    _LOG.error("lake_queries_failed", reason=str(error).splitlines()[0])
                    stopping.wait(_AGAIN_AFTER_S)

    def _run_next(self, stopping: threading.Event) -> None:
        query = self.queries.claim(self.name, now_ms=self.clock.now_ms())
        if query is None:
            self.process.close_if_idle(self.idle_s)
        else:
            self._run(query, stopping)

    def _note_presence(self, seen_ms: int) -> int:
        now_ms = self.clock.now_ms()
        if abs(now_ms - seen_ms) < _SEEN_EVERY_MS:  # clocks are set back, too
            return seen_ms
        self.presence.record_heartbeat(QUERY_JOB, now_ms=now_ms)
        self.queries.forget(answers_before_ms=now_ms - self.times.answer_ms, before_ms=now_ms - self.times.query_ms)
        return now_ms

    def _run(self, query: LakeQuery, stopping: threading.Event) -> None:
        cut = {"through": query.cut.through, "untilMs": query.cut.until_ms, "sinceMs": query.cut.since_ms}
        question = {"sql": query.statement, "viewer": query.requested_by, **cut}
        try:
            reply = self.process.answer(question, self._wish(query, stopping))
        except QueryCancelled:
            if stopping.is_set():
                self.queries.release(query, self.name)
            else:
                self.queries.cancel(query.id, now_ms=self.clock.now_ms())
            _LOG.info("lake_query_cancelled", query_id=query.id)
            return
        except TocsinError as error:
            reply = {"reason": error.message, "code": error.code}
        now_ms = self.clock.now_ms()
        if "rows" in reply:
            self.queries.finish(query, self.name, reply, now_ms=now_ms)
        else:
            self.queries.fail(query, reply["reason"], reply["code"], now_ms=now_ms)
        _LOG.info("lake_query_ended", query_id=query.id, has_answer="rows" in reply)

    def _wish(self, query: LakeQuery, stopping: threading.Event) -> Callable[[], bool]:
        """Return a check of whether the query is still wanted; it queries the store once a second."""
        asked_at_s, is_wanted = 0.0, True

        def ask() -> bool:
            nonlocal asked_at_s, is_wanted
            if time.monotonic() - asked_at_s >= _ASK_EVERY_S:
                asked_at_s = time.monotonic()
                try:
                    is_wanted = self.queries.is_wanted(query, self.name, now_ms=self.clock.now_ms())
                    self.presence.record_heartbeat(QUERY_JOB, now_ms=self.clock.now_ms())
                except FAILURES as error:  # the next look asks again
                    _LOG.warning("lake_query_waits", reason=str(error).splitlines()[0])
            return is_wanted and not stopping.is_set()

        return ask
