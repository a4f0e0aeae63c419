"""Wait for the store at the start of a process, with a log message that names the cause.

After a reboot, programs start in any order. Errors that waiting does not resolve (a wrong address, a rejected password)
are raised at once. Next: ``store/database/faults.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import structlog

from tocsin.errors import TocsinError
from tocsin.store.database.faults import AWAY, BUSY, UNKNOWN, Fault, fault_of

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 30.0
_LOG = structlog.get_logger(__name__)
T = TypeVar("T")


def is_away(fault: Fault) -> bool:
    """Return whether a store with this fault is there sooner or later, without anybody mending anything."""
    return fault in (AWAY, BUSY)


def may_pass(fault: Fault) -> bool:
    """Return whether this fault may have passed at the next try: as ``is_away``, or a full disk, for example."""
    return fault.passes and fault is not UNKNOWN


def wait_for(
    part: str,
    make: Callable[[], T],
    stopping: threading.Event,
    *,
    passes: Callable[[Fault], bool] = is_away,
    failures: tuple[type[Exception], ...] = (TocsinError, OSError),
) -> T | None:
    """Return the result of ``make`` once no fault that ``passes`` prevents it; None when ``stopping`` came first.

    ``part`` names the waiting process; ``failures`` are handled, all others raised.
    """
    wait_s = _FIRST_WAIT_S
    while not stopping.is_set():
        try:
            return make()
        except failures as error:
            fault = fault_of(error)
            if fault is None or not passes(fault):
                raise
            _LOG.warning(f"{part}_waits", fault=fault.name, says=fault.sentence, again_in_s=wait_s)
        stopping.wait(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
    return None
