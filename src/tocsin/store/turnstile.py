"""Which process writes next to a SQLite store? Whoever waits longest: two locks on files beside the store make a queue.

SQLite lets whoever asks at the right moment write, and a process that has just written asks first. So each first takes
the place of the one who is next, waits there for the writer to end, and leaves it as the writer: whoever has written
waits behind whoever already waits. Waiting is the kernel's, which also opens both locks when a process dies.
Next: ``store/turns.py``.
"""

from __future__ import annotations

import fcntl
import os

_NEXT, _WRITER = "-next", "-writer"


class Turnstile:
    """The queue before one store, for one thread of this process at a time; its files are made when first needed."""

    def __init__(self, store: str | None) -> None:
        self._store = store if store and store != ":memory:" else None
        self._files: tuple[int, int] | None = None

    def enter(self) -> None:
        """Wait until it is this process's turn to write."""
        if self._store is None:
            return
        if self._files is None:
            self._files = (_opened(self._store + _NEXT), _opened(self._store + _WRITER))
        following, writer = self._files
        fcntl.flock(following, fcntl.LOCK_EX)
        try:
            fcntl.flock(writer, fcntl.LOCK_EX)
        finally:
            fcntl.flock(following, fcntl.LOCK_UN)

    def leave(self) -> None:
        """Let the next one write."""
        if self._files is not None:
            fcntl.flock(self._files[1], fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the files."""
        files, self._files = self._files or (), None
        for file in files:
            os.close(file)


def _opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
