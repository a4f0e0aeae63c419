"""Lifeline of the processes of ``tocsin up``: a pipe by which each detects the end of ``up``, even if it is killed.

The kernel closes the pipe with its last holder, so this works after ``kill -9`` too. Spark's JVM does the same.
"""

from __future__ import annotations

import os
import signal
import threading
import time

VARIABLE = "TOCSIN_LIFELINE"
"""Set in the environment of a process whose standard input is a lifeline."""

_STDIN = 0
_GRACE_S = 15.0


def hold_lifeline() -> None:
    """End this process when its standard input does, if it was started with a lifeline."""
    if os.environ.pop(VARIABLE, None):
        threading.Thread(target=_end_with_stdin, name="lifeline", daemon=True).start()


def _end_with_stdin() -> None:
    while os.read(_STDIN, 1024):  # not sys.stdin: its lock would trouble the interpreter's own end
        continue
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os._exit(1)
