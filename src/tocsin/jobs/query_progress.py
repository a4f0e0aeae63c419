"""Streaming queries over the log: started where checkpoint and store say, with their progress stored.

Their progress is stored after each micro-batch that Spark has committed. Next: ``store/outbox/notifications.py``, which
stores them.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import structlog
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import (
    JStreamingQueryListener,
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from tocsin.clock import Clock
from tocsin.errors import LogDiverged
from tocsin.flow.eventlog.position import LogPosition
from tocsin.jobs.checkpoint import read_committed_position, set_aside, set_aside_if_damaged
from tocsin.jobs.intervals import FAILURES
from tocsin.settings import Settings
from tocsin.spark.session import register_source
from tocsin.spark.sources import LogSource
from tocsin.store.upkeep.high_water_marks import planned_position

_IDLE = frozenset({"Waiting for data to arrive", "Waiting for next trigger"})
"""What Spark says, for a moment each time, of a query that has done all there is to do."""

_READS = _IDLE | {"Processing new data"}
"""What Spark says of a query whose source has answered."""

_CAME_LATE = "Python worker failed to connect back"
_STARTS_AGAIN = 5
_FEW_SIGNS, _OF_A_CAUSE, _CAUSES = 1_000, 200, 5
_CAUSE = re.compile(r"Caused by: |([a-z_]\w*\.)+[A-Z]\w*: ")
"""A cause in Java's words, or the last line of a traceback of Python's: a task's error comes with it."""

_LOOK_EVERY_S = 0.02
_WAIT_MS = 250
"""How long planning waits for events: an idle query asks four times a second, and sees an event within 10 ms."""
_LOG = structlog.get_logger(__name__)


BatchFunction = Callable[[DataFrame, int], None]
"""What a query does with a micro-batch and its number."""

Stream = tuple[DataFrame, BatchFunction]
"""A streaming frame over the log, and what is done with its micro-batches."""


class BatchError(RuntimeError):
    """Spark could not work on a micro-batch."""


class Progress(Protocol):
    """Remembers how far a query has come."""

    def processed_offset(self, query_name: str) -> int:
        """Return the offset up to which the query is done with every event; 0 for one that never ran."""

    def holds(self, position: LogPosition) -> bool:
        """Return whether the log is the one that was read up to ``position``."""

    def advance(self, query_name: str, log_offset: int, *, now_ms: int, event_id: str | None = None) -> None:
        """Note that the query is done with every event up to ``log_offset``; ``event_id`` is of the last of them."""


ReadThrough = Callable[[LogPosition], LogPosition]
"""Returns how far a query has read that has committed everything up to a position."""


def as_committed(committed: LogPosition) -> LogPosition:
    """Return how far a query has read that reads every event."""
    return committed


@dataclass(frozen=True)
class MonitoredQuery:
    """A query, its checkpoint, and who remembers how far it is.

    A query that passes over events has read more than it committed: up to the next event that concerns it.
    """

    query_name: str
    checkpoint: str
    progress: Progress
    clock: Clock
    read_through: ReadThrough = as_committed

    def advance(self, position: LogPosition) -> None:
        """Note how far the query has come; what it read of another log counts for nothing."""
        now_ms = self.clock.now_ms()
        try:
            self.progress.advance(self.query_name, position.offset, now_ms=now_ms, event_id=position.event_id)
        except LogDiverged as error:
            _LOG.warning("progress_not_kept", query=self.query_name, reason=error.message)


def log_options(settings: Settings) -> dict[str, str]:
    """Return how a query reads the log (``spark/sources.LogSource``) as ``settings`` say."""
    return {
        "url": settings.store_url(),
        "maxEventsPerBatch": str(settings.pipeline_max_events_per_batch),
        "maxBytesPerBatch": str(settings.pipeline_max_bytes_per_batch),
        "eventsPerPartition": str(settings.pipeline_events_per_partition),
        "waitMs": str(_WAIT_MS),
    }


@contextmanager
def following_the_log(
    session: SparkSession,
    monitored_query: MonitoredQuery,
    stream: Callable[[int], Stream],
    *,
    interval: str | None = None,
) -> Iterator[StreamingQuery]:
    """Run a query in the background, reported, and yield it; it is stopped at the end.

    A checkpoint that is damaged, or of another log, is set aside. ``stream`` is given the offset that a query without a
    checkpoint begins after; ``interval`` is the interval between micro-batches, None for none.
    """
    register_source(session, LogSource)
    set_aside_if_damaged(Path(monitored_query.checkpoint), monitored_query.clock)
    _set_aside_if_of_another_log(monitored_query)
    position = _resume_position(monitored_query)
    with reporting(session, monitored_query, position) as reporter:
        query = start_query(lambda: _start(stream(position.offset), monitored_query, interval))
        if has_looked_at_log(query):
            reporter.report()  # Spark's first event of an idle query comes ten seconds later
        try:
            yield query
        finally:
            with unless_spark_has_ended():
                query.stop()


def _start(stream: Stream, reported: MonitoredQuery, interval: str | None) -> StreamingQuery:
    frame, work = stream
    writer = frame.writeStream.queryName(reported.query_name).foreachBatch(with_short_errors(work))
    if interval is not None:
        writer = writer.trigger(processingTime=interval)
    return writer.option("checkpointLocation", reported.checkpoint).start()


def _set_aside_if_of_another_log(reported: MonitoredQuery) -> None:
    """Set a checkpoint aside that has read what the log does not hold: the store was restored, replaced or damaged."""
    read = planned_position(Path(reported.checkpoint))
    if read is not None and not reported.progress.holds(read):
        reason = f"log_diverged: the query has read up to {read}, which the log does not contain"
        set_aside(Path(reported.checkpoint), reason, reported.clock)


