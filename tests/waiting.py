"""Polling with a deadline, for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(question: Callable[[], bool], *, within_s: float = 60.0, every_s: float = 0.02) -> None:
    """Return as soon as ``question`` answers True; fail after ``within_s`` seconds."""
    deadline = time.monotonic() + within_s
    while not question():
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {within_s} s: {question}")
        time.sleep(every_s)
