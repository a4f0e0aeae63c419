"""Row of the benchmark table: a figure and a floor that was measured in the same run.

Next: ``bench/page.py`` prints rows, ``bench/__main__.py`` collects them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles

FURTHEST_SPREAD = 1.5
"""The greatest figure over the least, above which a row says that its rounds spread too far to be trusted."""

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
    n : how many events, writes, messages or starts the figure stands on
    aim : the figure that the design asks for, if it names one
    span : least and greatest figure of the rounds; None where there was one round
    paired : median over the rounds of figure over floor; None where figure and floor were not measured in pairs
    """

    benchmark: str
    name: str
    figure: float
    unit: str
    floor: float | None
    n: int
    aim: str = ""
    span: tuple[float, float] | None = None
    paired: float | None = None

    @property
    def ratio(self) -> float | None:
        """The figure over its floor, of paired rounds where there are any."""
        if self.paired is not None:
            return self.paired
        return self.figure / self.floor if self.floor else None

    @property
    def is_settled(self) -> bool:
        """Whether the rounds agree well enough for the figure to mean something."""
        return self.span is None or self.span[1] <= FURTHEST_SPREAD * self.span[0]

    def as_json(self) -> dict[str, object]:
        """Return the row as plain values."""
        return {**asdict(self), "ratio": self.ratio}


Benchmark = Callable[[float, Report], list[Measurement]]
"""Measures at a scale (1 is the full size) and reports how far it is."""


@dataclass(frozen=True)
class Rounds:
    """Seconds that something took, round by round, and what its floor took in the same round."""

    times_s: tuple[float, ...]
    floors_s: tuple[float, ...]

    def rate(self, benchmark: str, name: str, unit: str, count: int, *, aim: str = "") -> Measurement:
        """Return the row of so many things a round, per second."""
        rates, floors = [count / one for one in self.times_s], [count / one for one in self.floors_s]
        return self._row(benchmark, name, unit, rates, floors, count, aim)

    def time(self, benchmark: str, name: str, *, aim: str = "") -> Measurement:
        """Return the row of how long a round takes, in milliseconds."""
        times, floors = [one * 1000 for one in self.times_s], [one * 1000 for one in self.floors_s]
        return self._row(benchmark, name, "ms", times, floors, len(times), aim)

    def _row(
        self, benchmark: str, name: str, unit: str, figures: list[float], floors: list[float], n: int, aim: str
    ) -> Measurement:
        paired = median(figure / floor for figure, floor in zip(figures, floors, strict=True))
        span = (min(figures), max(figures))
        return Measurement(benchmark, name, median(figures), unit, median(floors), n, aim, span, paired)


def in_alternation(run: Callable[[], float], floor: Callable[[], float], *, rounds: int, warm_ups: int) -> Rounds:
    """Run something and its floor in turns; return their seconds without those of the first ``warm_ups`` rounds.

    Both are measured on the same machine at nearly the same moment, so that a busy minute slows both down.
    """
    pairs = [(floor(), run()) for _ in range(warm_ups + rounds)][warm_ups:]
    return Rounds(tuple(run_s for _, run_s in pairs), tuple(floor_s for floor_s, _ in pairs))


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile; of fewer than two values, the greatest."""
    return quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


def p95_ms(work: Callable[[], object], count: int) -> float:
    """Return the 95th percentile of how long something takes, done so many times, in milliseconds."""
    times_ms: list[float] = []
    for _ in range(count):
        began_s = time.perf_counter()
        work()
        times_ms.append((time.perf_counter() - began_s) * 1000)
    return p95(times_ms)


def p50(values: Sequence[float]) -> float:
    """Return the median."""
    return median(values)


def scale_count(full: int, scale: float, *, least: int) -> int:
    """Return how many of ``full`` to do at ``scale``."""
    return max(least, round(full * scale))