def _resume_position(reported: MonitoredQuery) -> LogPosition:
    """Return the later of the offsets that store and checkpoint record: a report may have come too late."""
    recorded = LogPosition(reported.progress.processed_offset(reported.query_name))
    checkpointed = read_committed_position(Path(reported.checkpoint))
    return checkpointed if checkpointed is not None and checkpointed.offset > recorded.offset else recorded


def start_query(start: Callable[[], StreamingQuery]) -> StreamingQuery:
    """Return the query that ``start`` starts as soon as it reads, or has failed.

    Spark gives the Python that reads for a query ten seconds to come up, and no setting of Spark's changes that. On a
    machine that is busy otherwise it may take longer; then the query is started again, a few times.
    """
    query = start()
    for _ in range(_STARTS_AGAIN):
        while query.isActive and query.lastProgress is None and query.status["message"] not in _READS:
            time.sleep(_LOOK_EVERY_S)
        if query.isActive or _CAME_LATE not in str(query.exception()):
            break
        _LOG.warning("query_started_again", query=query.name, reason=_CAME_LATE)
        query = start()
    return query


def has_looked_at_log(query: StreamingQuery) -> bool:
    """Return whether a query has done a micro-batch, or looked at the log and found nothing to do."""
    return query.lastProgress is not None or query.status["message"] in _IDLE


def with_short_errors(work: BatchFunction) -> BatchFunction:
    """Return ``work`` on a micro-batch so that it fails, if it does, with a short message.

    Spark searches the message with a regular expression that recurses with every character (``StreamExecution``'s for
    interrupts); a Java trace of some thousand lines overflows its stack, and Spark then reports that error. The causes
    are kept: an ``InterruptedException`` among them is how Spark recognizes a stopped query.
    """

    def briefly(batch: DataFrame, batch_id: int) -> None:
        try:
            work(batch, batch_id)
        except (Py4JError, PySparkException) as error:
            name = f"{type(error).__module__}.{type(error).__name__}"
            raise BatchError(f"{name}: {_brief(str(error))}") from None

    return briefly


def _brief(reason: str) -> str:
    causes = [line for line in reason.splitlines() if _CAUSE.match(line)]
    return "\n".join([reason[:_FEW_SIGNS], *(cause[:_OF_A_CAUSE] for cause in causes[-_CAUSES:])])


@contextmanager
def reporting(session: SparkSession, reported: MonitoredQuery, position: LogPosition) -> Iterator[_Reporter]:
    """Report the query, which ``session`` runs and which is done up to ``position``, until the block ends."""
    reporter = _Reporter(session, reported, position)
    session.streams.addListener(reporter)
    try:
        yield reporter
    finally:
        with unless_spark_has_ended():
            session.streams.removeListener(reporter)


@contextmanager
def unless_spark_has_ended() -> Iterator[None]:
    """Ignore errors of a JVM that is gone: stopping a whole process group has stopped it already."""
    try:
        yield
    except (Py4JError, OSError) as error:
        _LOG.info("spark_has_ended", reason=type(error).__name__)


class _ListenerOfJava(JStreamingQueryListener):
    """What Java calls: reads the progress of a micro-batch as one text.

    PySpark reads it field by field and learns from errors where a map ends: hundreds of calls back to Java.
    """

    def onQueryProgress(self, jevent: JavaObject) -> None:  # noqa: N802  # Spark's name
        self.pylistener.onQueryProgress(QueryProgressEvent.fromJson(json.loads(jevent.json())))


class _Reporter(StreamingQueryListener):
    """Listener to all queries of its session; reports its own."""

    def __init__(self, session: SparkSession, reported: MonitoredQuery, position: LogPosition) -> None:
        self._session, self._reported, self._done = session, reported, position
        self._reporting = threading.Lock()
        self._said: LogPosition | None = None
        self._run_id: object = None

    @property
    def _jlistener(self) -> JavaObject:
        if not hasattr(self, "_jlistenerobj"):  # PySpark's names
            java: Any = self._session.sparkContext._jvm  # Any: Java's packages
            self._jlistenerobj = java.PythonStreamingQueryListenerWrapper(_ListenerOfJava(self))
        return self._jlistenerobj

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802  # Spark's name
        if event.name == self._reported.query_name:
            self._run_id = event.runId  # nothing is said yet: its source may not answer

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802  # Spark's name
        # Row counts are no measure: Spark may not even read events that match no alert.
        source = event.progress.sources[0]
        if event.progress.name == self._reported.query_name and source.endOffset != source.startOffset:
            end = LogPosition.of_json(json.loads(source.endOffset))
            self._report_through(end)
            batch_id = event.progress.batchId
            _LOG.info("batch_committed", query=event.progress.name, batch_id=batch_id, log_offset=end.offset)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802  # Spark's name
        if event.runId == self._run_id:
            self.report()

    def report(self) -> None:
        """Store how far the query is, which has looked at the log and is idle."""
        self._report_through(None)

    def _report_through(self, end: LogPosition | None) -> None:
        """Store the query's progress if it is new; if the store is unavailable, when idle, or at the next start.

        ``end`` is where a micro-batch ended. The thread that starts a query reports beside Spark's listeners.
        """
        with self._reporting:
            self._done = end or self._done
            try:
                position = self._reported.read_through(self._done)
                if position != self._said:
                    self._reported.advance(position)
            except FAILURES as error:
                _LOG.warning("progress_not_noted", query=self._reported.query_name, reason=str(error).splitlines()[0])
            else:
                self._said = position

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802  # Spark's name
        is_to_start_again = event.exception and _CAME_LATE in event.exception
        if event.exception and event.runId == self._run_id and not is_to_start_again:
            _LOG.error("query_failed", query=self._reported.query_name, reason=event.exception.splitlines()[0])
