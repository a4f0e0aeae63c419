"""Runner of requested backtests: one at a time, in a background thread of the pipeline.

A thread runs the backtest under its own Spark job group; its parent reports progress to the store and checks for
cancellation, upon which it cancels the group. Next: ``jobs/backtest.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import structlog
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from tocsin.clock import Clock
from tocsin.jobs.backtest import BacktestParts, ReportProgress, backtest
from tocsin.jobs.intervals import FAILURES
from tocsin.jobs.lake import LakeParts
from tocsin.model.backtest import JOB, Backtest
from tocsin.model.entity import Document
from tocsin.spark.session import work_in_background
from tocsin.store.catalogue.alerts.backtests import Backtests
from tocsin.store.eventlog.job_runs import ScheduledJobs

KEPT_MS = 30 * 86_400_000
"""How long what came of a backtest can be read."""

_LOOK_EVERY_S = 0.3
_TELL_EVERY_S = 1.0
_LOST_AFTER_MS = 60_000
_AGAIN_AFTER_S = 5.0
_SEEN_EVERY_MS = 3_000
_LOG = structlog.get_logger(__name__)

Compute = Callable[[Backtest, ReportProgress], Document]
"""Runs one backtest (``jobs/backtest.backtest``)."""


class _NotWantedError(Exception):
    """Nobody wants this backtest any more."""


@dataclass
class _Progress:
    """How far a backtest is, and whether it is still wanted; shared by the two threads."""

    done_count: int = 0
    total: int = 0
    result: Document | None = None
    reason: str | None = None
    unwanted: threading.Event = field(default_factory=threading.Event)

    def report(self, done_count: int, total: int) -> None:
        if self.unwanted.is_set():
            raise _NotWantedError
        self.done_count, self.total = done_count, total


def runner(history: LakeParts, engine: Engine) -> Runner:
    """Wire a runner over the history and the store behind ``engine``."""
    parts = BacktestParts(history, engine)

    def compute(request: Backtest, report: ReportProgress) -> Document:
        return backtest(request, parts, report)

    return Runner(history.session, Backtests(engine), ScheduledJobs(engine), compute, history.clock)


@dataclass(frozen=True)
class Runner:
    """Runs requested backtests; one per pipeline."""

    session: SparkSession
    backtests: Backtests
    presence: ScheduledJobs
    compute: Compute
    clock: Clock
    name: str = field(default_factory=lambda: str(uuid4()))

    def run(self, stopping: threading.Event) -> None:
        """Run requested backtests until ``stopping`` is set; a running one is then released."""
        seen_ms = 0
        while not stopping.wait(_LOOK_EVERY_S):
            try:
                now_ms = self.clock.now_ms()
                if abs(now_ms - seen_ms) >= _SEEN_EVERY_MS:  # clocks are set back, too
                    seen_ms = now_ms
                    self.presence.record_heartbeat(JOB, now_ms=now_ms)
                    self.backtests.forget(before_ms=now_ms - KEPT_MS)
                backtest = self.backtests.claim(self.name, now_ms=now_ms, lost_after_ms=_LOST_AFTER_MS)
                if backtest is not None:
                    self._run(backtest, stopping)
            except FAILURES as error:
                _LOG.error("backtests_failed", reason=str(error).splitlines()[0])
                stopping.wait(_AGAIN_AFTER_S)

    def _run(self, backtest: Backtest, stopping: threading.Event) -> None:
        progress, group = _Progress(), f"tocsin-backtest-{backtest.id}"
        work = threading.Thread(target=self._work, args=(backtest, progress, group), name=group, daemon=True)
        work.start()
        is_wanted = True
        while work.is_alive():
            work.join(_TELL_EVERY_S)
            is_wanted = is_wanted and self._is_wanted(backtest, progress) and not stopping.is_set()
            if not is_wanted and work.is_alive():
                progress.unwanted.set()
                self.session.sparkContext.cancelJobGroup(group)
        self._settle(backtest, progress, stopping)

    def _work(self, backtest: Backtest, progress: _Progress, group: str) -> None:
        try:
            work_in_background(self.session, group)
            progress.result = self.compute(backtest, progress.report)
        except _NotWantedError:
            return
        except FAILURES as error:
            progress.reason = str(error).strip().splitlines()[0]

    def _is_wanted(self, backtest: Backtest, progress: _Progress) -> bool:
        now_ms = self.clock.now_ms()
        try:
            self.presence.record_heartbeat(JOB, now_ms=now_ms)
            return self.backtests.note_progress(backtest, self.name, progress.done_count, progress.total, now_ms=now_ms)
        except FAILURES as error:  # who wants it cannot be asked now; the next look does
            _LOG.warning("backtests_wait", reason=str(error).splitlines()[0])
            return True

    def _settle(self, backtest: Backtest, progress: _Progress, stopping: threading.Event) -> None:
        now_ms = self.clock.now_ms()
        if progress.result is not None:
            self.backtests.finish(backtest, self.name, progress.result, now_ms=now_ms)
        elif stopping.is_set():
            self.backtests.release(backtest, self.name)
        elif progress.unwanted.is_set():
            _LOG.info("backtest_cancelled", backtest_id=backtest.id)
        else:
            self.backtests.fail(backtest, progress.reason or "The backtest ended without a result.", now_ms=now_ms)
        _LOG.info("backtest_ended", backtest_id=backtest.id, has_result=progress.result is not None)
