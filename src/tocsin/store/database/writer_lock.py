"""Fair write queue between the processes of a SQLite store: two lock files.

SQLite lets any process write that asks at the right moment, and one that has just written asks first. So each takes the
lock of the next writer first, waits there for the current writer to end, and leaves it as the writer: a process that
has written queues behind those already waiting. The kernel releases both locks when a process dies; a stopped
process keeps them, so nobody waits longer than its timeout. Next: ``store/database/group_commit.py``.
"""

from __future__ import annotations

import fcntl
import os
import time

from tocsin.errors import Unavailable

_NEXT, _WRITER = "-next", "-writer"
_ASK_AGAIN_S, _ASK_SELDOM_S = 0.00005, 0.01
_OFTEN_FOR_S = 1.0
_LONGEST_PID = 20


class WriterQueue:
    """The queue before one store, for one thread of this process at a time; its files are made when first needed."""

    def __init__(self, store: str | None) -> None:
        self._store = store if store and store != ":memory:" else None
        self._files: tuple[int, int] | None = None

    def enter(self, until_s: float) -> None:
        """Wait until it is this process's turn to write.

        Raises
        ------
        Unavailable : it was not by ``until_s``, a moment of the monotonic clock; the message says who is in the way
        """
        if self._store is None:
            return
        if self._files is None:
            self._files = (_open_lock_file(self._store + _NEXT), _open_lock_file(self._store + _WRITER))
        next_file, writer = self._files
        _take(next_file, until_s)
        try:
            _take(writer, until_s)
        finally:
            fcntl.flock(next_file, fcntl.LOCK_UN)

    def leave(self) -> None:
        """Let the next one write."""
        if self._files is not None:
            fcntl.flock(self._files[1], fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the files."""
        files, self._files = self._files or (), None
        for file in files:
            os.close(file)


def _take(file: int, until_s: float) -> None:
    """Lock a file as soon as it is free, and write the holder's id into it."""
    started_s = time.monotonic()
    while not _is_taken(file):
        now_s = time.monotonic()
        if now_s >= until_s:
            raise Unavailable(_in_the_way(file))
        time.sleep(_ASK_AGAIN_S if now_s - started_s < _OFTEN_FOR_S else _ASK_SELDOM_S)
    os.pwrite(file, f"{os.getpid():<{_LONGEST_PID}}".encode(), 0)


def _is_taken(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _in_the_way(file: int) -> str:
    pid = os.pread(file, _LONGEST_PID, 0).decode(errors="replace").strip()
    return (
        f"Nothing was written: process {pid} holds the write lock. Try again; if it is stopped, resume it"
        f" (kill -CONT {pid}) or end it (kill -KILL {pid})."
    )


def _open_lock_file(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
