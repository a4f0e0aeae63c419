"""Heartbeat of the pipeline in the store, for the health check (``store/upkeep/health.py``)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import structlog

from tocsin.clock import Clock
from tocsin.jobs.intervals import FAILURES
from tocsin.store.upkeep.health import PIPELINE
from tocsin.threads import run_beside

BEAT_EVERY_S = 5.0
_LOOK_EVERY_S = 0.5
_NEVER_MS = 0

_LOG = structlog.get_logger(__name__)


class Heartbeats(Protocol):
    """Remembers when a job was last seen (``store/eventlog/job_runs.py``)."""

    def record_heartbeat(self, name: str, *, now_ms: int) -> None:
        """Note that a process works at this job."""


@contextmanager
def beating(
    heartbeats: Heartbeats, clock: Clock, works: threading.Event, *, every_s: float = BEAT_EVERY_S
) -> Iterator[None]:
    """Report every few seconds that the pipeline works, until the block ends; what the store refuses is passed over.

    Nothing is reported before ``works`` is set: a pipeline that has not read the log yet may never do so, so the last
    heartbeat of an earlier run is taken back (``take_back``), at the end too. The threads of the queries do not report:
    one that is busy for minutes is late, and has not ended.
    """

    def beat(ending: threading.Event) -> None:
        is_taken_back = take_back(heartbeats)
        while not works.wait(_LOOK_EVERY_S):
            is_taken_back = is_taken_back or take_back(heartbeats)
            if ending.is_set():
                return
        while True:
            _record(heartbeats, clock.now_ms())
            if ending.wait(every_s):
                take_back(heartbeats)
                return

    with run_beside(beat, "tocsin-heartbeat", ends_within_s=max(every_s, _LOOK_EVERY_S)):
        yield


def take_back(heartbeats: Heartbeats) -> bool:
    """Report that no pipeline has read the log; return whether the store took it."""
    return _record(heartbeats, _NEVER_MS)


def _record(heartbeats: Heartbeats, at_ms: int) -> bool:
    try:
        heartbeats.record_heartbeat(PIPELINE, now_ms=at_ms)
    except FAILURES as error:
        _LOG.debug("heartbeat_not_noted", reason=str(error).splitlines()[0])
        return False
    return True
