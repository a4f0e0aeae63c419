"""Polling with a deadline, for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

_SHORTEST_S, _LONGEST_S = 0.02, 0.1
_SHARE = 0.05


def until(question: Callable[[], bool], *, within_s: float = 60.0, every_s: float | None = None) -> None:
    """Return as soon as ``question`` answers True; fail after ``within_s`` seconds.

    It is asked ``every_s`` seconds; by default less often the longer it takes, since asking uses the processor that
    the answer waits for.
    """
    began = time.monotonic()
    while not question():
        waited_s = time.monotonic() - began
        if waited_s > within_s:
            raise AssertionError(f"not so within {within_s} s: {question}")
        time.sleep(every_s or min(max(_SHORTEST_S, _SHARE * waited_s), _LONGEST_S))
