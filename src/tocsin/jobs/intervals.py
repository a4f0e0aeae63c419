"""Scheduler of the pipeline's background jobs, at intervals that survive restarts.

One thread runs the jobs one after the other; a failure is logged and retried at the next interval.
Next: ``jobs/background.py`` lists the jobs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tocsin.clock import Clock
from tocsin.store.database.engine import STORE_FAILURES

FAILURES = (PySparkException, Py4JError, *STORE_FAILURES)
"""Faults of background jobs that do not end the pipeline."""

_LOOK_EVERY_S = 1.0
_AGAIN_AFTER_S = 5.0
_LONGEST_REASON = 500
_LOG = structlog.get_logger(__name__)


class Memory(Protocol):
    """Remembers when jobs were done."""

    def ran(self, name: str, *, now_ms: int) -> None:
        """Note that this job was done."""

    def run_times_ms(self) -> Mapping[str, int]:
        """Return when each job was last done; those that never were may be missing."""


@dataclass(frozen=True)
class Job:
    """Something to do every ``every_s`` seconds, but not in the first ``after_s`` of a process; 0 for never."""

    name: str
    every_s: float
    do: Callable[[], object]
    after_s: float = 60.0


def run_when_due(
    jobs: Sequence[Job],
    memory: Memory,
    clock: Clock,
    stopping: threading.Event,
    *,
    look_every_s: float = _LOOK_EVERY_S,
) -> None:
    """Do each of ``jobs`` whenever it is due until ``stopping`` is set."""
    started_ms = clock.now_ms()
    active_jobs = [job for job in jobs if job.every_s > 0]
    while active_jobs and not stopping.wait(look_every_s):
        try:
            _do_what_is_due(active_jobs, memory, clock, stopping, started_ms=started_ms)
        except FAILURES as error:  # the store is away: nobody knows when they were last done
            _LOG.warning("jobs_wait", reason=str(error).splitlines()[0])
            stopping.wait(_AGAIN_AFTER_S)


def _do_what_is_due(
    jobs: Sequence[Job], memory: Memory, clock: Clock, stopping: threading.Event, *, started_ms: int
) -> None:
    run_times_ms = memory.run_times_ms()
    for job in jobs:
        now_ms = clock.now_ms()
        if now_ms >= _due_ms(job, run_times_ms, started_ms, now_ms) and not stopping.is_set():
            _do(job, stopping)
            memory.ran(job.name, now_ms=now_ms)


def _due_ms(job: Job, run_times_ms: Mapping[str, int], started_ms: int, now_ms: int) -> float:
    """Return from when on the job is due.

    A time in the future was stored before the clock was set back, and does not count: the job would wait until then.
    """
    waits = ((run_times_ms.get(job.name, 0), job.every_s), (started_ms, job.after_s))
    return max((since_ms + wait_s * 1000 for since_ms, wait_s in waits if since_ms <= now_ms), default=0)


def _do(job: Job, stopping: threading.Event) -> None:
    try:
        _LOG.info("job_done", job=job.name, result=job.do())
    except FAILURES as error:
        if not stopping.is_set():
            _LOG.error("job_failed", job=job.name, reason=str(error).splitlines()[0])
    except Exception:  # noqa: BLE001  # an error in one job keeps none of the others from their turn
        _LOG.exception("job_failed", job=job.name)


def keep_running(
    work: Callable[[], None], name: str, stopping: threading.Event, *, again_after_s: float = _AGAIN_AFTER_S
) -> None:
    """Run ``work`` until it returns; after an error that it does not handle, begin it again until ``stopping`` is set.

    Otherwise its thread would end, and nothing that is requested later would be done before the next start.
    """
    while True:
        try:
            return work()
        except Exception:  # noqa: BLE001  # an error in one request keeps none of the later ones from being done
            _LOG.exception("background_thread_failed", thread=name)
        if stopping.wait(again_after_s):
            return None


def brief(reason: str) -> str:
    """Return the most informative line of a failure, Python's if there is one, shortened to one line."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()] or ["no reason given"]
    spoken = [line for line in lines if line.partition(":")[0].endswith(("Error", "Exception")) and " at " not in line]
    return (spoken or lines)[-1 if spoken else 0][:_LONGEST_REASON]
