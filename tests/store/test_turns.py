"""Tests of group commits on SQLite: failures stay separate, and no writer returns before its commit."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text
from tests.serving import running_server
from tests.startedstore import StartedStore
from tests.waiting import until

from tocsin.errors import TocsinError, Unavailable
from tocsin.store.database.engine import open_engine, reading, writing
from tocsin.store.database.group_commit import PATIENT, WRITER_LIMITS, WriterLimits

ADD = text("INSERT INTO server_secret (name, value) VALUES (:name, 'x')")
ADD_LONG = text("INSERT INTO server_secret (name, value) VALUES (:name, :value)")
NAMES = text("SELECT name FROM server_secret WHERE name LIKE 'w%' ORDER BY name")


class _RefusedError(Exception):
    pass


def names(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return list(connection.execute(NAMES).scalars())


@contextmanager
def count_commits(engine: Engine) -> Iterator[list[int]]:
    """Count the commits of writers."""
    commits: list[int] = []

    def note(_connection: Connection) -> None:
        commits.append(1)

    event.listen(engine, "commit", note)
    yield commits
    event.remove(engine, "commit", note)


def write(engine: Engine, name: str, finish: Callable[[], Any] = lambda: None) -> None:
    with writing(engine) as connection:
        connection.execute(ADD, {"name": name})
        finish()


@contextmanager
def engine_with(url: str, **limits: Any) -> Iterator[Engine]:
    """Yield an engine whose writers share the store within these limits."""
    engine = open_engine(url, synchronous="NORMAL", most_connections=40, writers=replace(WRITER_LIMITS, **limits))
    yield engine
    engine.dispose()


@pytest.fixture
def held_open(sqlite_url: str) -> Iterator[Engine]:
    """An engine whose transactions stay open for all who wait."""
    with engine_with(sqlite_url, open_s=60) as engine:
        yield engine


@pytest.fixture
def checkpointing_engine(sqlite_url: str) -> Iterator[Engine]:
    """An engine that checkpoints the log after every transaction."""
    with engine_with(sqlite_url, log_age_s=0.0) as engine:
        yield engine


@pytest.fixture
def short_log(sqlite_url: str) -> Iterator[Engine]:
    """An engine whose log is to stay below a mebibyte."""
    with engine_with(sqlite_url, log_bytes=1 << 20, checkpoint_pause_s=0.0) as engine:
        yield engine


def behind(engine: Engine, *later: Callable[[], Any]) -> list[Future[Any]]:
    """Make calls that all wait while one writer has its turn; return them done."""
    with ThreadPoolExecutor(len(later) + 1) as pool:
        begun, go = threading.Event(), threading.Event()
        first = pool.submit(write, engine, "w0", lambda: begun.set() or go.wait(10))  # type: ignore[func-returns-value]  # None
        begun.wait(10)
        calls = [pool.submit(call) for call in later]
        until(lambda: engine.get_execution_options()["tocsin_turns"].waiting_count == len(later))
        go.set()
    return [first, *calls]


def test_those_who_wait_go_on_in_the_same_transaction(held_open: Engine) -> None:
    with count_commits(held_open) as commits:
        calls = behind(held_open, *(lambda name=f"w{at}": write(held_open, name) for at in range(1, 9)))
    assert [call.exception() for call in calls] == [None] * 9
    assert names(held_open) == [f"w{at}" for at in range(9)]
    assert len(commits) == 1


def test_a_transaction_ends_however_many_wait(sqlite_url: str) -> None:
    with engine_with(sqlite_url, open_s=60, turn_count=3) as engine, count_commits(engine) as commits:
        behind(engine, *(lambda name=f"w{at}": write(engine, name) for at in range(1, 9)))
    assert len(commits) == 3


def test_a_turn_that_fails_is_undone_alone(held_open: Engine) -> None:
    """Fault scenario 1."""

    def refuse() -> None:
        raise _RefusedError

    calls = behind(
        held_open,
        lambda: write(held_open, "w1"),
        lambda: write(held_open, "w2", refuse),
        lambda: write(held_open, "w3"),
    )
    assert [type(call.exception()) for call in calls] == [type(None), type(None), _RefusedError, type(None)]
    assert names(held_open) == ["w0", "w1", "w3"]


def test_nobody_returns_before_the_commit(held_open: Engine) -> None:
    names_seen: list[list[str]] = []

    def write_and_look(name: str) -> None:
        write(held_open, name)
        names_seen.append(names(held_open))

    behind(held_open, *(lambda name=f"w{at}": write_and_look(name) for at in range(1, 5)))
    assert names_seen == [[f"w{at}" for at in range(5)]] * 4


def test_a_failed_commit_fails_every_write_in_it(held_open: Engine) -> None:

    def fail(_connection: Connection) -> None:
        raise _RefusedError

    event.listen(held_open, "commit", fail)
    calls = behind(held_open, *(lambda name=f"w{at}": write(held_open, name) for at in range(1, 4)))
    event.remove(held_open, "commit", fail)
    assert all(isinstance(call.exception(), Unavailable | _RefusedError) for call in calls)
    assert names(held_open) == []
    write(held_open, "w9")
    assert names(held_open) == ["w9"]


def test_a_failed_commit_lets_go_of_the_store_whoever_still_holds_its_connection(sqlite_engine: Engine) -> None:
    connections: list[object] = []

    def fail(connection: Connection) -> None:
        connections.append(connection.connection.dbapi_connection)
        raise _RefusedError

    event.listen(sqlite_engine, "commit", fail)
    with pytest.raises(_RefusedError):
        write(sqlite_engine, "w1")
    event.remove(sqlite_engine, "commit", fail)
    with closing(sqlite3.connect(sqlite_engine.url.database or "", timeout=0)) as second_connection:
        second_connection.execute("BEGIN IMMEDIATE")
    assert connections


def test_what_waits_after_a_failure_goes_on(sqlite_engine: Engine) -> None:
    with pytest.raises(TocsinError), writing(sqlite_engine) as connection:
        connection.execute(ADD, {"name": "w1"})
        raise Unavailable("no")
    write(sqlite_engine, "w2")
    assert names(sqlite_engine) == ["w2"]


OTHER = """
import sys, time
from tocsin.store.database.engine import open_engine, writing
from sqlalchemy import text
engine = open_engine(sys.argv[1])
longest_s = 0.0
for at in range(20):
    started_s = time.monotonic()
    with writing(engine) as connection:
        connection.execute(text("INSERT INTO server_secret (name, value) VALUES (:name, 'x')"), {"name": f"other{at}"})
    longest_s = max(longest_s, time.monotonic() - started_s)
