"""Third streaming query of the pipeline: alerts that depend on earlier reports.

Reports in the log -> streaks in Spark's state store -> match, resolve, schedule, store as ``match_stream.notify`` does.
It runs no micro-batch without reports, and the first query is stateless, so notifications that need no streaks are not
delayed. A micro-batch may be repeated: it restarts from the same streaks. Next: ``jobs/silences.py``.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc
import structlog
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from sqlalchemy import Engine

from tocsin.flow.eventlog.position import LogPosition
from tocsin.flow.eventlog.readers import STREAK_STREAM
from tocsin.flow.match.plan import at_reports
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.match_stream import MatchStreamParts, notify
from tocsin.jobs.query_progress import MonitoredQuery, ReadThrough, Stream, following_the_log
from tocsin.jobs.supervision import Supervised
from tocsin.settings import StoreSettings
from tocsin.spark.schema import EVENTS
from tocsin.spark.session import configure, interpreting_session
from tocsin.spark.sources import LOG_FORMAT
from tocsin.spark.streaks import STATE_CONF, kept_streaks
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports

QUERY_NAME = STREAK_STREAM
"""Names the query, its checkpoint and its row of progress; a query whose state changes gets a new one."""

_EVERY = "250 milliseconds"
_IDLE_CONF = {"spark.sql.streaming.noDataProgressEventInterval": "1000"}
"""Milliseconds between two reports without a micro-batch: how far the query has read in a log without reports."""

_LOG = structlog.get_logger(__name__)


def build(settings: StoreSettings, first: MatchStreamParts, engine: Engine) -> MatchStreamParts:
    """Build the query from ``settings``, next to the query of ``first``; the store is migrated already."""
    return replace(
        first,
        session=interpreting_session(first.session),
        alerts=CurrentAlerts(QUERY_NAME, Subscriptions(engine), at_reports),
        checkpoint=str(settings.checkpoint_dir() / QUERY_NAME),
        read_through=read_through_of(engine),
    )


def read_through_of(engine: Engine) -> ReadThrough:
    """Return what says how far the query has read: from what it committed up to the next report, or to the end."""
    log, reports = EventLog(engine), Reports(engine)

    def read_through(committed: LogPosition) -> LogPosition:
        end = log.readable_end()  # first: every report up to it is there
        coming = reports.first_between(committed.offset, end)
        through = end if coming is None else coming - 1
        return log.position_at(through) if through > committed.offset else committed

    return read_through


def streaming(parts: MatchStreamParts) -> AbstractContextManager[StreamingQuery]:
    """Run the query in the background and give it; it is stopped at the end."""
    reported = MonitoredQuery(QUERY_NAME, parts.checkpoint, parts.progress, parts.clock, parts.read_through)
    return following_the_log(parts.session, reported, lambda done: _stream(parts, done), interval=_EVERY)


def supervised_query(parts: MatchStreamParts) -> Supervised:
    """Return the query for supervision (``jobs/supervision.py``)."""
    return Supervised(QUERY_NAME, Path(parts.checkpoint), lambda: streaming(parts))


def _stream(parts: MatchStreamParts, done_offset: int) -> Stream:
    """Return the reports, all of them where there is no checkpoint; those after ``done_offset`` notify."""
    configure(parts.session, STATE_CONF | _IDLE_CONF)
    reports = parts.session.readStream.format(LOG_FORMAT).options(**parts.source_options, only="reports").load()

    def process(batch: DataFrame, batch_id: int) -> None:
        # Evaluated once: a second evaluation would advance the streaks a second time.
        reports = batch.toArrow().filter(pc.field("log_offset") > done_offset)
        count = notify(parts.session.createDataFrame(reports, EVENTS), parts) if reports.num_rows else 0
        _LOG.debug("batch_notified", query=QUERY_NAME, batch_id=batch_id, notifications=count)

    return kept_streaks(reports), process
