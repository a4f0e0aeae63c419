"""Tests of the wait for commits to a SQLite store, by its real write-ahead log."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import closing
from pathlib import Path

import pytest

from tocsin.spark.commits import CommitWatch, commit_watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of writes this way")

LONG_S = 600.0


def open_store(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    return connection


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_store(tmp_path / "store.db")) as connection:
        connection.execute("CREATE TABLE event (id)")
        yield connection


@pytest.fixture
def watch(tmp_path: Path, writer: sqlite3.Connection) -> Iterator[CommitWatch]:
    with closing(open_store(tmp_path / "store.db")) as reader:
        watch = commit_watch(
            str(tmp_path / "store.db-wal"), lambda: int(reader.execute("PRAGMA data_version").fetchone()[0])
        )
        assert watch is not None
        with closing(watch):
            for _ in range(10):  # what was written before it began has been looked for
                watch.wait(0)
            yield watch


def test_a_commit_ends_the_wait(watch: CommitWatch, writer: sqlite3.Connection) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(watch.wait, LONG_S)
        assert wait_for([waiting], 0.1).not_done, "nothing was written"
        writer.execute("INSERT INTO event VALUES (1)")
        waiting.result(30)


def test_a_write_is_looked_for_again_until_it_is_visible(tmp_path: Path, writer: sqlite3.Connection) -> None:
    with closing(CommitWatch(str(tmp_path / "store.db-wal"), lambda: 1)) as watch, ThreadPoolExecutor(1) as pool:
        for _ in range(10):
            watch.wait(0)
        writer.execute("INSERT INTO event VALUES (1)")
        watch.wait(LONG_S)
        for _ in range(3):  # its version has not changed: the commit is not there yet
            pool.submit(watch.wait, LONG_S).result(30)


def test_a_log_that_was_made_anew_is_watched(tmp_path: Path, watch: CommitWatch) -> None:
    log = tmp_path / "store.db-wal"
    log.rename(tmp_path / "another.db-wal")
    log.touch()
    for _ in range(10):
        watch.wait(0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(watch.wait, LONG_S)
        log.write_bytes(b"frames")
        waiting.result(30)


def test_without_a_log_there_is_no_watch(tmp_path: Path) -> None:
    assert commit_watch(str(tmp_path / "none.db-wal"), lambda: 0) is None
