"""Runner of requested jobs of one kind: one at a time, in a background thread of the pipeline.

A thread runs the job under its own Spark job group; its parent reports progress to the store and checks for
cancellation, upon which it cancels the group. Next: ``jobs/backtest.py``, ``store/eventlog/requested_jobs.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from uuid import uuid4

import structlog
from pyspark.sql import SparkSession

from tocsin.clock import Clock
from tocsin.jobs.intervals import FAILURES
from tocsin.model.entity import Document
from tocsin.model.requested_job import RequestedJob
from tocsin.spark.session import work_in_background
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.eventlog.requested_jobs import RequestedJobs

_DAY_MS = 86_400_000

_LOOK_EVERY_S = 0.3
_TELL_EVERY_S = 1.0
_LOST_AFTER_MS = 60_000
_AGAIN_AFTER_S = 5.0
_SEEN_EVERY_MS = 6_000
_LOG = structlog.get_logger(__name__)

ReportProgress = Callable[[int, int], None]
"""Called with how much is done and how much there is to do."""

Job = TypeVar("Job", bound=RequestedJob)


class _NotWantedError(Exception):
    """Nobody wants this job any more."""


@dataclass
class _Progress:
    """How far a job is, and whether it is still wanted; shared by the two threads."""

    done_count: int = 0
    total: int = 0
    result: Document | None = None
    reason: str | None = None
    unwanted: threading.Event = field(default_factory=threading.Event)

    def report(self, done_count: int, total: int) -> None:
        if self.unwanted.is_set():
            raise _NotWantedError
        self.done_count, self.total = done_count, total


@dataclass(frozen=True)
class Runner(Generic[Job]):
    """Runs the requested jobs of one kind; one per pipeline.

    Attributes
    ----------
    title : what the log and Spark call one job
    compute : runs a job and returns its result
    kept_days : for how long a result can be read; None: for good
    """

    title: str
    session: SparkSession
    requests: RequestedJobs[Job]
    presence: ScheduledJobs
    compute: Callable[[Job, ReportProgress], Document]
    clock: Clock
    kept_days: int | None = None
    name: str = field(default_factory=lambda: str(uuid4()))

    def run(self, stopping: threading.Event) -> None:
        """Run requested jobs until ``stopping`` is set; a running one is then released."""
        seen_ms = 0
        while not stopping.wait(_LOOK_EVERY_S):
            try:
                now_ms = self.clock.now_ms()
                if abs(now_ms - seen_ms) >= _SEEN_EVERY_MS:  # clocks are set back, too
                    seen_ms = now_ms
                    self._show_presence(now_ms)
                job = self.requests.claim(self.name, now_ms=now_ms, lost_after_ms=_LOST_AFTER_MS)
                if job is not None:
                    self._run(job, stopping)
            except FAILURES as error:
                _LOG.error(f"{self.title}s_failed", reason=str(error).splitlines()[0])
                stopping.wait(_AGAIN_AFTER_S)

    def _show_presence(self, now_ms: int) -> None:
        """Record the heartbeat, and forget old results."""
        self.presence.record_heartbeat(self.requests.kind, now_ms=now_ms)
        if self.kept_days is not None:
            self.requests.forget(before_ms=now_ms - self.kept_days * _DAY_MS)

    def _run(self, job: Job, stopping: threading.Event) -> None:
        progress, group = _Progress(), f"tocsin-{self.title}-{job.id}"
        work = threading.Thread(target=self._work, args=(job, progress, group), name=group, daemon=True)
        work.start()
        is_wanted = True
        while work.is_alive():
            work.join(_TELL_EVERY_S)
            is_wanted = is_wanted and self._is_wanted(job, progress) and not stopping.is_set()
            if not is_wanted and work.is_alive():
                progress.unwanted.set()
                self.session.sparkContext.cancelJobGroup(group)
        self._settle(job, progress, stopping)

    def _work(self, job: Job, progress: _Progress, group: str) -> None:
        try:
            work_in_background(self.session, group)
            progress.result = self.compute(job, progress.report)
        except _NotWantedError:
            return
        except FAILURES as error:
            progress.reason = str(error).strip().splitlines()[0]

    def _is_wanted(self, job: Job, progress: _Progress) -> bool:
        now_ms = self.clock.now_ms()
        try:
            self.presence.record_heartbeat(self.requests.kind, now_ms=now_ms)
            return self.requests.note_progress(job, self.name, progress.done_count, progress.total, now_ms=now_ms)
        except FAILURES as error:  # who wants it cannot be asked now; the next look does
            _LOG.warning(f"{self.title}s_wait", reason=str(error).splitlines()[0])
            return True

    def _settle(self, job: Job, progress: _Progress, stopping: threading.Event) -> None:
        now_ms = self.clock.now_ms()
        if progress.result is not None:
            self.requests.finish(job, self.name, progress.result, now_ms=now_ms)
        elif stopping.is_set():
            self.requests.release(job, self.name)
        elif progress.unwanted.is_set():
            self._log("cancelled", job)
        else:
            self.requests.fail(job, progress.reason or f"The {self.title} ended without a result.", now_ms=now_ms)
        self._log("ended", job, has_result=progress.result is not None)

    def _log(self, event: str, job: Job, **facts: object) -> None:
        _LOG.info(f"{self.title}_{event}", **{f"{self.title}_id": job.id}, **facts)
