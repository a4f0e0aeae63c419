"""History of full runs: a row per figure in ``docs/benchmark-history.csv``, drawn over time beside it.

A figure is drawn as its ratio to the floor of the same run, so that runs on different machines compare; a loss of a few
percent with each change shows as a line that falls. Next: ``bench/plot.py``.
"""

from __future__ import annotations

import csv
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from bench.measured import Measurement
from bench.page import PAGE
from bench.plot import Panel, svg_of
from bench.quiet import Disturbance

HISTORY, PLOT = PAGE.parent / "benchmark-history.csv", PAGE.parent / "images/benchmark-history.svg"
_FIELDS = ("measured", "commit", "benchmark", "what", "unit", "figure", "floor", "n", "busy_percent")
_FEWEST_RUNS = 3
"""A line needs so many points."""


@dataclass(frozen=True)
class Run:
    """One figure of one run; ``floor`` is None where none was measured."""

    measured: date
    benchmark: str
    name: str
    unit: str
    figure: float
    floor: float | None

    @property
    def speed(self) -> float | None:
        """How fast this is beside its floor: 1 is as fast, less is slower; None without a floor."""
        if not self.floor or not self.figure:
            return None
        return self.figure / self.floor if self.unit.endswith("/s") else self.floor / self.figure


def keep(measurements: Sequence[Measurement], disturbances: Mapping[str, Disturbance], path: Path = HISTORY) -> None:
    """Append a full run to the history, and draw it anew."""
    today, commit = f"{datetime.now(UTC):%Y-%m-%d}", _commit()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in measurements:
            busy = disturbances[row.benchmark].busy_percent
            figures = (f"{row.figure:.4g}", "" if row.floor is None else f"{row.floor:.4g}", row.n)
            writer.writerow(
                (today, commit, row.benchmark, row.name, row.unit, *figures, "" if busy is None else f"{busy:.0f}")
            )
    PLOT.write_text(draw(read(path)))


def read(path: Path = HISTORY) -> list[Run]:
    """Return every figure of every run, in their order."""
    with path.open(newline="") as file:
        return [
            Run(
                date.fromisoformat(row["measured"]),
                row["benchmark"],
                row["what"],
                row["unit"],
                float(row["figure"]),
                float(row["floor"]) if row["floor"] else None,
            )
            for row in csv.DictReader(file, _FIELDS)
            if row["measured"] != "measured"
        ]


def draw(runs: Sequence[Run]) -> str:
    """Return a plot, as SVG, of every figure that has a floor and was measured at least three times."""
    lines: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for run in runs:
        if run.speed is not None:  # of two runs on one day, the later counts
            lines[run.benchmark, run.name][run.measured.toordinal()] = run.speed
    return svg_of(
        [
            Panel(f"{benchmark}: {_shorten(name)}", sorted(points.items()), x_label=_day)
            for (benchmark, name), points in lines.items()
            if len(points) >= _FEWEST_RUNS
        ]
    )


def _shorten(text: str, limit: int = 34) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _day(ordinal: float) -> str:
    return date.fromordinal(int(ordinal)).isoformat()


def _commit() -> str:
    command = ("git", "-C", str(PAGE.parent), "describe", "--always", "--dirty")
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()
