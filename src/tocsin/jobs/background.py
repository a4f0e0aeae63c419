"""Background jobs of the pipeline: lake and its queries, backtests, checks, reminders, retention, recommendations, ….

They have lower priority than the streaming queries, by Spark's fair scheduler (``spark/pools.xml``).
Next: ``jobs/intervals.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from sqlalchemy import Engine

from tocsin.clock import SystemClock
from tocsin.jobs import (
    announcements,
    audit,
    backtest,
    change_requests,
    digests,
    editors,
    erasure,
    expiry,
    health_summaries,
    idle_follows,
    lake,
    lake_queries,
    lost_names,
    memory,
    mutes,
    query_runner,
    recommendations,
    reminders,
    retention,
    scheduled_checks,
    silences,
)
from tocsin.jobs.intervals import Job, keep_running, run_when_due
from tocsin.jobs.query_progress import unless_spark_has_ended
from tocsin.settings import Settings
from tocsin.spark.session import work_in_background
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.eventlog.log import EventLog

SCHEDULED = "tocsin-scheduled"
"""What Spark calls the scheduled jobs."""

BACKTESTS = "tocsin-backtests"
"""The thread that runs requested backtests."""

QUERIES = "tocsin-queries"
"""The thread that runs query_runner."""

ERASURES = "tocsin-erasures"
"""The thread that runs requested erasures."""

MEMORY = "tocsin-memory"
"""The thread that returns memory to the system."""

_ENDS_WITHIN_S = 10.0


@contextmanager
def running(settings: Settings, session: SparkSession, engine: Engine) -> Iterator[None]:
    """Run the background jobs until the block ends; running ones are then aborted."""
    stopping = threading.Event()
    grown_lake = lake.build(settings, session, engine)
    retention_parts = retention.build(settings, grown_lake, engine)
    silence_parts, audit_parts = silences.build(settings, session, engine), audit.build(settings, grown_lake, engine)
    reminder_parts = reminders.build(settings, session, engine)
    recommending = recommendations.build(settings, session, engine)
    jobs = [
        Job("lake", settings.lake_every_s, lambda: lake.grow(grown_lake)),
        Job("silences", settings.silence_every_s, lambda: silences.look(silence_parts)),
        Job("audit", settings.audit_every_s, lambda: audit.audit(audit_parts)),
        Job("editors", editors.EVERY_S, editors.EditorsJob(engine).look),
        Job("expiry", expiry.EVERY_S, expiry.ExpiryJob(engine).look),
        Job("announcements", announcements.EVERY_S, announcements.AnnouncementsJob(engine).look),
        Job("mutes", mutes.EVERY_S, mutes.MutesJob(engine).look),
        Job("idle follows", idle_follows.EVERY_S, idle_follows.IdleFollowsJob(engine, settings.follow_idle_days).look),
        Job("change requests", change_requests.EVERY_S, change_requests.ChangeRequestsJob(engine, SystemClock()).look),
        Job(reminders.JOB, reminders.EVERY_S, lambda: reminders.look(reminder_parts)),
        Job("retention", settings.retention_every_s, lambda: retention.apply(retention_parts, stopping.is_set)),
        Job("recommendations", settings.recommendations_every_s, lambda: recommendations.recommend(recommending)),
        Job("lost names", settings.audit_every_s, lambda: lost_names.report_lost_names(engine)),
    ]

    def run_scheduled() -> None:
        work_in_background(session, SCHEDULED)
        run_when_due(jobs, ScheduledJobs(engine), SystemClock(), stopping)

    kept_for_backtests = lake.build(settings, session, engine)
    runner = backtest.runner(kept_for_backtests, engine)
    erasures = erasure.runner(settings, lake.build(settings, session, engine), engine)
    memory_return = memory.MemoryReturn(memory.SparkHeap(session), EventLog(engine))
    query_lake = lake.build(settings, session, engine)
    queries = query_runner.runner(settings, engine)
    checks = scheduled_checks.build(settings, session, engine)
    composing = digests.build(settings, session, engine)
    work = {
        SCHEDULED: run_scheduled,
        BACKTESTS: lambda: runner.run(stopping),
        QUERIES: lambda: queries.run(stopping),
        ERASURES: lambda: erasures.run(stopping),
        scheduled_checks.CHECKS: lambda: scheduled_checks.run(checks, stopping),
        digests.DIGESTS: lambda: digests.run(composing, stopping),
        health_summaries.SUMMARIES: lambda: health_summaries.run(health_summaries.HealthSummariesJob(engine), stopping),
        MEMORY: lambda: memory.run(memory_return, stopping),
        lake_queries.JOBS: lambda: lake_queries.serve(query_lake, settings.lake_socket(), stopping),
    }
    with _threads(session, stopping, work):
        yield


@contextmanager
def _threads(session: SparkSession, stopping: threading.Event, work: dict[str, Callable[[], None]]) -> Iterator[None]:
    """Run each of ``work`` in a thread of its own, named as its jobs are, until the block ends."""
    threads = [
        threading.Thread(target=keep_running, args=(do, name, stopping), name=name, daemon=True)
        for name, do in work.items()
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        with unless_spark_has_ended():
            for name in work:
                session.sparkContext.cancelJobGroup(name)
        for thread in threads:
            thread.join(_ENDS_WITHIN_S)
