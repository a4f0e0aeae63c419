"""Suspension of a process at a moment at which it lets others write.

A process that is suspended in a write keeps SQLite's lock, so that nobody else writes until it goes on, the test
included: what such a test asks is what others do meanwhile.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from sqlalchemy import Engine
from tests.waiting import until

_QUEUE = ("-next", "-writer")


def suspend(process: subprocess.Popen[bytes], engine: Engine) -> None:
    """Suspend a process of this one at a moment at which it neither writes to the store nor waits to."""

    def suspended_outside_of_a_write() -> bool:
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)  # the signal may arrive a moment later
        if engine.dialect.name != "sqlite" or _is_free(str(engine.url.database)):
            return True
        process.send_signal(signal.SIGCONT)
        return False

    until(suspended_outside_of_a_write)


def _is_free(store: str) -> bool:
    """Return whether nobody writes to a SQLite store, or stands in its queue of writers."""
    try:
        for name in _QUEUE:
            with Path(store + name).open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with closing(sqlite3.connect(store, timeout=0, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
    except (BlockingIOError, sqlite3.OperationalError):
        return False
    return True
