"""Tests of a worker's processes: preparation, replacement, more on demand, errors, and common end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.waiting import until

PROGRAM = """
import os, sys, time
from pathlib import Path
from tocsin.delivery.worker.processes import work_in
from tocsin.errors import InvalidSetting, TocsinError

folder, how = Path(sys.argv[1]), sys.argv[2]

def prepare():
    (folder / "prepared").write_text(str(os.getpid()))
    if how == "unprepared":
        raise InvalidSetting("no such store", field="database_url")

def work(place):
    if how == "failing":
        raise InvalidSetting("no range", field="egress_allow")
    if how == "dying":
        os._exit(3)
    (folder / ("first" if place.is_first else "second")).write_text(str(os.getpid()))
    now_s = 0.0
    while place.is_first or how != "idle":
        time.sleep(0.02)
        now_s += 1.0
        if how != "alone":
            place.look_for_more(200, 100, now_s)

try:
    work_in(2, work, prepare)
except TocsinError as error:
    sys.exit(f"{type(error).__name__}: {error.message}")
"""


@contextmanager
def running(folder: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), how], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=20)


def pid(folder: Path, name: str, *, other_than: int = 0) -> int:
    """Return the id of a process once it runs."""
    file = folder / name
    until(lambda: file.exists() and file.read_text() not in ("", str(other_than)), within_s=30)
    return int(file.read_text())


def is_gone(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def test_a_second_process_runs_once_it_is_asked_for_and_all_end_together(tmp_path: Path) -> None:
    with running(tmp_path, "busy") as process:
        pids = [pid(tmp_path, name) for name in ("prepared", "first", "second")]
        assert len({*pids, process.pid}) == 4
        assert is_gone(pids[0])
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert all(map(is_gone, pids))


def test_a_killed_process_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path, "busy"):
        for name in ("first", "second"):
            killed = pid(tmp_path, name)
            os.kill(killed, signal.SIGKILL)
            if name == "first":
                assert pid(tmp_path, name, other_than=killed) != killed
        time.sleep(0.3)
        assert is_gone(pid(tmp_path, "second"))  # one that failed is not started again at once


def test_an_idle_second_process_comes_back_when_there_is_need(tmp_path: Path) -> None:
    with running(tmp_path, "idle"):
        ended = pid(tmp_path, "second")
        assert pid(tmp_path, "second", other_than=ended) != ended


def test_all_end_when_the_one_that_watches_is_killed(tmp_path: Path) -> None:
    with running(tmp_path, "busy") as process:
        pids = [pid(tmp_path, name) for name in ("first", "second")]
        process.kill()
        until(lambda: all(map(is_gone, pids)), within_s=20)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("unprepared", "InvalidSetting: no such store"),
        ("failing", "InvalidSetting: no range"),
        ("dying", "Unavailable: The worker's processes keep failing"),
    ],
)
def test_what_is_wrong_ends_the_worker_and_is_said(tmp_path: Path, how: str, says: str) -> None:
    with running(tmp_path, how) as process:
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 1
        assert says in output
        assert "Traceback" not in output
