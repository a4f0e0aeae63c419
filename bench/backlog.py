"""Benchmark of processing a backlog: 100,000 events in the log, 100 alerts, 10,000 follow rows.

Wired as ``tocsin pipeline``, from the log to stored notifications, on each store. The floor is a query that reads the
same log through the same source and only counts. A random sample of the result is compared with ``flow/once``.
Next: ``bench/follows.py``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from sqlalchemy import Engine, func, select
from tests.postgres import binaries, running_cluster

from bench.estate import Size, build_estate
from bench.measured import Measurement, Report, scale_count
from bench.running import open_store, settings_in, until
from bench.traffic import append_events
from tocsin.clock import FixedClock
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.once import Dependencies, notifications_for
from tocsin.jobs.match_stream import QUERY_NAME, MatchStreamParts, build, pipeline_engine, streaming
from tocsin.jobs.resolving import Resolving
from tocsin.spark.session import register_source
from tocsin.spark.sources import LOG_FORMAT, LogSource
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import message, notification
from tocsin.store.eventlog.log import EventLog

EVENT_COUNT, FOLLOW_COUNT, SAMPLE_COUNT = 100_000, 10_000, 200
_WITHIN_S = 600.0
_AIMS = {
    "log to stored notifications": "6,000",
    "notifications stored": "33,000",
    "log to stored notifications, PostgreSQL": "8,000",
}
_LOOK_EVERY_S = 0.05


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure events a second from the log to stored notifications, and check what was stored."""
    measurements = _measure_store(scale, report, {}, "")
    programs = binaries()
    if programs is not None:
        with running_cluster(programs, durable=True) as cluster:
            cluster.run("CREATE DATABASE backlog")
            measurements += _measure_store(scale, report, {"database_url": cluster.url("backlog")}, ", PostgreSQL")
    return measurements


def _measure_store(scale: float, report: Report, options: Mapping[str, str], suffix: str) -> list[Measurement]:
    """Measure on the store that the settings ``options`` name; ``suffix`` ends the names of its rows."""
    count = scale_count(EVENT_COUNT, scale, least=500)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        settings = settings_in(Path(folder), **options)
        with open_store(settings) as (engine, _password):
            build_estate(engine, size_at(scale), follows=scale_count(FOLLOW_COUNT, scale, least=200))
            offsets = append_events(engine, count, lambda _done, _total: None)
            parts = build(settings, pipeline_engine(settings))
            try:
                # The first run also warms the JVM up.
                floor_s = min(_count_only(parts, Path(folder) / f"floor{turn}", count) for turn in range(2))
                notified_s = _notify_all(parts, engine, report)
            finally:
                parts.session.stop()
            _check_sample(engine, offsets)
            measurements = (replace(row, name=row.name + suffix) for row in _rows(engine, count, notified_s, floor_s))
            return [replace(row, aim=_AIMS.get(row.name, "")) for row in measurements]


def size_at(scale: float) -> Size:
    """Return how large the estate is."""
    full = Size()
    return Size(
        tables=scale_count(full.tables, scale, least=12),
        tested=scale_count(full.tested, scale, least=4),
        pipelines=scale_count(full.pipelines, scale, least=4),
    )


def _rows(engine: Engine, count: int, notified_s: float, floor_s: float) -> list[Measurement]:
    with reading(engine) as connection:
        notified, delivered = (
            int(connection.scalar(select(func.count()).select_from(table)) or 0) for table in (notification, message)
        )
    return [
        Measurement("backlog", "log to stored notifications", count / notified_s, "events/s", count / floor_s, count),
        Measurement("backlog", "notifications stored", notified / notified_s, "rows/s", None, notified),
        Measurement("backlog", "messages stored with them", delivered / notified_s, "rows/s", None, delivered),
    ]


def _count_only(parts: MatchStreamParts, checkpoint: Path, at_least: int) -> float:
    """Return how long a query takes that reads the whole log and does nothing with it."""
    register_source(parts.session, LogSource)
    read = [0]

    def count_batch(batch: DataFrame, _batch_id: int) -> None:
        read[0] += batch.count()

    events = parts.session.readStream.format(LOG_FORMAT).options(**parts.source_options).load()
    started_s = time.perf_counter()
    query = events.writeStream.foreachBatch(count_batch).option("checkpointLocation", str(checkpoint)).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    if read[0] < at_least:
        raise AssertionError(f"the bare read saw {read[0]} events of {at_least}")
    return time.perf_counter() - started_s


def _notify_all(parts: MatchStreamParts, engine: Engine, report: Report) -> float:
    """Return the time the pipeline takes to process the whole log."""
    log = EventLog(engine)
    end = log.readable_end()

    def has_notified_all(query: StreamingQuery) -> bool:
        if not query.isActive:
            query.awaitTermination()  # raises what ended it
        progress = log.progress(QUERY_NAME)
        report(progress, end)
        return progress == end

    started_s = time.perf_counter()
    with streaming(parts) as query:
        until(lambda: has_notified_all(query), within_s=_WITHIN_S, every_s=_LOOK_EVERY_S)
        return time.perf_counter() - started_s


def _check_sample(engine: Engine, offsets: range) -> None:
    """Check that a random sample of events has exactly the recipients of ``flow/once``."""
    alerts = Subscriptions(engine).list_enabled()
    plans = [(one, plan_of(one)) for one in alerts]
    log, lookups = EventLog(engine), Resolving(engine).lookups(may_claim=False)
    dependencies = Dependencies(log.find, alerts, lookups, FixedClock(0))
    for offset in Random(5).sample(offsets, min(SAMPLE_COUNT, len(offsets))):
        (logged,) = log.read(offset - 1, 1)
        matched = [alert for alert, plan in plans if matches(plan, logged)]
        expected = {due.id for due in notifications_for(logged, matched, dependencies)}
        with reading(engine) as connection:
            stored = set(connection.scalars(select(notification.c.id).where(notification.c.log_offset == offset)))
        if stored != expected:
            raise AssertionError(f"event {offset}: {len(stored)} notifications stored, {len(expected)} expected")
