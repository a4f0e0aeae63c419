"""The pipeline: a streaming query that tells the right people of every change. Runs until stopped.

Log -> match -> resolve -> schedule -> store; ``tell`` below is those stages in order for one micro-batch.
A micro-batch may run twice, after a crash between any two steps: every row it writes has a deterministic id.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

import pyarrow as pa
import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tocsin.access.views import Views
from tocsin.clock import Clock, SystemClock
from tocsin.flow.resolve.audience import audience_of
from tocsin.flow.resolve.directory import Directory
from tocsin.flow.resolve.visibility import Events, only_visible
from tocsin.jobs.alerts import Alerts, CurrentAlerts
from tocsin.jobs.reporting import Progress, Reported, following_the_log, in_few_words, log_options
from tocsin.settings import Settings
from tocsin.spark import schema
from tocsin.spark.frames import batch_of, each_once, not_before
from tocsin.spark.match import matches
from tocsin.spark.resolve import recipients
from tocsin.spark.schedule import notifications
from tocsin.spark.session import session_of
from tocsin.spark.sinks import NotificationStore, Sink
from tocsin.spark.sources import LOG_FORMAT
from tocsin.store.access.views import SqlSubjects
from tocsin.store.alerts.directory import SqlDirectory
from tocsin.store.alerts.subscriptions import Subscriptions
from tocsin.store.alerts.told import SqlEvents
from tocsin.store.engine import PATIENT_S, open_engine
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.schema import migrate

QUERY_NAME = "match_stream"
"""Names the query and its checkpoint; a query whose state changes gets a new one."""

_OF_EVENT = ("event_id", "entity_id", "user_id", "timestamp_ms")

_LOG = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Parts:
    """What the pipeline is made of; ``build`` puts it together."""

    session: SparkSession
    alerts: CurrentAlerts
    directory: Directory
    views: Views
    events: Events
    notifications: NotificationStore
    progress: Progress
    clock: Clock
    source_options: dict[str, str]
    checkpoint: str
    told_before: int = 0
    max_event_age_ms: int | None = None


def build(settings: Settings) -> Parts:
    """Wire the pipeline as ``settings`` say."""
    engine = open_engine(settings.store_url(), synchronous=settings.sqlite_synchronous, patience_s=PATIENT_S)
    migrate(engine)
    notes = Notifications(engine)
    session = session_of(settings)
    return Parts(
        session=session,
        alerts=CurrentAlerts(QUERY_NAME, Subscriptions(engine)),
        directory=SqlDirectory(engine),
        views=Views(SqlSubjects(engine)),
        events=SqlEvents(engine),
        notifications=notes,
        progress=notes,
        clock=SystemClock(),
        source_options=log_options(settings),
        checkpoint=str(settings.checkpoint_dir() / QUERY_NAME),
        told_before=EventLog(engine).progress(QUERY_NAME),
        max_event_age_ms=settings.max_event_age_ms(),
    )


def tell(events: DataFrame, parts: Parts) -> int:
    """Take one micro-batch of ``EVENTS`` through the stages; return how many notifications it gave."""
    alerts = parts.alerts.read()
    matched = each_once(matches(events, alerts.index, columns=_OF_EVENT).toArrow())
    return _tell(matched, alerts, parts) if matched.num_rows else 0


def warm_up(parts: Parts) -> None:
    """Take no event at all through the stages, so that the first real one need not wait for what Spark compiles."""
    alerts = parts.alerts.read()
    nothing = parts.session.createDataFrame([], schema.EVENTS)
    _tell(matches(nothing, alerts.index, columns=_OF_EVENT).toArrow(), alerts, parts)


def _tell(matched: pa.Table, alerts: Alerts, parts: Parts) -> int:
    # What is too old for anybody to be told has come to its end all the same.
    pairs = zip(matched["log_offset"].to_pylist(), matched["subscription_id"].to_pylist(), strict=True)
    if parts.max_event_age_ms is not None:
        matched = not_before(matched, parts.clock.now_ms() - parts.max_event_age_ms)
    rows = alerts.wanted_by(set(matched["subscription_id"].to_pylist()))
    audience = audience_of(set(matched["entity_id"].to_pylist()), rows, parts.directory)
    now_ms, policies = parts.clock.now_ms(), parts.views.now()
    batch = batch_of(parts.session, matched, rows, audience, now_ms=now_ms)
    frame = parts.session.sql(notifications(recipients(batch)))
    sink = Sink(parts.notifications, lambda told: only_visible(told, policies, parts.events))
    return sink.write(frame, pairs, now_ms=now_ms)


def streaming(parts: Parts) -> AbstractContextManager[StreamingQuery]:
    """Run the query in the background and give it; it is stopped at the end."""
    reported = Reported(QUERY_NAME, parts.progress, parts.clock, parts.told_before)
    return following_the_log(parts.session, reported, lambda: _start(parts))


def _start(parts: Parts) -> StreamingQuery:
    events = parts.session.readStream.format(LOG_FORMAT).options(**parts.source_options).load()

    def told(batch: DataFrame, batch_id: int) -> None:
        count = tell(batch, parts)
        _LOG.debug("batch_told", batch_id=batch_id, notifications=count)

    return (
        events.writeStream.queryName(QUERY_NAME)
        .foreachBatch(in_few_words(told))
        .option("checkpointLocation", parts.checkpoint)
        .start()
    )
