"""Processes of one worker: the first runs always, others while webhooks pile up, forked from a parent that only waits.

The parent has imported everything and opened nothing, so that a process begins at once and shares its memory. One that
dies is replaced or, unless it is the first, started again when there is need.
Next: ``delivery/worker/shares.py``, ``delivery/worker/deliver.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess

import structlog

from tocsin.delivery.worker.shares import Place, ProcessTable
from tocsin.errors import TocsinError, Unavailable
from tocsin.forks import EarlyDeaths, end_forks, end_in_words, fork, stop_requests
from tocsin.store.database.engine import STORE_FAILURES
from tocsin.store.database.faults import failure_with_cause

_NO_MORE_FOR_S = 30.0
"""Seconds for which no other process is started after one has failed."""

_GRACE_S = 25.0
_MORE = "more"
_log = structlog.get_logger("tocsin.worker")

Work = Callable[[Place], None]


@dataclass(frozen=True)
class _WorkerProcess:
    number: int
    process: ForkProcess
    reports: Connection
    started_s: float


def work_in(limit: int, work: Work, prepare: Callable[[], None]) -> None:
    """Do ``work`` in one process, and in up to ``limit`` while that one asks for more, until this one is stopped.

    Before that, a process of its own does what is to ``prepare``: what that takes in memory is free again afterwards.

    Raises
    ------
    Unavailable : the first process does not stay up
    TocsinError : what a process raised
    """
    with stop_requests() as stop:
        if not _has_prepared(prepare, stop):
            return
        processes = _WorkerProcesses(limit, work)
        try:
            processes.start()
            while stop not in (ready := wait((stop, *processes.waits()))):
                processes.attend(ready)
        finally:
            processes.end()


def _has_prepared(prepare: Callable[[], None], stop: int) -> bool:
    """Prepare in a process; return whether that was done before this one was stopped."""
    reports, to_report = Pipe(duplex=False)
    process = fork(partial(_report_error, prepare, to_report))
    to_report.close()
    is_stopped = stop in wait((stop, process.sentinel))
    end_forks([process], grace_s=_GRACE_S)
    if is_stopped:
        return False
    _take_report(reports)
    if process.exitcode:
        raise Unavailable("The worker cannot open the store; see its output above.")
    return True


class _WorkerProcesses:
    """The processes that this one has started and that still run."""

    def __init__(self, limit: int, work: Work) -> None:
        self._work, self._table = work, ProcessTable(limit)
        self._children: list[_WorkerProcess] = []
        self._early_deaths = EarlyDeaths()
        self._no_more_until_s = 0.0

    def start(self) -> None:
        """Start a process."""
        number = self._table.add()
        reports, to_report = Pipe(duplex=False)
        place = Place(self._table, number, partial(to_report.send, _MORE))
        process = fork(partial(_report_error, partial(self._work, place), to_report))
        to_report.close()
        self._children.append(_WorkerProcess(number, process, reports, time.monotonic()))

    def waits(self) -> list[Connection | int]:
        """Return what can be read when a process has something to say, or has ended."""
        return [source for child in self._children for source in (child.reports, child.process.sentinel)]

    def attend(self, ready: Collection[object]) -> None:
        """Start a process where one asks for it, and see after those that have ended."""
        for child in list(self._children):
            asks = child.reports in ready and _take_report(child.reports)
            if child.process.sentinel in ready:
                self._see_off(child)
            elif asks and len(self._children) < self._table.limit and time.monotonic() >= self._no_more_until_s:
                self.start()
                _log.info("worker.process_started", processes=len(self._children))

    def end(self) -> None:
        """Let all finish what they send, and end."""
        end_forks([child.process for child in self._children], grace_s=_GRACE_S)

    def _see_off(self, child: _WorkerProcess) -> None:
        child.process.join()
        child.reports.close()
        self._children.remove(child)
        self._table.remove(child.number)
        code = child.process.exitcode or 0
        if child.number:
            self._no_more_until_s = time.monotonic() + (_NO_MORE_FOR_S if code else 0.0)
            say = _log.warning if code else _log.info
            say("worker.process_ended", pid=child.process.pid, how=end_in_words(code), processes=len(self._children))
            return
        if self._early_deaths.add(child.started_s):
            raise Unavailable("The worker's processes keep failing; see their output above.")
        _log.warning("worker.process_ended", pid=child.process.pid, how=end_in_words(code), then="restarting")
        self.start()


def _report_error(work: Callable[[], None], to_report: Connection) -> None:
    """Do the work of a process; what is wrong with the settings or the store is the parent's to say."""
    try:
        work()
    except STORE_FAILURES as error:
        failure = error if isinstance(error, TocsinError) else failure_with_cause(error)
        if failure is None:
            raise
        to_report.send(failure)
        raise SystemExit(1) from None


def _take_report(reports: Connection) -> bool:
    """Return whether a process asks for another; raise the error that ended it."""
    try:
        report = reports.recv()
    except EOFError:
        return False
    if isinstance(report, TocsinError):
        raise report
    return True
