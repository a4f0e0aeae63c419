"""Processes that make and plan Spark's data sources beside the driver, and how they end when it does.

PySpark runs them in programs of its own, which no setting replaces, and prints a traceback where the driver ends before
it has read their answer. Each data source of ours calls ``end_quietly`` there.
"""

from __future__ import annotations

import os
import sys
import traceback
from types import SimpleNamespace, TracebackType

_READERS_PROGRAM = "pyspark.sql.streaming.python_streaming_source_runner"
"""What Spark runs a stream's reader in."""

_PLANNING_PROGRAM = "pyspark.daemon"
"""What forks the processes that make a source and plan its tasks; it prints what ends them."""

_RAISE_WHAT_NOBODY_READS = "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE"
"""Variable of PySpark's daemon: if it is set, an answer that nobody reads is raised, not printed with a traceback."""


def end_quietly() -> None:
    """Let a process that plans beside the driver end without a traceback when its driver has ended.

    In any other process it does nothing.
    """
    main = sys.modules["__main__"]
    program = getattr(main, "__spec__", None)
    if program is not None and program.name == _READERS_PROGRAM:
        sys.excepthook = _print_unless_nobody_listens
    elif program is not None and program.name == _PLANNING_PROGRAM:  # it prints by this name, whatever the settings
        os.environ[_RAISE_WHAT_NOBODY_READS] = "1"
        vars(main)["traceback"] = SimpleNamespace(format_exc=traceback.format_exc, print_exc=_print_error)


def _print_error() -> None:
    kind, error, trace = sys.exc_info()
    if kind is not None and error is not None:
        _print_unless_nobody_listens(kind, error, trace)


def _print_unless_nobody_listens(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, BrokenPipeError | ConnectionResetError):
        sys.__excepthook__(kind, error, trace)
