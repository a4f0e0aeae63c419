"""PySpark's daemon of Python workers, with what tasks import, and without a traceback for each worker left behind.

Spark runs it in place of its own (``spark.python.daemon.module``). Workers are forked from it: what it has imported
they need not import, and they share its memory. A driver that stops closes the sockets of its workers; PySpark's
daemon prints a traceback for each one that was about to answer. Next: ``jobs/resolving.py``.
"""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable
from importlib import import_module

from pyspark import daemon

Work = Callable[[socket.socket, bool], int]

_OF_TASKS = (
    "pyspark.worker",
    "pyspark.sql.worker.plan_data_source_read",
    "tocsin.jobs.backtest_tasks",
    "tocsin.jobs.resolving",
    "tocsin.jobs.visible_history",
    "tocsin.jobs.withheld_pairs",
    "tocsin.spark.catalogue",
    "tocsin.spark.sources",
    "tocsin.spark.streaks",
)
"""Modules that hold the work of tasks, and those of PySpark that run it."""

_WITHOUT_THREADS = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Arrow would start a thread when it is imported; a fork copies only the thread that forks."""


def prepare_to_fork() -> None:
    """Import what tasks import, without starting a thread.

    PySpark collects garbage after every task; what is imported here is left out, and its pages remain shared.
    """
    os.environ.update(_WITHOUT_THREADS)
    for name in _OF_TASKS:
        import_module(name)
    gc.collect()
    gc.freeze()


def work_until_nobody_listens(sock: socket.socket, authenticated: bool, work: Work = daemon.worker) -> int:
    """Work as PySpark's worker does; return 1, which ends this process, once nobody reads its answer."""
    try:
        return work(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        return 1


if __name__ == "__main__":
    daemon.worker = work_until_nobody_listens
    prepare_to_fork()
    daemon.manager()
