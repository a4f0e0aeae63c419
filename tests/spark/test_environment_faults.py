"""Tests of queries while PostgreSQL is down or the disk is full: they wait, report it, lose and repeat nothing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import SparkSession
from sqlalchemy import Engine, event
from tests.company import SmallCompany
from tests.fulldisk import SmallDisk, postgres_disk
from tests.postgres import MISSING, Cluster, binaries, running_cluster
from tests.soak import SOAK
from tests.spark.test_match_stream import (
    FOLLOWERS_BELL,
    OWNERS_MAIL,
    expected_notifications,
    has_caught_up,
    parts_of,
    stored_notifications,
)
from tests.waiting import until

from tocsin.clock import SystemClock
from tocsin.jobs.match_stream import supervised_query
from tocsin.jobs.resolving import Notify, Resolving, Shared, StoreAddress
from tocsin.jobs.supervision import QueryEnvironment, keep_running
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate
from tocsin.store.eventlog.outages import Waits

__all__ = ["postgres_disk"]

ENDS = ("stop", "kill", "stop_fast") if SOAK else ("kill",)
"""How PostgreSQL ends."""

EDITS = {"disk_full": 60, "read_only": 3}
"""Changes per fault; on a full disk more than what they tell of has room where pages have some left."""

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@dataclass
class Heard(Waits):
    """Waits, and the reports of them, written or not."""

    engine: Engine
    begun: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(self.engine)

    def begin(self, query_name: str, fault: str, *, since_ms: int) -> None:
        self.begun.append(fault)
        super().begin(query_name, fault, since_ms=since_ms)


@contextmanager
def keep_main_query(
    spark: SparkSession,
    engine: Engine,
    checkpoint: Path,
    work: Callable[[StoreAddress, Shared, int, int | None], Notify] = Notify,
) -> Iterator[Heard]:
    """Keep the main query running, as the pipeline does."""
    heard, stopping, works = Heard(engine), threading.Event(), threading.Event()
    waits = {"first_wait_s": 0.2, "longest_wait_s": 0.4, "look_every_s": 0.05}
    environment = QueryEnvironment(spark, heard, checkpoint.parent, SystemClock(), **waits)
    query, failures = supervised_query(replace(parts_of(spark, engine, checkpoint), work=work)), []

    def keep() -> None:
        try:
            keep_running(query, environment, stopping, works.set)
        except Exception as error:  # noqa: BLE001  # notified below
            failures.append(error)

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        assert works.wait(120)
        yield heard
    finally:
        stopping.set()
        thread.join(60)
    assert not failures


def company_in(engine: Engine) -> SmallCompany:
    company = SmallCompany(engine)
    company.clock.advance(1_000)
    company.alert("mail", [OWNERS_MAIL, FOLLOWERS_BELL], "fieldChanged == 'description'")
    return company


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    programs = binaries()
    if programs is None:
        pytest.skip(MISSING)
    with running_cluster(programs, durable=True) as running:
        yield running


@pytest.mark.postgres
@pytest.mark.timeout(600)
def test_postgresql_ends_and_comes_back(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    """Fault scenario 5."""
    cluster.run("CREATE DATABASE faults")
    engine = open_engine(cluster.url("faults"))
    migrate(engine)
    company = company_in(engine)
    ends: dict[str, Callable[[], None]] = {
        "stop": cluster.stop,
        "kill": cluster.kill,
        "stop_fast": partial(cluster.stop, "fast"),
    }
    with keep_main_query(spark, engine, tmp_path / "match_stream") as heard:
        for number, end in enumerate(ENDS):
            company.describe("orders", f"before {number}", by="dia")
            before = len(heard.begun)
            ends[end]()
            until(lambda: len(heard.begun) > before, within_s=120)  # noqa: B023  # asked at once
            cluster.start()
            company.describe("orders", f"after {number}", by="dia")
            until(lambda: has_caught_up(engine), within_s=120)
        assert set(heard.begun) == {"store_away"}
        until(lambda: [one.waits_for for one in heard.health()] == [None], within_s=30)
    assert stored_notifications(engine) == expected_notifications(company)
    assert len({row[0] for row in stored_notifications(engine).values()}) == 2 * len(ENDS)
    engine.dispose()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of half a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.timeout(600)
def test_the_disk_of_the_checkpoint_is_full(spark: SparkSession, sqlite_engine: Engine, small_disk: Path) -> None:
    company = company_in(sqlite_engine)
    with keep_main_query(spark, sqlite_engine, small_disk / "match_stream") as heard:
        until(lambda: has_caught_up(sqlite_engine), within_s=60)
        ballast = small_disk / "ballast"
        with pytest.raises(OSError, match="No space left"), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(b"\1" * 512)
        for number in range(3):
            company.describe("orders", f"while full {number}", by="dia")
        until(lambda: [one.waits_for for one in heard.health()] == ["disk_full"], within_s=120)
        ballast.unlink()
        until(lambda: has_caught_up(sqlite_engine), within_s=120)
        until(lambda: [one.waits_for for one in heard.health()] == [None], within_s=30)
    assert stored_notifications(sqlite_engine) == expected_notifications(company)
    assert len({row[0] for row in stored_notifications(sqlite_engine).values()}) == 3


def bind(engine: Engine, fault: str, has_fault: Path) -> None:
    """Let the store take nothing from ``engine`` while the file ``has_fault`` exists."""
    pragma = {"disk_full": "max_page_count = 1", "read_only": "query_only = ON"}[fault]
    free = {"disk_full": "max_page_count = 1073741823", "read_only": "query_only = OFF"}[fault]

    @event.listens_for(engine, "begin")
    def _bind(connection: object) -> None:
        connection.connection.dbapi_connection.execute(f"PRAGMA {pragma if has_fault.exists() else free}")  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Bound(Notify):
    """The work of a task whose store takes nothing while a file exists."""

    fault: str = ""
    has_fault: Path = Path()

    def open_resolving(self) -> Resolving:
        engine = open_engine(self.store.url, synchronous="NORMAL")
        bind(engine, self.fault, self.has_fault)
        return Resolving(engine)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", list(EDITS))
def test_the_store_takes_nothing(spark: SparkSession, sqlite_url: str, tmp_path: Path, fault: str) -> None:
    """Fault scenario 4."""
    engine, pipelines = open_engine(sqlite_url, synchronous="NORMAL"), open_engine(sqlite_url, synchronous="NORMAL")
    company, has_fault = company_in(engine), tmp_path / "has fault"
    bind(pipelines, fault, has_fault)
    register_pickle_by_value(sys.modules[__name__])
    work = partial(Bound, fault=fault, has_fault=has_fault)
    with keep_main_query(spark, pipelines, tmp_path / "match_stream", work) as heard:
        until(lambda: has_caught_up(engine), within_s=60)
        with closing(sqlite3.connect(str(engine.url.database), isolation_level=None)) as connection:
            connection.execute("VACUUM")  # no page of the file is free
        has_fault.touch()
        for number in range(EDITS[fault]):
            company.describe("orders", f"while nothing is taken {number}", by="dia")
        until(lambda: fault in heard.begun, within_s=120)
        has_fault.unlink()
        until(lambda: has_caught_up(engine), within_s=120)
    assert stored_notifications(engine) == expected_notifications(company)
    assert len({row[0] for row in stored_notifications(engine).values()}) == EDITS[fault]
    engine.dispose()
    pipelines.dispose()


@pytest.mark.postgres
@pytest.mark.timeout(600)
def test_the_disk_of_what_the_pipeline_writes_is_full(
    spark: SparkSession, postgres_disk: SmallDisk, tmp_path: Path
) -> None:
    """Fault scenario 74."""
    engine = open_engine(postgres_disk.url)
    migrate(engine)
    company = company_in(engine)
    postgres_disk.take(engine, "notification", "message", "match_result")
    with keep_main_query(spark, engine, tmp_path / "match_stream") as heard:
        until(lambda: has_caught_up(engine), within_s=60)
        postgres_disk.fill()
        for number in range(EDITS["disk_full"]):
            company.describe("orders", f"while it is full {number}", by="dia")
        until(lambda: "disk_full" in heard.begun, within_s=120)
        postgres_disk.clear()
        until(lambda: has_caught_up(engine), within_s=120)
        until(lambda: [one.waits_for for one in heard.health()] == [None], within_s=30)
    assert stored_notifications(engine) == expected_notifications(company)
    assert len({row[0] for row in stored_notifications(engine).values()}) == EDITS["disk_full"]
    engine.dispose()
