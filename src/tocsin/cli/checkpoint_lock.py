"""Lock on the checkpoint folder, so that no two pipelines use it.

The kernel releases it when the process ends for any reason.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tocsin.errors import Conflict

_FILE = "pipeline.lock"


@contextmanager
def alone(checkpoints: Path) -> Iterator[None]:
    """Keep the folder of checkpoints for this process until the block ends.

    Raises
    ------
    Conflict : another process has it; the message says which
    """
    checkpoints.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (checkpoints / _FILE).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise Conflict(_lock_message(checkpoints, lock.read())) from None
        with suppress(OSError):  # the disk is full: the lock is what counts
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
        yield


def check_alone(checkpoints: Path) -> None:
    """Raise Conflict if another process works on these checkpoints."""
    with alone(checkpoints):
        pass


def _lock_message(checkpoints: Path, process: str) -> str:
    who = f" (process {process})" if process else ""
    return (
        f"A pipeline{who} already uses the checkpoints in {checkpoints}. Stop it first, or choose another"
        " data folder with TOCSIN_DATA_DIR."
    )
