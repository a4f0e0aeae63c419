"""Tests of query failures: restart after a late Python start only, and short messages; of progress, read at once."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tocsin.clock import FixedClock
from tocsin.flow.eventlog.position import LogPosition
from tocsin.jobs.query_progress import (
    BatchError,
    MonitoredQuery,
    has_looked_at_log,
    reporting,
    start_query,
    with_short_errors,
)

LATE = "[STREAM_FAILED] Query [id = x] terminated with exception: Python worker failed to connect back."
READS = "Waiting for data to arrive"


@dataclass
class Query:
    """A query that says one thing after the other of itself, and may have failed at the end."""

    says: list[str]
    failure: str | None = None
    name: str = "some_stream"
    lastProgress: object = None  # noqa: N815  # Spark's name
    looks: Iterator[str] = field(init=False)

    def __post_init__(self) -> None:
        self.looks = iter(self.says)
        self.isActive = True

    @property
    def status(self) -> dict[str, Any]:
        message = next(self.looks, None)
        if message is None:
            self.isActive = False
        return {"message": message}

    def exception(self) -> str | None:
        return self.failure


@dataclass
class Reached:
    """Remembers each offset up to which a query said that it is done."""

    offsets: list[int] = field(default_factory=list)

    def processed_offset(self, query_name: str) -> int:
        return 0

    def holds(self, position: LogPosition) -> bool:
        return True

    def advance(self, query_name: str, log_offset: int, *, now_ms: int, event_id: str | None = None) -> None:
        self.offsets.append(log_offset)


def _event(query_name: str, end: int) -> str:
    """Return an event of progress as Spark 4.3 writes it."""
    source = {
        "description": "tocsin_log",
        "startOffset": None,
        "endOffset": {"offset": end},
        "latestOffset": None,
        "numInputRows": 2,
        "inputRowsPerSecond": 1.5,
        "processedRowsPerSecond": 1.5,
    }
    progress = {
        "id": str(UUID(int=1)),
        "runId": str(UUID(int=2)),
        "name": query_name,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "batchId": end,
        "batchDuration": 4,
        "numInputRows": 2,
        "inputRowsPerSecond": 1.5,
        "processedRowsPerSecond": 1.5,
        "durationMs": {"addBatch": 3},
        "stateOperators": [],
        "sources": [source],
        "sink": {"description": "ForeachBatchSink", "numOutputRows": -1},
    }
    return json.dumps({"progress": progress})


def start_one_of(*queries: Query) -> tuple[Query, int]:
    """Return the query that came of it, and how many were started."""
    remaining = list(queries)
    started_query = start_query(lambda: cast(StreamingQuery, remaining.pop(0)))
    return cast(Query, started_query), len(queries) - len(remaining)


def test_a_query_that_reads_is_given_at_once() -> None:
    reads = Query(["Initializing sources", READS])
    assert start_one_of(reads, Query([READS])) == (reads, 1)


def test_a_query_that_has_looked_is_given_though_it_looks_again() -> None:
    looks_again = Query(["Getting offsets", "Getting offsets"], lastProgress={"batchId": 0})
    assert start_one_of(looks_again, Query([READS])) == (looks_again, 1)
    assert has_looked_at_log(cast(StreamingQuery, looks_again))


def test_a_query_whose_python_was_late_is_started_again() -> None:
    reads = Query([READS])
    assert start_one_of(Query(["Initializing sources"], LATE), Query([], LATE), reads) == (reads, 3)


def test_one_that_is_always_late_is_given_in_the_end() -> None:
    assert start_one_of(*(Query([], LATE) for _ in range(9)))[1] == 6


@pytest.mark.parametrize("failure", ["[STREAM_FAILED] no such table", None])
def test_one_that_failed_otherwise_is_not_started_again(failure: str | None) -> None:
    assert start_one_of(Query([], failure), Query([READS]))[1] == 1


def test_a_failure_of_spark_is_reported_in_few_words() -> None:
    def work(_batch: DataFrame, _batch_id: int) -> None:
        raise AnalysisException("no such column " + "x" * 100_000)

    with pytest.raises(BatchError) as caught:
        with_short_errors(work)(cast(DataFrame, None), 7)
    notified = "".join(traceback.format_exception(caught.value))
    assert "AnalysisException: no such column" in notified
    assert len(notified) < 3_000


def test_the_causes_of_a_long_failure_are_reported() -> None:
    def work(_batch: DataFrame, _batch_id: int) -> None:
        trace = [
            "job aborted",
            *["  at org.apache.spark"] * 500,
            "Caused by: java.lang.InterruptedException: x",
            "  at y",
        ]
        raise Py4JError("\n".join(trace))

    with pytest.raises(BatchError, match=r"py4j.protocol.Py4JError: job aborted[^$]*InterruptedException: x$"):
        with_short_errors(work)(cast(DataFrame, None), 7)


def test_other_failures_are_reported_as_they_are() -> None:
    def work(_batch: DataFrame, _batch_id: int) -> None:
        raise KeyError("gone")

    with pytest.raises(KeyError):
        with_short_errors(work)(cast(DataFrame, None), 7)


def test_java_is_asked_once_for_the_progress_of_a_micro_batch() -> None:
    """PySpark's own reading is hundreds of calls, each a round trip."""
    listeners: list[Any] = []
    java = SimpleNamespace(PythonStreamingQueryListenerWrapper=lambda listener: listener)
    streams = SimpleNamespace(addListener=listeners.append, removeListener=listeners.remove)
    session = SimpleNamespace(streams=streams, sparkContext=SimpleNamespace(_jvm=java))
    progress = Reached()
    query = MonitoredQuery("some_stream", "", progress, FixedClock(7))
    with reporting(cast(SparkSession, session), query, LogPosition(3)):
        for name, end in (("some_stream", 5), ("another", 9), ("some_stream", 8)):
            listeners[0]._jlistener.onQueryProgress(SimpleNamespace(json=lambda name=name, end=end: _event(name, end)))
    assert progress.offsets == [5, 8]
