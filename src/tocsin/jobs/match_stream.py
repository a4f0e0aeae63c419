"""The pipeline: one streaming query that tells the right people of every change. Runs until stopped.

Log -> match -> resolve -> schedule -> store; ``tell`` below is those stages in order for one micro-batch.
A micro-batch may run twice, after a crash between any two steps: every row it writes has a deterministic id.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import structlog
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from tocsin.clock import Clock, SystemClock
from tocsin.flow.resolve.audience import audience_of
from tocsin.flow.resolve.directory import Directory
from tocsin.jobs.alerts import Alerts, CurrentAlerts
from tocsin.settings import Settings
from tocsin.spark import schema
from tocsin.spark.frames import batch_of
from tocsin.spark.match import matches
from tocsin.spark.resolve import recipients
from tocsin.spark.schedule import notifications
from tocsin.spark.session import open_session
from tocsin.spark.sinks import NotificationStore, write_notifications
from tocsin.spark.sources import LOG_FORMAT, LogSource
from tocsin.store.directory import SqlDirectory
from tocsin.store.engine import open_engine
from tocsin.store.log import EventLog
from tocsin.store.notifications import Notifications
from tocsin.store.schema import migrate
from tocsin.store.subscriptions import Subscriptions

QUERY_NAME = "match_stream"
"""Names the query and its checkpoint; a query whose state changes gets a new one."""

_OF_EVENT = ("event_id", "entity_id", "user_id", "timestamp_ms")

_LOG = structlog.get_logger(__name__)


class Progress(Protocol):
    """Remembers how far a query has come."""

    def advance(self, query_name: str, log_offset: int, *, now_ms: int) -> None:
        """Note that every event up to ``log_offset`` is told."""


@dataclass(frozen=True)
class Parts:
    """What the pipeline is made of; ``build`` puts it together."""

    session: SparkSession
    alerts: CurrentAlerts
    directory: Directory
    notifications: NotificationStore
    progress: Progress
    clock: Clock
    source_options: dict[str, str]
    checkpoint: str
    told_before: int = 0


def build(settings: Settings) -> Parts:
    """Wire the pipeline as ``settings`` say."""
    engine = open_engine(settings.store_url(), synchronous=settings.sqlite_synchronous)
    migrate(engine)
    notes = Notifications(engine)
    session = open_session(
        master=settings.spark_master,
        driver_memory=settings.spark_driver_memory,
        conf=settings.spark_conf,
        py_files=settings.spark_py_files,
    )
    return Parts(
        session=session,
        alerts=CurrentAlerts(Subscriptions(engine)),
        directory=SqlDirectory(engine),
        notifications=notes,
        progress=notes,
        clock=SystemClock(),
        source_options={
            "url": settings.store_url(),
            "maxEventsPerBatch": str(settings.pipeline_max_events_per_batch),
            "eventsPerPartition": str(settings.pipeline_events_per_partition),
        },
        checkpoint=str(settings.checkpoint_dir() / QUERY_NAME),
        told_before=EventLog(engine).progress(QUERY_NAME),
    )


def tell(events: DataFrame, parts: Parts) -> int:
    """Take one micro-batch of ``EVENTS`` through the stages; return how many notifications it gave."""
    alerts = parts.alerts.read()
    matched = matches(events, alerts.index, columns=_OF_EVENT).toArrow()
    return _tell(matched, alerts, parts) if matched.num_rows else 0


def warm_up(parts: Parts) -> None:
    """Take no event at all through the stages, so that the first real one need not wait for what Spark compiles."""
    alerts = parts.alerts.read()
    nothing = parts.session.createDataFrame([], schema.EVENTS)
    _tell(matches(nothing, alerts.index, columns=_OF_EVENT).toArrow(), alerts, parts)


def _tell(matched: pa.Table, alerts: Alerts, parts: Parts) -> int:
    rows = alerts.wanted_by(set(matched["subscription_id"].to_pylist()))
    audience = audience_of(set(matched["entity_id"].to_pylist()), rows, parts.directory)
    batch = batch_of(parts.session, matched, rows, audience, now_ms=parts.clock.now_ms())
    return write_notifications(parts.session.sql(notifications(recipients(batch))), parts.notifications)


@contextmanager
def streaming(parts: Parts) -> Iterator[StreamingQuery]:
    """Run the query in the background and yield it; it is stopped at the end."""
    parts.session.dataSource.register(LogSource)
    reporter = _Reporter(parts)
    parts.session.streams.addListener(reporter)
    query = _start(parts)
    try:
        yield query
    finally:
        with _unless_spark_has_ended():
            query.stop()
            parts.session.streams.removeListener(reporter)


def _start(parts: Parts) -> StreamingQuery:
    events = parts.session.readStream.format(LOG_FORMAT).options(**parts.source_options).load()

    def told(batch: DataFrame, batch_id: int) -> None:
        count = tell(batch, parts)
        _LOG.debug("batch_told", batch_id=batch_id, notifications=count)

    return (
        events.writeStream.queryName(QUERY_NAME)
        .foreachBatch(told)
        .option("checkpointLocation", parts.checkpoint)
        .start()
    )


def main(settings: Settings) -> None:
    """Run the pipeline until SIGTERM or SIGINT, or until the query fails, which raises."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopping.set())
    parts = build(settings)
    warm_up(parts)
    with streaming(parts) as query:
        _LOG.info("pipeline_started", master=settings.spark_master, checkpoint=parts.checkpoint)
        while query.isActive and not stopping.is_set():
            stopping.wait(0.5)
        if not stopping.is_set():
            query.awaitTermination()  # raises what made it stop
    with _unless_spark_has_ended():
        parts.session.stop()


@contextmanager
def _unless_spark_has_ended() -> Iterator[None]:
    """Let go of Spark; whoever stops a whole group of processes has stopped its JVM already."""
    try:
        yield
    except (Py4JError, OSError) as error:
        _LOG.info("spark_has_ended", reason=type(error).__name__)


class _Reporter(StreamingQueryListener):
    """Notes in the store how far the query has come, once Spark has committed a micro-batch."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802  # Spark's name
        self._advance(self._parts.told_before)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802  # Spark's name
        # Counted rows do not tell: what matches no alert at all, Spark may not even read.
        source = event.progress.sources[0]
        if source.endOffset != source.startOffset:
            end = int(json.loads(source.endOffset)["offset"])
            self._advance(end)
            _LOG.info("batch_committed", batch_id=event.progress.batchId, log_offset=end)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802  # Spark's name
        """Nothing new; nothing to note."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802  # Spark's name
        if event.exception:
            _LOG.error("pipeline_failed", reason=event.exception.splitlines()[0])

    def _advance(self, log_offset: int) -> None:
        self._parts.progress.advance(QUERY_NAME, log_offset, now_ms=self._parts.clock.now_ms())
