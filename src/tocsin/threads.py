"""Threads that run beside a block of code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def run_beside(
    work: Callable[[threading.Event], object], name: str, *, ends_within_s: float | None = None
) -> Iterator[None]:
    """Run ``work`` in a thread called ``name`` while the block runs.

    At the end of the block the event that ``work`` was called with is set, and the thread is waited for: for
    ``ends_within_s`` at most, None for as long as it takes.
    """
    ending = threading.Event()
    thread = threading.Thread(target=work, args=(ending,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(ends_within_s)
