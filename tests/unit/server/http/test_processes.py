"""Tests of the server's process supervisor: start, replacement, and common end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.waiting import until

PROGRAM = """
import os, sys, time
from pathlib import Path
from tocsin.server.http import processes
from tocsin.errors import Unavailable

folder = Path(sys.argv[1])

def serve(number):
    (folder / f"{number}.pid").write_text(str(os.getpid()))
    if len(sys.argv) > 2:
        raise RuntimeError("cannot serve")
    while True:
        time.sleep(0.05)

try:
    processes.serve_in(2, serve)
except Unavailable as error:
    sys.exit(error.message)
"""


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=20)


def pids(folder: Path) -> list[int]:
    """Return the ids of the processes that serve, once there are two."""
    until(lambda: len([one for one in folder.glob("*.pid") if one.read_text()]) == 2, within_s=30)
    return [int((folder / f"{number}.pid").read_text()) for number in range(2)]


def is_gone(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


@pytest.mark.parametrize("notified", [signal.SIGTERM, signal.SIGINT])
def test_all_processes_exit_cleanly_when_the_supervisor_is_stopped(tmp_path: Path, notified: signal.Signals) -> None:
    with running(tmp_path) as process:
        serving = pids(tmp_path)
        process.send_signal(notified)
        assert process.wait(20) == 0
        assert all(is_gone(pid) for pid in serving)


@pytest.mark.parametrize("replaced", [False, True])
def test_all_end_when_the_one_that_watches_is_killed(tmp_path: Path, replaced: bool) -> None:
    with running(tmp_path) as process:
        serving = first = pids(tmp_path)
        if replaced:
            os.kill(first[0], signal.SIGKILL)
            until(lambda: pids(tmp_path)[0] != first[0], within_s=20)
            serving = pids(tmp_path)
        process.kill()
        until(lambda: all(is_gone(pid) for pid in serving), within_s=20)


def test_one_that_is_killed_is_replaced_and_the_others_go_on(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        killed, spared = pids(tmp_path)
        os.kill(killed, signal.SIGKILL)
        until(lambda: pids(tmp_path)[0] != killed, within_s=20)
        replaced, still_there = pids(tmp_path)
        assert still_there == spared
        assert not is_gone(spared)
        assert not is_gone(replaced)
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=20)
        assert "by signal SIGKILL" in printed


def test_what_does_not_stay_up_ends_with_a_word(tmp_path: Path) -> None:
    with running(tmp_path, "fail") as process:
        printed, _ = process.communicate(timeout=30)
        assert process.returncode == 1
        assert "keep failing" in printed
        assert "cannot serve" in printed
