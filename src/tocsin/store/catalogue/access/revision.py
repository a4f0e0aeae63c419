"""Revision counter of people, in memory shared by all processes of one server; invalidates their caches.

What a process caches about people (tokens, policies) is valid while the revision is unchanged. Each process has its own
slot in the shared memory, so a change by one of them is visible to all at once. Next: ``server/login/token_cache.py``.
"""

from __future__ import annotations

import mmap
import threading

_WIDTH = 8


class PeopleRevision:
    """Counts the changes that the processes of one server make to who people are or what they may do."""

    def __init__(self, processes: int = 1) -> None:
        self._counts = memoryview(mmap.mmap(-1, _WIDTH * processes)).cast("Q")
        self._place = 0
        self._lock = threading.Lock()

    def count_as(self, number: int) -> None:
        """Count from now on in the place of the process of this number."""
        self._place = number

    def note(self) -> None:
        """Take note of a change that has been committed."""
        with self._lock:
            self._counts[self._place] += 1

    def number(self) -> int:
        """Return how many changes there have been; it only ever grows."""
        return sum(self._counts)
