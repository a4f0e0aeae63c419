"""The third streaming query of the pipeline: alerts that ask about earlier reports. Runs beside the first one.

Reports in the log -> streaks in Spark's state store -> match, resolve, schedule, store as ``match_stream.tell`` does.
It runs no micro-batch where nothing is reported, and the first query keeps no state, so that the bell waits for none
of this. A micro-batch may run twice: it begins at the streaks it began at. Next: ``jobs/silences.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

import structlog
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tocsin.access.views import Views
from tocsin.flow.match.plan import at_reports
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.match_stream import Parts, tell
from tocsin.jobs.reporting import Reported, following_the_log, in_few_words
from tocsin.jobs.schedule import FAILURES
from tocsin.settings import Settings
from tocsin.spark.schema import EVENTS
from tocsin.spark.session import interpreting
from tocsin.spark.sources import LOG_FORMAT
from tocsin.spark.streaks import STATE_CONF, kept_streaks
from tocsin.store.access.views import SqlSubjects
from tocsin.store.alerts.subscriptions import Subscriptions
from tocsin.store.engine import PATIENT_S, open_engine
from tocsin.store.eventlog.log import EventLog

QUERY_NAME = "streak_stream"
"""Names the query, its checkpoint and its row of progress; a query whose state changes gets a new one."""

_EVERY = "250 milliseconds"
_LOOK_EVERY_S = 0.5
_AGAIN_AFTER_S = 1.0
_MOST_AFTER_S = 30.0
_ENDS_WITHIN_S = 10.0

_LOG = structlog.get_logger(__name__)


def build(settings: Settings, first: Parts) -> Parts:
    """Wire the query as ``settings`` say, beside the query that ``first`` is of; the store is migrated already."""
    engine = open_engine(settings.store_url(), synchronous=settings.sqlite_synchronous, patience_s=PATIENT_S)
    return replace(
        first,
        session=interpreting(first.session),
        alerts=CurrentAlerts(QUERY_NAME, Subscriptions(engine), at_reports),
        views=Views(SqlSubjects(engine)),
        checkpoint=str(settings.checkpoint_dir() / QUERY_NAME),
        told_before=EventLog(engine).progress(QUERY_NAME),
    )


def streaming(parts: Parts) -> AbstractContextManager[StreamingQuery]:
    """Run the query in the background and give it; it is stopped at the end."""
    reported = Reported(QUERY_NAME, parts.progress, parts.clock, parts.told_before)
    return following_the_log(parts.session, reported, lambda: _start(parts))


@contextmanager
def beside(parts: Parts, *, ends_within_s: float = _ENDS_WITHIN_S) -> Iterator[None]:
    """Run the query in a thread of its own until the block ends; a failure is logged and tried again.

    A query that has not ended within ``ends_within_s`` is left to itself: its process is about to end.
    """
    stopping = threading.Event()
    thread = threading.Thread(target=_keep_telling, args=(parts, stopping), name=QUERY_NAME, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(ends_within_s)


def _keep_telling(parts: Parts, stopping: threading.Event) -> None:
    again_after_s = _AGAIN_AFTER_S
    while not stopping.is_set():
        try:
            has_told = _tell_until(parts, stopping)
        except FAILURES as error:
            has_told = False
            _LOG.error("streaks_failed", reason=str(error).splitlines()[0])
        again_after_s = _AGAIN_AFTER_S if has_told else min(2 * again_after_s, _MOST_AFTER_S)
        stopping.wait(again_after_s)


def _tell_until(parts: Parts, stopping: threading.Event) -> bool:
    """Run the query until ``stopping`` is set or it fails; return whether it got as far as a micro-batch."""
    with streaming(parts) as query:
        while query.isActive and not stopping.wait(_LOOK_EVERY_S):
            pass
        return query.lastProgress is not None


def _start(parts: Parts) -> StreamingQuery:
    for key, value in STATE_CONF.items():
        parts.session.conf.set(key, value)
    reports = parts.session.readStream.format(LOG_FORMAT).options(**parts.source_options, only="reports").load()

    def told(batch: DataFrame, batch_id: int) -> None:
        # Asked for once: whoever looked a second time would advance the streaks a second time.
        rows = batch.toArrow()
        count = tell(parts.session.createDataFrame(rows, EVENTS), parts) if rows.num_rows else 0
        _LOG.debug("batch_told", query=QUERY_NAME, batch_id=batch_id, notifications=count)

    return (
        kept_streaks(reports)
        .writeStream.queryName(QUERY_NAME)
        .trigger(processingTime=_EVERY)
        .foreachBatch(in_few_words(told))
        .option("checkpointLocation", parts.checkpoint)
        .start()
    )
