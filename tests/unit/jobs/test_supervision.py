"""Tests of supervision: queries restart after transient faults without limit, and end after others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from tests.waiting import until

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tocsin.clock import FixedClock
from tocsin.errors import InternalError, Unavailable
from tocsin.jobs import supervision
from tocsin.jobs.supervision import QueryEnvironment, Supervised, keep_running

AWAY = "psycopg.OperationalError: connection failed: Connection refused"
FULL = "java.io.IOException: No space left on device"
BUG = "KeyError: 'gone'"


@dataclass
class Run:
    """One run of a query: how it fails, and whether it works before; without a failure it goes on."""

    failure: str | None = None
    works: bool = False
    lastProgress: Any = None  # noqa: N815  # Spark's name

    @property
    def isActive(self) -> bool:  # noqa: N802  # Spark's name
        return self.failure is None or self.works

    @property
    def status(self) -> dict[str, str]:
        is_idle, self.works = self.failure is None or self.works, False
        return {"message": "Waiting for data to arrive" if is_idle else "Initializing sources"}

    def exception(self) -> str | None:
        return self.failure


@dataclass
class Query:
    """A query whose runs end one after the other as scripted."""

    runs: list[Run]
    started: int = 0

    @contextmanager
    def running(self) -> Iterator[StreamingQuery]:
        run = self.runs[self.started]
        self.started += 1
        yield cast(StreamingQuery, run)


@dataclass
class Noted:
    """What is noted of waits; fails as the store does, for as long as there are faults."""

    faults: list[Exception] = field(default_factory=list)
    begun: list[tuple[str, int]] = field(default_factory=list)
    ended: int = 0

    def begin(self, query_name: str, fault: str, *, since_ms: int) -> None:
        if self.faults:
            raise self.faults.pop(0)
        self.begun.append((fault, since_ms))

    def end(self, query_name: str) -> None:
        self.ended += 1


class Context:
    """A Spark that is there, or has ended."""

    def __init__(self, *, stopped: bool = False) -> None:
        self.stopped = stopped
        self._jsc = self.sparkContext = self

    def sc(self) -> Context:
        return self

    def isStopped(self) -> bool:  # noqa: N802  # Spark's name
        return self.stopped


def environment(tmp_path: Path, noted: Noted, *, stopped: bool = False) -> QueryEnvironment:
    spark = cast(SparkSession, Context(stopped=stopped))
    return QueryEnvironment(spark, noted, tmp_path, FixedClock(1_000), first_wait_s=0.001, look_every_s=0.001)


def keep_until_it_works(query: Query, on: QueryEnvironment, tmp_path: Path) -> None:
    """Keep the query running until it has begun its last run, and that works."""
    stopping, works = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def keep() -> None:
        try:
            keep_running(Supervised("some_stream", tmp_path / "some_stream", query.running), on, stopping, works.set)
        except (InternalError, Unavailable) as error:
            failures.append(error)

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        until(lambda: bool(failures) or (query.started == len(query.runs) and works.is_set()), within_s=20)
    finally:
        stopping.set()
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("reason", [AWAY, FULL])
def test_a_fault_that_passes_is_waited_out_however_often_it_comes(tmp_path: Path, reason: str) -> None:
    noted = Noted()
    query = Query([*(Run(reason) for _ in range(9)), Run()])
    keep_until_it_works(query, environment(tmp_path, noted), tmp_path)
    assert query.started == 10
    assert {since for _, since in noted.begun} == {1_000}
    assert noted.ended >= 1


def test_while_the_fault_is_there_the_query_is_not_started(tmp_path: Path) -> None:
    import sqlite3

    faults: list[Exception] = [sqlite3.OperationalError("database or disk is full") for _ in range(4)]
    noted = Noted(faults)
    query = Query([Run("it said nothing that anybody knows"), Run()])
    keep_until_it_works(query, environment(tmp_path, noted), tmp_path)
    assert (query.started, faults) == (2, [])


def test_what_comes_back_without_such_a_fault_ends_with_a_sentence(tmp_path: Path) -> None:
    query = Query([Run(BUG) for _ in range(9)])
    with pytest.raises(InternalError, match=r"some_stream failed 3 times in a row.*KeyError: 'gone'"):
        keep_until_it_works(query, environment(tmp_path, Noted()), tmp_path)
    assert query.started == supervision.TRIES


def test_a_query_that_works_between_its_failures_is_not_given_up(tmp_path: Path) -> None:
    query = Query([*(Run(BUG, works=True) for _ in range(6)), Run()])
    keep_until_it_works(query, environment(tmp_path, Noted()), tmp_path)
    assert query.started == 7


def test_a_fault_that_does_not_pass_ends_at_once_and_says_what_to_do(tmp_path: Path) -> None:
    query = Query([Run("sqlite3.DatabaseError: database disk image is malformed"), Run()])
    with pytest.raises(Unavailable, match="tocsin fsck"):
        keep_until_it_works(query, environment(tmp_path, Noted()), tmp_path)
    assert query.started == 1


@pytest.mark.parametrize("reason", ["org.apache.hadoop.fs.ChecksumException: x", "tocsin.errors.LogDiverged: y"])
def test_a_checkpoint_that_spark_finds_damaged_is_set_aside(tmp_path: Path, reason: str) -> None:
    (tmp_path / "some_stream").mkdir()
    keep_until_it_works(Query([Run(reason), Run()]), environment(tmp_path, Noted()), tmp_path)
    assert [one.name[:20] for one in tmp_path.iterdir()] == ["some_stream.damaged-"]


def test_without_spark_nothing_is_tried_again(tmp_path: Path) -> None:
    query = Query([Run("[Errno 111] Connection refused"), Run()])
    with pytest.raises(Unavailable, match="Spark has stopped"):
        keep_until_it_works(query, environment(tmp_path, Noted(), stopped=True), tmp_path)
