"""Wait for commits to a SQLite store: Linux tells of writes to its write-ahead log, so that an idle reader sleeps.

A write shows before its commit does: SQLite flushes it to the disk in between. So a reader looks a few times after a
write, until the store's version has changed. *Source:* inotify(7); SQLite, "PRAGMA data_version".
Next: ``spark/sources.py``.
"""

from __future__ import annotations

import ctypes
import os
import select
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_MODIFIED = 0x2
"""IN_MODIFY of ``sys/inotify.h``."""

_AFTER_WRITE_S = 0.005
_UNTIL_VISIBLE_S = (0.01, 0.02, 0.04, 0.08, 0.16)
_ONCE_MORE_S = (0.04,)
"""Another commit may have been written, and not yet visible, when the version changed."""

_EVENTS_BYTES = 1 << 16


class CommitWatch:
    """Watch over a store's write-ahead log, by one thread.

    Parameters
    ----------
    log : the write-ahead log
    version : returns a number that changes with each commit that the reader's connection sees
    """

    def __init__(self, log: str, version: Callable[[], int]) -> None:
        self._log, self._version = Path(log), version
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._inode = 0
        self._seen_version = version()
        self._pauses: list[float] = []
        self._events = int(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if self._events < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        try:
            self._follow()
        except OSError:
            self.close()
            raise

    def wait(self, most_s: float) -> None:
        """Return when something may have been committed since the last call, at the latest after ``most_s``."""
        self._follow()
        pause_s = min(self._pauses.pop(0), most_s) if self._pauses else most_s
        if select.select([self._events], [], [], pause_s)[0]:
            time.sleep(_AFTER_WRITE_S)  # what is written together is looked for once
            self._forget_events()
            self._pauses = list(_UNTIL_VISIBLE_S)
        if (version := self._version()) != self._seen_version:
            self._seen_version, self._pauses = version, list(_ONCE_MORE_S)

    def close(self) -> None:
        """End the watch."""
        if self._events >= 0:
            os.close(self._events)
            self._events = -1

    def _follow(self) -> None:
        """Watch the log that is there now: SQLite makes another when a store is opened again."""
        inode = self._log.stat().st_ino
        if inode != self._inode:
            if self._libc.inotify_add_watch(self._events, os.fsencode(self._log), _MODIFIED) < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch", str(self._log))
            self._inode, self._pauses = inode, list(_UNTIL_VISIBLE_S)

    def _forget_events(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._events, _EVENTS_BYTES):
                continue


def commit_watch(log: str, version: Callable[[], int]) -> CommitWatch | None:
    """Return a watch over a write-ahead log; None where the system cannot tell of writes, or the log is missing."""
    try:
        return CommitWatch(log, version)
    except (AttributeError, OSError):
        return None
