"""Tests of the supervisor of ``tocsin up``: start, restart, and common end."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from tocsin.cli.parent_pipe import VARIABLE
from tocsin.cli.supervisor import Part, supervise
from tocsin.errors import Unavailable

SLEEP = "import time; print('here', flush=True); time.sleep(60)"
WITHIN_S = 20
NO_WAIT_S = 0.01


async def is_ready_at_once() -> bool:
    return True


async def is_never_ready() -> bool:
    return False


def part(name: str, program: str, is_ready: Callable[[], Awaitable[bool]] = is_ready_at_once) -> Part:
    return Part(name, (sys.executable, "-c", program), is_ready)


class Heard:
    """Every line that was shown; ``on`` does something, once, when one comes that holds a text."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self._on: list[tuple[str, Callable[[], object]]] = []

    def on(self, text: str, act: Callable[[], object]) -> None:
        self._on.append((text, act))

    def __call__(self, part: str, line: str) -> None:
        self.lines.append((part, line))
        waiting = next((pair for pair in self._on if pair[0] in line), None)
        if waiting is not None:
            self._on.remove(waiting)
            waiting[1]()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pids(heard: Heard) -> list[int]:
    return [int(line.removeprefix("pid ")) for _, line in heard.lines if line.startswith("pid ")]


PID = "import os, time; print('pid', os.getpid(), flush=True); time.sleep(60)"


async def test_all_parts_are_ready_together_and_end_together() -> None:
    heard, stop, ready = Heard(), asyncio.Event(), []
    parts = [part("one", PID), part("two", PID)]
    heard.on("pid", lambda: heard.on("pid", stop.set))  # both have spoken
    async with asyncio.timeout(WITHIN_S):
        await supervise(parts, say=heard, on_ready=lambda: ready.append(True), stop=stop)
    assert ready == [True]
    assert {name for name, _ in heard.lines} == {"one", "two"}
    assert not any(is_running(pid) for pid in pids(heard))


async def test_a_killed_part_is_started_again_and_it_is_said() -> None:
    heard, stop = Heard(), asyncio.Event()
    heard.on("pid", lambda: os.kill(pids(heard)[0], signal.SIGKILL))
    heard.on("restarting", lambda: heard.on("pid", stop.set))
    async with asyncio.timeout(WITHIN_S):
        await supervise([part("one", PID)], say=heard, on_ready=lambda: None, stop=stop, first_wait_s=NO_WAIT_S)
    assert ("one", "exited by signal SIGKILL; restarting in 0.01 s") in heard.lines
    assert len(set(pids(heard))) == 2


async def test_a_part_that_never_gets_ready_stops_everything_after_three_starts() -> None:
    heard = Heard()
    parts = [part("good", SLEEP), part("bad", "print('no'); exit(6)", is_never_ready)]
    with pytest.raises(Unavailable, match="The bad does not start"):
        async with asyncio.timeout(WITHIN_S):
            await supervise(parts, say=heard, on_ready=lambda: None, stop=asyncio.Event(), first_wait_s=NO_WAIT_S)
    assert heard.lines.count(("bad", "no")) == 3


async def test_what_a_part_started_ends_with_it() -> None:
    child = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {PID!r}]); time.sleep(60)"
    heard, stop = Heard(), asyncio.Event()
    heard.on("pid", stop.set)
    async with asyncio.timeout(WITHIN_S):
        await supervise([part("one", child)], say=heard, on_ready=lambda: None, stop=stop)
    (grandchild,) = pids(heard)
    assert ends(grandchild)


def ends(pid: int) -> bool:
    """Return whether a process that is not a child of this one has ended, or does so in time."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], WITHIN_S)[0])
    finally:
        os.close(descriptor)


def test_a_part_ends_when_up_is_gone_however_it_went() -> None:
    program = "from tocsin.cli.parent_pipe import hold_lifeline; hold_lifeline(); " + SLEEP
    command = [sys.executable, "-c", program]
    environment = {**os.environ, VARIABLE: "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"here\n"
        process.stdin.close()  # what the kernel does when the holder dies
        assert process.wait(WITHIN_S) == -signal.SIGTERM


async def test_lines_that_say_nothing_are_not_shown() -> None:
    heard, stop = Heard(), asyncio.Event()
    heard.on("notified", stop.set)
    program = "import time; print('noise: x\\n\\nnotified', flush=True); time.sleep(60)"
    talker = Part("talker", (sys.executable, "-c", program), is_ready_at_once, chatter=("noise:",))
    async with asyncio.timeout(WITHIN_S):
        await supervise([talker], say=heard, on_ready=lambda: None, stop=stop)
    assert heard.lines == [("talker", "notified")]


async def test_a_part_is_started_once_the_one_before_it_is_ready() -> None:
    heard, stop, is_open = Heard(), asyncio.Event(), asyncio.Event()

    async def is_ready() -> bool:
        return is_open.is_set()

    broker = part("broker", SLEEP, is_ready)
    relay = replace(part("relay", "print('writes', flush=True); " + SLEEP), after=broker)
    heard.on("starts once", lambda: asyncio.get_running_loop().call_later(0.3, is_open.set))
    heard.on("writes", stop.set)
    async with asyncio.timeout(WITHIN_S):
        await supervise([relay, broker], say=heard, on_ready=lambda: None, stop=stop)
    assert [line for name, line in heard.lines if name == "relay"][:2] == ["starts once the broker is ready", "writes"]
    assert heard.lines.index(("broker", "here")) < heard.lines.index(("relay", "writes"))


async def test_at_the_end_tracebacks_of_those_who_answer_nobody_are_not_shown() -> None:
    heard, stop = Heard(), asyncio.Event()
    heard.on("working", stop.set)
    trace = "Traceback (most recent call last):\\n  File 'daemon.py', line 95\\n"
    program = f"""
