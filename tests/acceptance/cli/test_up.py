"""Tests of ``tocsin up``: it starts everything, keeps it running, and leaves no processes behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli.conftest import Shell

READY_WITHIN_S = 150
END_WITHIN_S = 60

pytestmark = [pytest.mark.spark, pytest.mark.slow]


class Printed:
    """What a process prints, read as it comes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._text = ""
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, args=(process,))
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self._news:
                self._text += line
                self._news.notify_all()

    def wait_for(self, text: str, within_s: float, *, times: int = 1) -> str:
        with self._news:
            came = self._news.wait_for(lambda: self._text.count(text) >= times, within_s)
            assert came, f"no {text!r} in:\n{self._text}"
            return self._text

    def all(self) -> str:
        self._reader.join()
        return self._text


@pytest.fixture
def up(shell: Shell) -> Iterator[tuple[subprocess.Popen[str], Printed]]:
    with shell.start("up", "--no-sample") as process:
        printed = Printed(process)
        try:
            yield process, printed
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(END_WITHIN_S)
            printed.all()


def children_of(pid: int) -> dict[str, int]:
    """Return the parts that a process has started, by their command."""
    parts = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        if b"tocsin" in words:  # one that has just been made or has just died has no words
            parts[words[words.index(b"tocsin") + 1].decode()] = int(child)
    return parts


def descendants_of(pid: int) -> list[int]:
    """Return every process that a process or one of its children has started."""
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*children, *(one for child in children for one in descendants_of(child))]


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + END_WITHIN_S
    while left := [pid for pid in pids if Path(f"/proc/{pid}").exists() and not is_dead(pid)]:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.05)


def flat(shown: str) -> str:
    """Return the text of a box as one line."""
    return " ".join(shown.replace("│", " ").split())


def is_dead(pid: int) -> bool:
    """Say whether a process has ended and only waits for somebody to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_everything_starts_is_kept_running_and_ends_in_order(up: tuple[subprocess.Popen[str], Printed]) -> None:
    process, printed = up
    shown = printed.wait_for("Tocsin is ready", READY_WITHIN_S)
    assert "password is shown only on a terminal; to set a new one: tocsin admin reset-password admin" in flat(shown)
    parts, started = children_of(process.pid), descendants_of(process.pid)
    assert set(parts) == {"receive", "serve", "pipeline", "deliver"}
    os.kill(parts["deliver"], signal.SIGKILL)
    printed.wait_for("exited by signal SIGKILL; restarting in 1 s", END_WITHIN_S)
    printed.wait_for("worker.started", END_WITHIN_S, times=2)
    process.send_signal(signal.SIGINT)
    assert process.wait(END_WITHIN_S) == 0
    assert "all processes have stopped" in printed.all()
    assert "Traceback" not in printed.all()
    wait_until_gone(started)


def test_the_parts_end_even_when_up_is_killed(up: tuple[subprocess.Popen[str], Printed]) -> None:
    process, printed = up
    printed.wait_for("server_started", READY_WITHIN_S)
    started = descendants_of(process.pid)
    process.kill()
    wait_until_gone(started)


def test_a_taken_port_is_said_at_once(shell: Shell) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", shell.port))
        taken.listen()
        ended = shell.run("up")
    assert ended.returncode == 5
    assert ended.stderr == (
        f"tocsin: Port {shell.port} on 127.0.0.1 is already in use; choose another with --port or TOCSIN_PORT.\n"
    )
    assert not (shell.folder / "data").exists()
