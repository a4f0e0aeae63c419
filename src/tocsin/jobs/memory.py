"""Return of memory that Java no longer needs to the system, once the pipeline has become idle.

Java keeps what its busiest minute took: its own periodic collection waits for a minute without any, and an idle Spark
makes enough garbage to prevent that. So a thread looks whether the log has stood still for a while; it then collects
once, in a third of a second, and returns what Java and its compiler have freed.
*Source:* the diagnostic command ``System.trim_native_heap`` of Java 17.0.9 and later. Next: ``jobs/background.py``.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol

import structlog
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from tocsin.jobs.intervals import FAILURES

LOOK_EVERY_S = 60.0
_GROWN = 1.5
"""How often what was left by the last collection Java must have taken before another one is worth its time."""

_TIMES = 2
"""So often memory is given back while the log stands still: Java's compiler goes on for a while after the first."""

_COMMANDS = "com.sun.management:type=DiagnosticCommand"
_TRIM = "systemTrimNativeHeap"
_LOG = structlog.get_logger(__name__)


class Heap(Protocol):
    """Memory of a Java process."""

    def size(self) -> int:
        """Return the size of the heap in bytes, free parts included."""

    def is_in_use(self) -> bool:
        """Return whether jobs run."""

    def give_back(self) -> None:
        """Collect garbage, and return free memory to the system."""


class LogEnd(Protocol):
    """End of the log (``store/eventlog/log.py``)."""

    def readable_end(self) -> int:
        """Return the highest offset that may be read."""


class SparkHeap:
    """Memory of the driver's Java process."""

    def __init__(self, session: SparkSession) -> None:
        self._context = session.sparkContext
        self._java: Any = session.sparkContext._jvm  # Any: Java's packages

    def size(self) -> int:
        """Return the size of the heap in bytes, free parts included."""
        return int(self._java.java.lang.Runtime.getRuntime().totalMemory())

    def is_in_use(self) -> bool:
        """Return whether Spark runs jobs."""
        return bool(self._context.statusTracker().getActiveJobsIds())

    def give_back(self) -> None:
        """Collect garbage, and return free memory to the system."""
        self._java.java.lang.System.gc()
        try:
            beans = self._java.java.lang.management.ManagementFactory.getPlatformMBeanServer()
            beans.invoke(self._java.javax.management.ObjectName(_COMMANDS), _TRIM, None, None)
        except Py4JError as error:  # another Java, or another system than Linux
            _LOG.debug("native_memory_kept", reason=str(error).splitlines()[0])


class MemoryReturn:
    """Gives memory back each time the pipeline has become idle: once, and once more a look later."""

    def __init__(self, heap: Heap, log: LogEnd) -> None:
        self._heap, self._log = heap, log
        self._seen_end: int | None = None
        self._left = self._times = 0

    def look(self) -> bool:
        """Give memory back if nothing has come since the last look, and there may be some; return whether it did."""
        end, before = self._log.readable_end(), self._seen_end
        self._seen_end = end
        if end != before:
            self._times = 0
        has_grown = self._heap.size() >= self._left * _GROWN
        if end != before or self._heap.is_in_use() or not (self._times < _TIMES or has_grown):
            return False
        self._heap.give_back()
        self._left, self._times = self._heap.size(), self._times + 1
        _LOG.info("memory_given_back", heap_bytes=self._left)
        return True


def run(memory: MemoryReturn, stopping: threading.Event, *, look_every_s: float = LOOK_EVERY_S) -> None:
    """Look every ``look_every_s`` seconds until ``stopping`` is set."""
    while not stopping.wait(look_every_s):
        try:
            memory.look()
        except FAILURES as error:  # the store is away: others say so
            _LOG.debug("memory_not_looked_at", reason=str(error).splitlines()[0])
