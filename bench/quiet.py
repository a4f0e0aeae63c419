"""Share of the machine that other processes take while a benchmark runs, which lowers its figures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.running import family

MOST_BUSY_PERCENT = 10.0
"""Above this share of all cores' time for other processes, figures are marked."""

_STAT = Path("/proc/stat")
_IDLE = (3, 4)
"""Places of the times that no process took, in the first line of ``/proc/stat``: idle, and waiting for a disk."""
_GUEST = 8
"""Times from this place on are contained in others."""


@dataclass
class Disturbance:
    """What others took of all cores' time, in percent; None where the system does not tell."""

    busy_percent: float | None = None

    @property
    def is_quiet(self) -> bool:
        """Whether figures mean something."""
        return self.busy_percent is None or self.busy_percent <= MOST_BUSY_PERCENT

    def text(self) -> str:
        """Return what a reader of the figures must know; empty where the machine was quiet."""
        return "" if self.is_quiet else f"not quiet: others took {self.busy_percent:.0f} % of the cores"


@contextmanager
def watch_others() -> Iterator[Disturbance]:
    """Yield what is known once the block has ended: what processes took that this one has not started."""
    disturbance = Disturbance()
    if not _STAT.exists():
        yield disturbance
        return
    own_s, (busy_s, all_s) = _own_s(), _machine_s()
    yield disturbance
    own_s, (busy_s, all_s) = _own_s() - own_s, _subtract(_machine_s(), (busy_s, all_s))
    disturbance.busy_percent = 100 * max(0.0, busy_s - own_s) / all_s if all_s else None


def _subtract(later: tuple[float, float], earlier: tuple[float, float]) -> tuple[float, float]:
    return later[0] - earlier[0], later[1] - earlier[1]


def _machine_s() -> tuple[float, float]:
    """Return the seconds that the cores worked and that there were, since the machine started."""
    times = [int(word) for word in _STAT.read_text().split("\n", 1)[0].split()[1:]][:_GUEST]
    ticks = os.sysconf("SC_CLK_TCK")
    idle = sum(times[place] for place in _IDLE)
    return (sum(times) - idle) / ticks, sum(times) / ticks


def _own_s() -> float:
    """Return the seconds of processor time of this process and of all that it started, ended ones too."""
    seconds = 0.0
    for pid in family(os.getpid()):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            seconds += sum(int(word) for word in words[11:15]) / os.sysconf("SC_CLK_TCK")
    return seconds
