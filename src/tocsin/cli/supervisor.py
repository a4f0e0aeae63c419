"""Supervisor of the processes of ``tocsin up``: start, monitoring, restart with backoff, and stop.

It signals only processes that it started. Next: ``cli/up.py``.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tocsin.cli.configuration import unknown_variables
from tocsin.cli.parent_pipe import VARIABLE
from tocsin.errors import Unavailable

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 30.0
STEADY_AFTER_S = 60.0
STARTS_BEFORE_GIVING_UP = 3
GRACE_S = 10.0
_LOOK_EVERY_S = 0.1
_WATCH_EVERY_S = 0.4
_LONGEST_LINE = 1 << 20
_TRACEBACK = "Traceback (most recent call last):"
_NOBODY_LISTENS = ("BrokenPipeError", "ConnectionResetError")
_DAEMON = "pyspark/daemon.py"
_CONNECTING_TO_DRIVER = "in local_connect_and_auth"
_CHAINED = "During handling of the above exception, another exception occurred:"

Say = Callable[[str, str], None]
"""Shows one line of one part: its name and the line."""


@dataclass(frozen=True)
class Part:
    """One process of the whole; ``is_ready`` says whether it does its work by now."""

    name: str
    command: tuple[str, ...]
    is_ready: Callable[[], Awaitable[bool]]
    environment: Mapping[str, str] = field(default_factory=dict)
    chatter: tuple[str, ...] = ()
    """How lines begin that say nothing to anybody, and are not shown."""
    after: Part | None = None
    """The part that must be ready before this one is started."""


async def supervise(
    parts: Sequence[Part],
    *,
    say: Say,
    on_ready: Callable[[], None],
    stop: asyncio.Event,
    first_wait_s: float = FIRST_WAIT_S,
) -> None:
    """Run ``parts`` until ``stop`` is set, then end them; call ``on_ready`` once all of them are ready.

    A part that ends is started again after ``first_wait_s``, then after twice that, and so on up to half a minute.

    Raises
    ------
    Unavailable : a part ended three times before it was ever ready
    """
    failure: BaseExceptionGroup[Unavailable] | None = None
    try:
        async with asyncio.TaskGroup() as group:
            watches = [_ProcessWatch(part, say, first_wait_s) for part in parts]
            running = [group.create_task(watch.keep_running()) for watch in watches]
            running.append(group.create_task(_announce(watches, on_ready)))
            await stop.wait()
            for task in running:
                task.cancel()
    except* Unavailable as failures:
        failure = failures
    if failure is not None:  # raised up there, some versions of Python would wrap it once more
        raise failure.exceptions[0] from None


async def _announce(watches: Sequence[_ProcessWatch], on_ready: Callable[[], None]) -> None:
    await asyncio.gather(*(watch.until_ready() for watch in watches))
    on_ready()


class _ProcessWatch:
    """The life of one part, from its first start to its end."""

    def __init__(self, part: Part, say: Say, first_wait_s: float) -> None:
        self._part = part
        self._say = say
        self._first_wait_s = first_wait_s
        self._was_ready = self._is_ending = False

    async def until_ready(self) -> None:
        while not await self._part.is_ready():
            await asyncio.sleep(_LOOK_EVERY_S)
        self._was_ready = True

    async def keep_running(self) -> None:
        if self._part.after is not None:
            await self._wait_for(self._part.after)
        wait_s, start_count = self._first_wait_s, 0
        while True:
            start_s, start_count = time.monotonic(), start_count + 1
            code = await self._run_once()
            if not self._was_ready and start_count >= STARTS_BEFORE_GIVING_UP:
                raise Unavailable(f"The {self._part.name} does not start; see its output above.")
            if time.monotonic() - start_s > STEADY_AFTER_S:
                wait_s = self._first_wait_s
            self._say(self._part.name, f"exited {_how(code)}; restarting in {wait_s:g} s")
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)

    async def _wait_for(self, earlier: Part) -> None:
        if not await earlier.is_ready():
            self._say(self._part.name, f"starts once the {earlier.name} is ready")
        while not await earlier.is_ready():
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _run_once(self) -> int:
        process = await _start(self._part)
        lines = asyncio.create_task(self._pass_on(process))
        try:
            return await _exit_of(process, _WATCH_EVERY_S)
        finally:
            self._is_ending = True
            await _end(process)
            await lines
            self._is_ending = False

    async def _pass_on(self, process: Process) -> None:
        lines = process.stdout
        traceback: list[str] = []
        while lines is not None and (line := await lines.readline()):
            text = line.decode(errors="replace").rstrip()
            if traceback or text.startswith((_TRACEBACK, _CHAINED)):
                traceback = self._buffer_traceback(traceback, text)
            elif text and not text.startswith(self._part.chatter):
                self._say(self._part.name, text)
        if traceback[1:] and not any(_DAEMON in line for line in traceback):  # else ended while it printed one
            self._say_all(traceback)

    def _buffer_traceback(self, traceback: list[str], text: str) -> list[str]:
        """Return a traceback that is still being printed, with its next line; show a whole one if it says something.

        PySpark's daemon prints one when its driver no longer reads a worker's answer; other processes do that have
        started so late that their driver has given them up, or has ended. It says so itself, and starts others.
        """
        lines = [*traceback, text]
        if not text or text.startswith((" ", _TRACEBACK, _CHAINED)):
            return lines
        is_of_daemon = self._is_ending or any(_DAEMON in line for line in lines)
        is_nothing = text.startswith(_NOBODY_LISTENS) and is_of_daemon
        if not is_nothing and not any(line.endswith(_CONNECTING_TO_DRIVER) for line in lines):
            self._say_all(lines)
        return []

    def _say_all(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._say(self._part.name, line)


async def _start(part: Part) -> Process:
    named_already = unknown_variables()
    inherited = {name: value for name, value in os.environ.items() if name not in named_already}
    # A session of its own: Ctrl-C reaches only `up`, which then ends its parts in order.
    return await asyncio.create_subprocess_exec(
        *part.command,
        env={**inherited, "PYTHONUNBUFFERED": "1", VARIABLE: "1", **part.environment},
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT,
        limit=_LONGEST_LINE,
        start_new_session=True,
    )


async def _exit_of(process: Process, look_every_s: float = _LOOK_EVERY_S) -> int:
    # Not process.wait(), which also waits for whatever the process started to close the pipes it inherited.
    while process.returncode is None:
        await asyncio.sleep(look_every_s)
    return process.returncode


async def _end(process: Process) -> None:
    """End a process and whatever it started, politely at first."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(_exit_of(process), GRACE_S)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # its session holds only it and its own children
    await process.wait()


def _how(code: int) -> str:
    return f"by signal {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
