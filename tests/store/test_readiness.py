"""Tests of when `tocsin up` says that it is ready: once the pipeline of this start has read the whole log."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import STARTED_MS, SmallCompany

from tocsin.cli.up import pipeline_has_caught_up
from tocsin.clock import FixedClock
from tocsin.flow.eventlog.position import LogPosition
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.jobs.query_progress import MonitoredQuery, reporting
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications

START_MS = STARTED_MS + 3_600_000


class Streams:
    """The queries of a session, as far as listeners are concerned."""

    def __init__(self) -> None:
        self.listeners: list[Any] = []

    def addListener(self, listener: Any) -> None:  # noqa: N802  # Spark's name
        self.listeners.append(listener)

    def removeListener(self, listener: Any) -> None:  # noqa: N802  # Spark's name
        self.listeners.remove(listener)


def _is_ready(engine: Engine) -> bool:
    return pipeline_has_caught_up(EventLog(engine), START_MS)()


def test_it_is_ready_once_a_query_of_this_start_has_read_the_log(store_engine: Engine) -> None:
    SmallCompany(store_engine)
    progress, end = Notifications(store_engine), EventLog(store_engine).readable_end()
    progress.advance(MATCH_STREAM, end, now_ms=START_MS - 1)
    assert not _is_ready(store_engine), "that was an earlier pipeline"
    streams, start_event = Streams(), SimpleNamespace(name=MATCH_STREAM, runId="run")
    query = MonitoredQuery(MATCH_STREAM, "", progress, FixedClock(START_MS))
    session = cast(SparkSession, SimpleNamespace(streams=streams))
    with reporting(session, query, LogPosition(end)):
        (listener,) = streams.listeners
        listener.onQueryStarted(start_event)
        assert not _is_ready(store_engine), "its source may not answer"
        listener.onQueryTerminated(SimpleNamespace(runId="run", exception="[STREAM_FAILED] the log cannot be read"))
        assert not _is_ready(store_engine), "it has failed"
        listener.onQueryStarted(start_event)
        listener.onQueryIdle(SimpleNamespace(runId="another"))
        assert not _is_ready(store_engine), "another query has read"
        listener.onQueryIdle(SimpleNamespace(runId="run"))
        assert _is_ready(store_engine), "it has read, and there was nothing new"


def test_it_is_not_ready_while_the_pipeline_is_behind(store_engine: Engine) -> None:
    SmallCompany(store_engine)
    progress, end = Notifications(store_engine), EventLog(store_engine).readable_end()
    progress.advance(MATCH_STREAM, end - 1, now_ms=START_MS)
    assert not _is_ready(store_engine)
    progress.advance(MATCH_STREAM, end, now_ms=START_MS)
    assert _is_ready(store_engine)
