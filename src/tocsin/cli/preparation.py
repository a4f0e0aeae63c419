"""Preparation of ``tocsin up``: a process that makes what the first start needs, and ends when the pipeline is ready.

It opens the store and loads the sample. ``up`` itself runs as long as everything does, and never imports what that
takes: 70 MiB. Next: ``cli/up.py``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess

from tocsin.cli.extras import needing
from tocsin.errors import TocsinError, Unavailable
from tocsin.forks import end_forks, fork

_LOOK_EVERY_S = 0.1
_ENDS_WITHIN_S = 10.0

Report = Callable[[object, Callable[[], bool]], None]
"""Takes the result of a preparation, and what says that all it waits for has happened; returns when it has."""


class Preparation:
    """The process, as its parent sees it."""

    def __init__(self, process: ForkProcess, reports: Connection) -> None:
        self._process, self._reports = process, reports
        self._is_over = False

    def result(self) -> object:
        """Wait for the result and return it.

        Raises
        ------
        TocsinError : what went wrong
        """
        report = self._next_report()
        if isinstance(report, TocsinError):
            raise report
        return report

    async def is_over(self) -> bool:
        """Return whether the process has seen what it waits for."""
        if not self._is_over and self._reports.poll():
            self._next_report()
            self._is_over = True
            await asyncio.to_thread(self._process.join, _ENDS_WITHIN_S)
        return self._is_over

    def _next_report(self) -> object:
        try:
            return self._reports.recv()
        except EOFError:
            raise Unavailable("The preparation of the store ended early; see the output above.") from None


@contextmanager
def preparing(prepare: Callable[[Report], None]) -> Iterator[Preparation]:
    """Run ``prepare`` in a process of its own, until that ends or the block does."""
    reports, to_report = Pipe(duplex=False)
    process = fork(partial(_prepare, prepare, to_report))
    to_report.close()
    try:
        yield Preparation(process, reports)
    finally:
        end_forks([process], grace_s=_ENDS_WITHIN_S)
        reports.close()


def _prepare(prepare: Callable[[Report], None], to_report: Connection) -> None:
    def report(result: object, is_over: Callable[[], bool]) -> None:
        to_report.send(result)
        while not is_over():
            time.sleep(_LOOK_EVERY_S)
        to_report.send(None)

    try:
        with needing("all"):
            from tocsin.store.database.engine import STORE_FAILURES
            from tocsin.store.database.faults import failure_with_cause
        try:
            prepare(report)
        except STORE_FAILURES as error:
            failure = error if isinstance(error, TocsinError) else failure_with_cause(error)
            if failure is None:
                raise
            to_report.send(failure)
    except TocsinError as error:
        to_report.send(error)
