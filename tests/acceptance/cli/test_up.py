"""Tests of ``tocsin up``: it starts everything, keeps it running, and leaves no processes behind.

Real processes. One of them also shows how soon a created, changed or disabled alert takes effect: two seconds later,
without a restart. That promise concerns the events that the new rules apply to: those written two seconds after the
change; the delay of the notification itself is not tested here.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.acceptance.cli.conftest import Shell, shell_in
from tests.prestarted import Prestarted
from tests.waiting import until

from tocsin.client import Client

READY_WITHIN_S = 150
END_WITHIN_S = 60
EFFECT_WITHIN_S = 2.0
NOTIFIED_WITHIN_S = 120
_ASKED_EVERY_S = 0.25
"""A request each 20 ms would take half a core from the pipeline that it waits for."""

BELL, CHANGED, SWITCHED_OFF, SWITCHED_ON = (
    f"you own it (alert {name})" for name in ("ActivityFeedAlert", "Changed", "SwitchedOff", "SwitchedOn")
)

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


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


Up = tuple[subprocess.Popen[str], Printed]


@pytest.fixture
def up(shell: Shell) -> Iterator[Up]:
    """``tocsin up`` without the sample company, starting."""
    with starting(shell) as begun:
        yield begun


@contextmanager
def starting(shell: Shell) -> Iterator[Up]:
    with shell.start("up", "--no-sample") as process:
        printed = Printed(process)
        try:
            yield process, printed
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(END_WITHIN_S)
            printed.all()


@pytest.fixture(scope="module")
def its_shell(tmp_path_factory: pytest.TempPathFactory, prestarted_process: Prestarted) -> Shell:
    return shell_in(tmp_path_factory.mktemp("up"), prestarted_process)


@pytest.fixture(scope="module")
def ready(its_shell: Shell) -> Iterator[Up]:
    """One that is ready, for all tests that do not end it; it ends in order after the last of them."""
    with starting(its_shell) as (process, printed):
        printed.wait_for("Tocsin is ready", READY_WITHIN_S)
        yield process, printed
        started = descendants_of(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(END_WITHIN_S) == 0
        assert "all processes have stopped" in printed.all()
        assert "Traceback" not in printed.all()
        wait_until_gone(started)


def children_of(pid: int) -> dict[str, int]:
    """Return the parts that a process has started, by their command."""
    parts = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        if b"tocsin" in words:
            parts[words[words.index(b"tocsin") + 1].decode()] = int(child)
    return parts


def all_parts_of(pid: int) -> dict[str, int]:
    """Return the four parts of ``tocsin up``, when each has its command: one that has just been forked has none yet."""
    deadline = time.monotonic() + END_WITHIN_S
    while set(parts := children_of(pid)) != {"receive", "serve", "pipeline", "deliver"}:
        assert time.monotonic() < deadline, f"only these run: {sorted(parts)}"
        time.sleep(0.05)
    return parts


def descendants_of(pid: int) -> list[int]:
    """Return every process that a process or one of its children has started."""
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*children, *(one for child in children for one in descendants_of(child))]


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + END_WITHIN_S
    while living_pids := [pid for pid in pids if Path(f"/proc/{pid}").exists() and not is_dead(pid)]:
        assert time.monotonic() < deadline, f"still running: {living_pids}"
        time.sleep(0.05)


def flat(printed_text: str) -> str:
    """Return the text of a box as one line."""
    return " ".join(printed_text.replace("│", " ").split())


def is_dead(pid: int) -> bool:
    """Return whether a process has ended and only waits for somebody to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_everything_starts_and_is_kept_running(ready: Up) -> None:
    process, printed = ready
    printed_text = printed.wait_for("Tocsin is ready", READY_WITHIN_S)
    assert "password is shown only on a terminal; to set a new one: tocsin admin reset-password admin" in flat(
        printed_text
    )
    parts = all_parts_of(process.pid)
    os.kill(parts["deliver"], signal.SIGKILL)
    printed.wait_for("exited by signal SIGKILL; restarting in 1 s", END_WITHIN_S)
    printed.wait_for("worker.started", END_WITHIN_S, times=2)


