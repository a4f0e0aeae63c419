"""Clock of the product's processes in a replay: the machine's, set ahead by as much as a file says.

Python runs this file at its start, because its folder is on the path (``truth/processes.py``). The file named by
``TRUTH_AHEAD`` holds the nanoseconds, eight bytes; a change of it counts at once, in all processes.
"""

from __future__ import annotations

import os
import sys
import time
from mmap import ACCESS_READ, mmap
from pathlib import Path


def set_ahead(path: str) -> None:
    """Let ``time.time_ns`` return the machine's time and what the file says."""
    machine_time_ns = time.time_ns
    with Path(path).open("rb") as file:
        ahead_ns = mmap(file.fileno(), 8, access=ACCESS_READ)
    time.time_ns = lambda: machine_time_ns() + int.from_bytes(ahead_ns[:8], sys.byteorder)


if "TRUTH_AHEAD" in os.environ:
    set_ahead(os.environ["TRUTH_AHEAD"])