print(longest_s)
"""


@pytest.mark.slow
def test_another_process_gets_its_turn_however_busy_this_one_is(sqlite_engine: Engine, sqlite_url: str) -> None:
    stop = threading.Event()

    def keep_writing(client: int) -> None:
        at = 0
        while not stop.is_set():
            at += 1
            write(sqlite_engine, f"w{client}-{at}")

    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(keep_writing, client) for client in range(6)]
        command = [sys.executable, "-c", OTHER, sqlite_url]
        try:
            process = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
        finally:
            stop.set()
    assert all(call.exception() is None for call in calls)
    assert float(process.stdout) < 10


def test_an_error_is_raised_after_the_commit_it_may_concern(held_open: Engine) -> None:
    names_seen: list[list[str]] = []

    def refuse() -> None:
        raise _RefusedError

    def write_and_fail() -> None:
        with pytest.raises(_RefusedError):
            write(held_open, "w1", refuse)
        names_seen.append(names(held_open))

    behind(held_open, write_and_fail, lambda: write(held_open, "w2", lambda: time.sleep(0.2)))
    assert "w0" in names_seen[0]


STOPPED = """
import os, signal, sys
from tocsin.store.database.engine import open_engine, writing
from sqlalchemy import text
with writing(open_engine(sys.argv[1])) as connection:
    connection.execute(text("INSERT INTO server_secret (name, value) VALUES ('w-stopped', 'x')"))
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@contextmanager
def stopped_writer(url: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that is stopped in the middle of its turn; let it go on and end afterwards."""
    process = subprocess.Popen([sys.executable, "-c", STOPPED, url])
    try:
        assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        assert process.wait(30) == 0


def test_nobody_waits_without_end_for_a_process_that_was_stopped(sqlite_url: str) -> None:
    engine = open_engine(sqlite_url, writers=WriterLimits(patience_s=0.6))
    with stopped_writer(sqlite_url) as process, ThreadPoolExecutor(4) as pool:
        refusals = [call.exception() for call in [pool.submit(write, engine, f"w{at}") for at in range(4)]]
        assert [type(one) for one in refusals] == [Unavailable] * 4
        process_refusals = [str(one) for one in refusals if f"kill -CONT {process.pid}" in str(one)]
        assert process_refusals, "whoever waited for the other process says which one it was"
        assert names(engine) == [], "reading goes on"
        assert engine.get_execution_options()["tocsin_turns"].waiting_count == 0
    write(engine, "w9")
    assert names(engine) == ["w-stopped", "w9"]
    engine.dispose()


def test_whoever_is_patient_waits_until_it_goes_on(sqlite_url: str) -> None:
    engine = open_engine(sqlite_url, writers=PATIENT)
    with ThreadPoolExecutor(1) as pool:
        with stopped_writer(sqlite_url):
            call = pool.submit(write, engine, "w1")
            time.sleep(0.3)
            assert not call.done()
        assert call.exception(30) is None
    assert names(engine) == ["w-stopped", "w1"]
    engine.dispose()


def test_a_request_that_cannot_write_is_answered_503(started_store: StartedStore, started_store_url: str) -> None:
    """Fault scenario 4."""
    engine = open_engine(started_store_url, writers=WriterLimits(patience_s=0.5))
    with (
        running_server(engine, password=started_store.password, token=started_store.token) as served,
        served.administrator() as client,
        stopped_writer(started_store_url) as process,
    ):
        answer = client.post("/glossaries", json={"name": "Words", "description": "x"})
        assert (answer.status_code, answer.json()["code"]) == (503, 503)
        assert f"kill -CONT {process.pid}" in answer.json()["message"]
        assert client.get("/glossaries").status_code == 200
    engine.dispose()


@contextmanager
def overlapping_readers(engine: Engine) -> Iterator[None]:
    """Read in two threads, each of which begins before the other ends: there is no moment without a reader."""
    stopping = threading.Event()
    begin_events = [threading.Event(), threading.Event()]

    def read(number: int) -> None:
        while not stopping.is_set():
            with reading(engine) as connection:
                connection.execute(NAMES).all()
                begin_events[1 - number].clear()
                begin_events[number].set()
                while not (begin_events[1 - number].wait(0.01) or stopping.is_set()):
                    pass

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read, number) for number in range(2)]
        begin_events[0].wait(10)
        try:
            yield
        finally:
            stopping.set()
    for reader in readers:
        reader.result()


def test_readers_that_overlap_without_end_do_not_let_the_log_grow(short_log: Engine) -> None:
    log = Path(f"{short_log.url.database}-wal")
    largest = 0
    with overlapping_readers(short_log):
        for number in range(300):
            with writing(short_log) as connection:
                connection.execute(ADD_LONG, {"name": f"l{number}", "value": "x" * 60_000})
            largest = max(largest, log.stat().st_size)
    assert largest < 3 << 20, "of 18 MB that were written"


def test_what_is_written_seldom_does_not_stay_in_the_log(checkpointing_engine: Engine) -> None:
    write(checkpointing_engine, "w1")
    write(checkpointing_engine, "w2")
    assert Path(f"{checkpointing_engine.url.database}-wal").stat().st_size == 0
    assert names(checkpointing_engine) == ["w1", "w2"]


def test_one_reader_that_does_not_end_holds_up_no_writer(checkpointing_engine: Engine) -> None:
    write(checkpointing_engine, "w1")
    with reading(checkpointing_engine) as connection:
        connection.execute(NAMES).all()
        started_s = time.monotonic()
        for number in range(2, 40):
            write(checkpointing_engine, f"w{number:02}")
        assert time.monotonic() - started_s < 10, "not a tenth of a second for each"
    assert len(names(checkpointing_engine)) == 39
