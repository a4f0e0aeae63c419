"""Supervision of the pipeline's streaming queries: start, monitoring, and restart from the checkpoint.

Transient faults (the store unavailable, read-only or full, no space for the checkpoint) are retried without limit and
reported by the health check. A damaged checkpoint is set aside. A failure that recurs without such a fault ends the
query. Next: ``store/database/faults.py``, ``jobs/checkpoint.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import structlog
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tocsin.clock import Clock
from tocsin.errors import InternalError, Unavailable
from tocsin.jobs.checkpoint import is_damage, set_aside
from tocsin.jobs.intervals import FAILURES, brief
from tocsin.jobs.query_progress import has_looked_at_log
from tocsin.store.database.faults import Fault, fault_in, fault_of
from tocsin.store.database.folder import check_takes_files
from tocsin.threads import run_beside

TRIES = 3
"""A query that ends so often in a row without getting anywhere, and for no fault that passes, is given up."""

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 30.0
_LOOK_EVERY_S = 0.5
_ENDS_WITHIN_S = 10.0
_LOG = structlog.get_logger(__name__)


class WaitReports(Protocol):
    """Records, for the health route, what the pipeline waits for (``store/eventlog/outages.py``)."""

    def begin(self, query_name: str, fault: str, *, since_ms: int) -> None:
        """Note that a query waits for a fault to pass; raises what the store raises where it cannot be written."""

    def end(self, query_name: str) -> None:
        """Note that a query works."""


@dataclass(frozen=True)
class QueryEnvironment:
    """Dependencies of the queries: Spark, the store, the folder of checkpoints, and a clock."""

    session: SparkSession
    waits: WaitReports
    checkpoints: Path
    clock: Clock
    first_wait_s: float = _FIRST_WAIT_S
    look_every_s: float = _LOOK_EVERY_S
    longest_wait_s: float = _LONGEST_WAIT_S

    def fault(self, name: str, since_ms: int, noted: str) -> Fault | None:
        """Return what keeps the query of this name from working now, if anything: tried out, not guessed.

        To note that it waits, and for what, is how the store is tried.
        """
        try:
            self.waits.begin(name, noted, since_ms=since_ms)
            check_takes_files(self.checkpoints)
        except FAILURES as error:
            return fault_of(error)
        return None


@dataclass(frozen=True)
class Supervised:
    """A streaming query: its name, its checkpoint, and what runs it in the background while a block lasts."""

    name: str
    checkpoint: Path
    running: Callable[[], AbstractContextManager[StreamingQuery]]


@dataclass(frozen=True)
class _End:
    """How a run ended: why, in Spark's words or Python's, and whether it had looked at the log before."""

    reason: str
    has_looked_at_log: bool


def keep_running(
    query: Supervised, environment: QueryEnvironment, stopping: threading.Event, go_on: Callable[[], None]
) -> None:
    """Run ``query`` until ``stopping`` is set; call ``go_on`` at each look at it once it does its work.

    Raises
    ------
    InternalError : it fails repeatedly, and none of its dependencies is at fault
    Unavailable : it fails for a permanent fault; the message says what to do
    """
    failures, watch = 0, _QueryWatch(query, environment, stopping, go_on)
    while (end := watch.run()) is not None:
        failures = 0 if end.has_looked_at_log else failures
        fault = fault_in(end.reason) or environment.fault(query.name, environment.clock.now_ms(), "query_failed")
        if fault is not None and not fault.passes:
            raise Unavailable(f"{fault.sentence} The query {query.name} failed with: {brief(end.reason)}")
        if fault is not None:
            watch.wait_out(fault)
            continue
        failures += 1
        _LOG.error("query_failed", query=query.name, failures=failures, reason=brief(end.reason))
        if failures == 1 and is_damage(end.reason) and query.checkpoint.is_dir():
            set_aside(query.checkpoint, brief(end.reason), environment.clock)
        if failures >= TRIES:
            raise InternalError(
                f"The query {query.name} failed {failures} times in a row, and the cause is neither the store nor"
                f" the disk: {brief(end.reason)}. Nothing is lost: it resumes from its checkpoint after a"
                " restart."
            )
        stopping.wait(environment.first_wait_s * failures)


@contextmanager
def running_alongside(
    query: Supervised, environment: QueryEnvironment, *, ends_within_s: float = _ENDS_WITHIN_S
) -> Iterator[None]:
    """Run ``query`` in a thread of its own until the block ends.

    What does not pass is logged and tried again, seldom: it must not keep the others from their work. A query that has
    not ended within ``ends_within_s`` is left to itself: its process is about to end.
    """

    def keep(stopping: threading.Event) -> None:
        while not stopping.is_set():
            try:
                keep_running(query, environment, stopping, _do_nothing)
            except (InternalError, Unavailable) as error:
                _LOG.error("query_given_up", query=query.name, reason=error.message, again_in_s=_LONGEST_WAIT_S)
                stopping.wait(_LONGEST_WAIT_S)

    with run_beside(keep, query.name, ends_within_s=ends_within_s):
        yield


def _do_nothing() -> None:
    """Do nothing once a query does its work."""


class _QueryWatch:
    """The life of one query, over all its runs."""

    def __init__(
        self, query: Supervised, environment: QueryEnvironment, stopping: threading.Event, go_on: Callable[[], None]
    ) -> None:
        self._query, self._environment, self._stopping, self._go_on = query, environment, stopping, go_on
        self._waits_since_ms: int | None = None
        self._has_looked_at_log = False
        self._is_clear = False

    def run(self) -> _End | None:
        """Run the query until it fails, and return how; None when it was to stop."""
        self._has_looked_at_log = self._is_clear = False
        try:
            with self._query.running() as query:
                while query.isActive and not self._stopping.is_set():
                    self._look_at(query)
                    self._stopping.wait(self._environment.look_every_s)
                reason = None if self._stopping.is_set() else str(query.exception())
        except FAILURES as error:
            reason = f"{type(error).__module__}.{type(error).__name__}: {error}"
        if self._stopping.is_set():
            return None
        self._check_spark()
        return _End(str(reason), self._has_looked_at_log)

    def wait_out(self, fault: Fault | None) -> None:
        """Return once the fault has passed, after longer and longer waits, or it is time to stop."""
        since_ms = self._waits_since_ms or self._environment.clock.now_ms()
        self._waits_since_ms, wait_s = since_ms, self._environment.first_wait_s
        while fault is not None and not self._stopping.is_set():
            if not fault.passes:
                raise Unavailable(fault.sentence)
            _LOG.warning(
                "query_waits",
                query=self._query.name,
                fault=fault.name,
                says=fault.sentence,
                since_ms=since_ms,
                again_in_s=wait_s,
            )
            fault_name = fault.name
            self._stopping.wait(wait_s)
            fault = self._environment.fault(self._query.name, since_ms, fault_name)
            wait_s = min(2 * wait_s, self._environment.longest_wait_s)

    def _look_at(self, query: StreamingQuery) -> None:
        """Note that the query works, as soon as it has done a micro-batch or has nothing to do."""
        if not self._has_looked_at_log:
            self._has_looked_at_log = has_looked_at_log(query)
        if self._has_looked_at_log:
            self._go_on()
        if self._has_looked_at_log and not self._is_clear:
            self._is_clear = self._clear_wait()

    def _clear_wait(self) -> bool:
        try:
            self._environment.waits.end(self._query.name)
        except FAILURES as error:  # said again at the next look
            _LOG.warning("store_does_not_take_this", what="the end of a wait", reason=brief(str(error)))
            return False
        if self._waits_since_ms is not None:
            _LOG.info("query_goes_on", query=self._query.name, waited_since_ms=self._waits_since_ms)
            self._waits_since_ms = None
        return True

    def _check_spark(self) -> None:
        """Raise ``Unavailable`` if the JVM has ended: only a new process can start another."""
        try:
            is_stopped = bool(self._environment.session.sparkContext._jsc.sc().isStopped())  # no other way
        except (Py4JError, OSError, AttributeError):
            is_stopped = True
        if is_stopped:
            raise Unavailable(
                "Spark has stopped, perhaps because it ran out of memory (TOCSIN_SPARK_DRIVER_MEMORY). Restart"
                " the pipeline."
            )
