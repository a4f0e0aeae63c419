"""Waits of a process between two attempts at its broker or store, and the lines that it logs of them.

The same reason is logged once, and again where it lasts: a broker that is away for an hour is twelve lines, not
hundreds. Next: ``relay/loop.py``, ``ingest/loop.py``.
"""

from __future__ import annotations

import threading

import structlog

from tocsin.clock import Steady, steady_s

FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 10.0
SAID_EVERY_S = 300.0
"""Seconds after which a reason that lasts is logged again."""

_log = structlog.get_logger("tocsin.waits")


class BrokerWaits:
    """Waits of one process, each twice as long as the one before; ``event`` is the name of their lines in the log."""

    def __init__(self, event: str, *, first_s: float = FIRST_WAIT_S, steady: Steady = steady_s) -> None:
        self._event, self._first_s, self._steady = event, first_s, steady
        self._wait_s = first_s
        self._reason, self._began_s, self._said_s = "", 0.0, 0.0

    def wait(self, error: Exception, stop: threading.Event) -> None:
        """Wait because of ``error``, until ``stop`` is set at most, and log its first line."""
        reason, now_s = str(error).partition("\n")[0], self._steady()
        if reason != self._reason:
            self._reason, self._began_s = reason, now_s
            self._say(now_s)
        elif now_s - self._said_s >= SAID_EVERY_S:
            self._say(now_s, for_s=round(now_s - self._began_s))
        stop.wait(self._wait_s)
        self._wait_s = min(2 * self._wait_s, LONGEST_WAIT_S)

    def end(self) -> None:
        """Note that an attempt was successful: the next wait is a short one, and says why."""
        self._wait_s, self._reason = self._first_s, ""

    def _say(self, now_s: float, **facts: float) -> None:
        _log.warning(self._event, reason=self._reason, **facts)
        self._said_s = now_s