import signal, sys, time
trace = "{trace}"
def end(*_):
    print(trace + "BrokenPipeError: [Errno 32] Broken pipe\\n" + trace + "ValueError: a bug\\nended", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print(trace + "BrokenPipeError: of its own\\nworking", flush=True)
time.sleep(60)
"""
    async with asyncio.timeout(WITHIN_S):
        await supervise([part("worker", program)], say=heard, on_ready=lambda: None, stop=stop)
    lines = [line for _, line in heard.lines]
    assert lines[2:4] == ["BrokenPipeError: of its own", "working"], "before the end everything is shown"
    assert lines[4:] == [*lines[:2], "ValueError: a bug", "ended"]


async def test_tracebacks_of_pysparks_daemon_that_answers_nobody_are_not_shown() -> None:
    heard, stop = Heard(), asyncio.Event()
    heard.on("working", stop.set)
    trace = "Traceback (most recent call last):\\n  File 'x/pyspark/daemon.py', line 95, in worker\\n"
    program = f"""
import time
trace = "{trace}"
print(trace + "BrokenPipeError: [Errno 32] Broken pipe\\n" + trace + "ValueError: a bug\\nworking", flush=True)
time.sleep(60)
"""
    async with asyncio.timeout(WITHIN_S):
        await supervise([part("pipeline", program)], say=heard, on_ready=lambda: None, stop=stop)
    assert [line for _, line in heard.lines][2:] == ["ValueError: a bug", "working"]


async def test_a_traceback_at_the_end_of_a_process_is_shown_whole() -> None:
    heard, stop = Heard(), asyncio.Event()
    heard.on("  File 'x.py', line 1", stop.set)
    program = """
import sys
print("Traceback (most recent call last):\\n  File 'x.py', line 1", flush=True)
sys.exit(1)
"""
    async with asyncio.timeout(WITHIN_S):
        await supervise([part("worker", program)], say=heard, on_ready=lambda: None, stop=stop)
    assert [line for _, line in heard.lines][:2] == ["Traceback (most recent call last):", "  File 'x.py', line 1"]


@pytest.mark.parametrize("last_text", ["", "\\n  File 'x/pyspark/daemon.py', line 95, in worker"])
async def test_a_traceback_that_was_cut_off_before_it_said_anything_is_not_shown(last_text: str) -> None:
    heard, stop = Heard(), asyncio.Event()
    heard.on("working", stop.set)
    program = f"""
import time
print("working\\nTraceback (most recent call last):{last_text}", flush=True)
time.sleep(60)
"""
    async with asyncio.timeout(WITHIN_S):
        await supervise([part("pipeline", program)], say=heard, on_ready=lambda: None, stop=stop)
    assert [line for _, line in heard.lines] == ["working"]


async def test_at_the_end_tracebacks_of_those_whose_driver_is_gone_are_not_shown() -> None:
    heard, stop = Heard(), asyncio.Event()
    heard.on("working", stop.set)
    program = """
import os, signal, sys, time
from pyspark.util import local_connect_and_auth
def end(*_):
    if os.fork() == 0:
        local_connect_and_auth("/nowhere/driver.sock", None)
    os.wait()
    sys.exit("ended")
signal.signal(signal.SIGTERM, end)
print("working", flush=True)
time.sleep(60)
"""
    async with asyncio.timeout(WITHIN_S):
        await supervise([part("worker", program)], say=heard, on_ready=lambda: None, stop=stop)
    assert [line for _, line in heard.lines] == ["working", "ended"]


async def test_tracebacks_of_processes_that_connect_after_their_driver_gave_them_up_are_not_shown() -> None:
    """On a machine with a load of 19, the first minute was full of them; the driver starts others, and says so."""
    heard, stop = Heard(), asyncio.Event()
    heard.on("others work", stop.set)
    program = """
import subprocess, sys, time
late = "from pyspark.util import local_connect_and_auth; local_connect_and_auth('/nowhere/driver.sock', None)"
subprocess.run([sys.executable, "-c", late])
print("others work", flush=True)
time.sleep(60)
"""
    async with asyncio.timeout(WITHIN_S):
        await supervise([part("pipeline", program)], say=heard, on_ready=lambda: None, stop=stop)
    assert [line for _, line in heard.lines] == ["others work"]
