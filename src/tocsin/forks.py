"""Forks of a process: they share its memory, start fast, leave its answers to signals behind, and end when it does.

Nothing that processes must not share (connections, threads that work) may be open when they begin.
Next: ``server/http/processes.py``, ``delivery/worker/processes.py``.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkProcess

STOP = (signal.SIGINT, signal.SIGTERM)
"""The signals that ask a process to end."""

SHORT_LIFE_S = 5.0
"""Who dies younger than this has not stayed up."""

DEATHS_BEFORE_GIVING_UP = 5
"""So many in a row who did not stay up end the whole."""


class EarlyDeaths:
    """Number of processes in a row that did not stay up."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, started_s: float) -> bool:
        """Count the end of a process that began at ``started_s`` (monotonic); return whether they keep failing."""
        self._count = self._count + 1 if time.monotonic() - started_s < SHORT_LIFE_S else 0
        return self._count >= DEATHS_BEFORE_GIVING_UP


def fork(work: Callable[[], None]) -> ForkProcess:
    """Return a process that does ``work``; it ends at once when this one is killed."""
    process = multiprocessing.get_context("fork").Process(target=_be_child, args=(work,))
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)  # until the child has left our answers to them behind
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP)
    return process


def end_forks(processes: Collection[ForkProcess], *, grace_s: float) -> None:
    """Ask all to stop, and end those that do not."""
    for ask in (ForkProcess.terminate, ForkProcess.kill):
        for process in processes:
            ask(process)
        give_up_s = time.monotonic() + grace_s
        for process in processes:
            process.join(max(0.0, give_up_s - time.monotonic()))


@contextmanager
def stop_requests() -> Iterator[int]:
    """Yield a file that can be read once this process has to stop."""
    stop, to_stop = os.pipe()

    def ask_to_stop(_number: int, _frame: object) -> None:
        os.write(to_stop, b".")

    before = {number: signal.signal(number, ask_to_stop) for number in STOP}
    try:
        yield stop
    finally:
        for number, action in before.items():
            signal.signal(number, action)
        os.close(stop)
        os.close(to_stop)


def end_in_words(code: int) -> str:
    """Return how a process ended, by its exit code."""
    return f"by signal {signal.Signals(-code).name}" if code < 0 else f"with code {code}"


def _be_child(work: Callable[[], None]) -> None:
    for stop in STOP:
        signal.signal(stop, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP)
    threading.Thread(target=_end_with_parent, name="watch", daemon=True).start()
    work()


def _end_with_parent() -> None:
    """End this process when its parent was killed: at once, so that what it holds is free for the next one."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
