"""PySpark's daemon of Python workers, without a traceback for each worker that outlives its driver.

Spark runs it in place of its own (``spark.python.daemon.module``). A driver that stops closes the sockets of its
workers; PySpark's daemon prints a traceback for each one that was about to answer.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from pyspark import daemon

Work = Callable[[socket.socket, bool], int]


def work_until_nobody_listens(sock: socket.socket, authenticated: bool, work: Work = daemon.worker) -> int:
    """Work as PySpark's worker does; return 1, which ends this process, once nobody reads its answer."""
    try:
        return work(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        return 1


if __name__ == "__main__":
    daemon.worker = work_until_nobody_listens
    daemon.manager()