@pytest.mark.soak
def test_the_parts_end_even_when_up_is_killed(up: Up) -> None:
    """``tests/unit/cli/test_supervisor.py`` shows it of one part; this of the real ones, with all that they start."""
    process, printed = up
    printed.wait_for("server_started", READY_WITHIN_S)
    started = descendants_of(process.pid)
    process.kill()
    wait_until_gone(started)


def test_a_taken_port_is_said_at_once(shell: Shell) -> None:
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", shell.port))
        taken_socket.listen()
        ended = shell.run("up")
    assert ended.returncode == 5
    assert ended.stderr == (
        f"tocsin: Port {shell.port} on 127.0.0.1 is already in use; choose another with --port or TOCSIN_PORT.\n"
    )
    assert not (shell.folder / "data").exists()


class Watched:
    """A table that ana owns, with in-app notifications of every change, and alerts that are changed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        put = client.create_or_update
        self._ana = str(put("user", {"name": "ana", "email": "ana@example.com"}).id)
        put("databaseService", {"name": "pg", "serviceType": "Postgres"})
        put("database", {"name": "store", "service": "pg"})
        put("databaseSchema", {"name": "public", "database": "pg.store"})
        table = {"name": "orders", "databaseSchema": "pg.store.public", "columns": [{"name": "id", "dataType": "INT"}]}
        self._table = str(put("table", {**table, "owners": [{"type": "user", "name": "ana"}]}).id)
        self._await_notifications(1)

    def alert(self, name: str, field: str, *, enabled: bool = True) -> None:
        """Make or change an alert on changes of a field."""
        rules = [{"effect": "include", "condition": f"fieldChanged == '{field}'"}]
        document = {
            "name": name,
            "alertType": "Notification",
            "enabled": enabled,
            "filteringRules": {"resources": ["table"], "rules": rules},
            "destinations": [{"category": "Owners", "type": "ActivityFeed"}],
        }
        self._client.create_or_update("eventsubscription", document)

    def change(self, field: str, text: str) -> set[str]:
        """Change the table and return the reasons of ana's notification."""
        before = len(self._notifications())
        self._client.patch("table", self._table, [{"op": "add", "path": f"/{field}", "value": text}])
        self._await_notifications(before + 1)
        return set(self._notifications()[0])

    def _await_notifications(self, count: int) -> None:
        until(lambda: len(self._notifications()) == count, within_s=NOTIFIED_WITHIN_S, every_s=_ASKED_EVERY_S)

    def _notifications(self) -> list[tuple[str, ...]]:
        return [one.reasons for one in self._client.notifications(self._ana)]


@pytest.fixture
def watch_client(its_shell: Shell, ready: Up) -> Iterator[Watched]:
    password = its_shell.json("admin", "reset-password", "admin")["password"]
    with Client(its_shell.environment["TOCSIN_SERVER"]) as client:
        client.login("admin@tocsin.example.org", password)
        yield Watched(client)


def test_an_alert_counts_two_seconds_after_it_was_made_changed_or_switched_off(
    watch_client: Watched, ready: Up
) -> None:
    process, _output = ready
    parts = all_parts_of(process.pid)
    assert watch_client.change("description", "before there is an alert") == {BELL}
    watch_client.alert("Changed", "description")
    watch_client.alert("SwitchedOff", "description")
    watch_client.alert("SwitchedOn", "description", enabled=False)
    time.sleep(EFFECT_WITHIN_S)
    assert watch_client.change("description", "they were made") == {BELL, CHANGED, SWITCHED_OFF}
    watch_client.alert("Changed", "displayName")
    watch_client.alert("SwitchedOff", "description", enabled=False)
    watch_client.alert("SwitchedOn", "description")
    time.sleep(EFFECT_WITHIN_S)
    assert watch_client.change("description", "they were changed") == {BELL, SWITCHED_ON}
    assert watch_client.change("displayName", "Orders") == {BELL, CHANGED}
    assert {"serve", "pipeline", "deliver"} <= parts.keys()
    assert parts.items() <= children_of(process.pid).items(), "a part was started again"
