"""Heartbeat of the pipeline in the store, for the health check (``store/health.py``)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import structlog

from tocsin.clock import Clock
from tocsin.jobs.intervals import FAILURES
from tocsin.store.health import PIPELINE

BEAT_EVERY_S = 5.0
_LOOK_EVERY_S = 0.5

_LOG = structlog.get_logger(__name__)


class Heartbeats(Protocol):
    """Remembers when a job was last seen (``store/job_runs.py``)."""

    def record_heartbeat(self, name: str, *, now_ms: int) -> None:
        """Note that somebody is there for this job."""


@contextmanager
def beating(
    heartbeats: Heartbeats, clock: Clock, works: threading.Event, *, every_s: float = BEAT_EVERY_S
) -> Iterator[None]:
    """Report every few seconds that the pipeline works, until the block ends; what the store refuses is passed over.

    Nothing is reported before ``works`` is set: a pipeline that has not read the log yet may never do so. The threads
    of the queries do not report: one that is busy for minutes is late, and has not ended.
    """
    ending = threading.Event()

    def beat() -> None:
        while not works.wait(_LOOK_EVERY_S):
            if ending.is_set():
                return
        while True:
            try:
                heartbeats.record_heartbeat(PIPELINE, now_ms=clock.now_ms())
            except FAILURES as error:
                _LOG.debug("heartbeat_not_noted", reason=str(error).splitlines()[0])
            if ending.wait(every_s):
                return

    thread = threading.Thread(target=beat, name="tocsin-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(max(every_s, _LOOK_EVERY_S))
