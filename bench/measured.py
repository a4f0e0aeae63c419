"""Row of the benchmark table: a figure and a floor that was measured in the same run.

Next: ``bench/page.py`` prints rows, ``bench/__main__.py`` collects them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles

Report = Callable[[int, int], None]
"""Called with the finished and the whole amount of a benchmark."""


@dataclass(frozen=True)
class Measurement:
    """One figure.

    Attributes
    ----------
    benchmark : which benchmark measured it
    name : what was measured
    unit : of both ``figure`` and ``floor``
    floor : the least that anybody could do at all, measured in the same run; None where there is none
    n : how many events, writes, deliveries or starts the figure stands on
    aim : the figure that the design asks for, if it names one
    """

    benchmark: str
    name: str
    figure: float
    unit: str
    floor: float | None
    n: int
    aim: str = ""

    @property
    def ratio(self) -> float | None:
        """The figure over its floor."""
        return self.figure / self.floor if self.floor else None

    def as_json(self) -> dict[str, object]:
        """Return the row as plain values."""
        return {**asdict(self), "ratio": self.ratio}


Benchmark = Callable[[float, Report], list[Measurement]]
"""Measures at a scale (1 is the full size) and reports how far it is."""


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile; of fewer than two values, the greatest."""
    return quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


def p50(values: Sequence[float]) -> float:
    """Return the median."""
    return median(values)


def scaled(full: int, scale: float, *, least: int) -> int:
    """Return how many of ``full`` to do at ``scale``."""
    return max(least, round(full * scale))
