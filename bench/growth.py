"""Command ``python -m bench.growth``: how costs grow with what a store holds, as fitted exponents and plots.

The exponent is the slope of the cost over the size, both as logarithms, over the largest two decades of sizes: 0 where
more makes no difference, 1 where twice as much costs twice as much. Next: ``bench/growth_series.py``.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from math import log10
from pathlib import Path
from statistics import linear_regression
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.growth_series import SERIES, Series
from bench.page import PAGE, number, put_between
from bench.plot import Panel, svg_of
from bench.quiet import watch_others
from tocsin.cli.progress import progress_bar

POINTS, PLOT = PAGE.parent / "benchmark-growth.csv", PAGE.parent / "images/growth.svg"
BEGIN, END = "<!-- growth: begin -->", "<!-- growth: end -->"
FITTED_DECADES, MOST_ABOVE = 2, 0.2
"""An exponent that is this much above that of the work itself is too high."""

_COLUMNS = ("more", "work", "from", "to", "cost at first", "cost at last", "exponent", "of the work itself", "measured")
_FIELDS = ("more", "work", "measured", "size", "cost_ms")


@dataclass(frozen=True)
class Growth:
    """The cost (milliseconds) of one work at ascending sizes; ``measured`` says when, and whether among other work."""

    series: Series
    work: str
    points: tuple[tuple[int, float], ...]
    measured: str = ""

    @property
    def exponent(self) -> float:
        """The slope over the largest sizes."""
        least = self.points[-1][0] / 10**FITTED_DECADES
        sizes, costs = zip(*((log10(size), log10(cost)) for size, cost in self.points if size >= least), strict=True)
        return linear_regression(sizes, costs).slope if len(sizes) > 1 else 0.0

    @property
    def is_too_steep(self) -> bool:
        """Whether the cost grows faster than the work."""
        return self.exponent > self.series.exponent + MOST_ABOVE

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        (first, first_ms), (last, last_ms) = self.points[0], self.points[-1]
        exponent = f"{self.exponent:.2f}{': too steep' if self.is_too_steep else ''}"
        costs = (f"{number(first_ms)} ms", f"{number(last_ms)} ms")
        sizes, expected = (f"{first:,}", f"{last:,}"), f"{self.series.exponent:g}"
        return (self.series.name, self.work, *sizes, *costs, exponent, expected, self.measured)

    def panel(self) -> Panel:
        """Return the plot, with a dashed line that grows as the work does."""
        (first, _), (last, last_ms) = self.points[0], self.points[-1]
        guide = ((first, last_ms * (first / last) ** self.series.exponent), (last, last_ms))
        return Panel(f"{self.series.name}: {self.work}", self.points, guide, "{:,.0f}".format, is_logarithmic=True)


def main(
    *,
    only: Annotated[list[str] | None, typer.Option(help="Measure this series; may be given several times.")] = None,
    largest: Annotated[int, typer.Option(min=1, help="Leave out larger sizes.")] = 10_000_000,
    write: Annotated[bool, typer.Option(help="Put them into the table and plot of docs; the others stay.")] = False,
) -> None:
    """Measure how costs grow with events, alerts, follows, assets, recipients, versions, columns and messages."""
    names = [series.name for series in SERIES]
    if unknown := set(only or ()).difference(names):
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: there are {', '.join(names)}", param_hint="--only")
    growths: list[Growth] = []
    for series in SERIES:
        if series.name in (only or names):
            series_growths = _measure_apart(series, largest)
            growths += series_growths
            if write:
                write_page(keep(series_growths))
    Console(width=None if sys.stdout.isatty() else 150).print(_table(growths))


def _measure_apart(series: Series, largest: int) -> list[Growth]:
    """Measure a series, and note when, and whether other processes took much of the machine."""
    with watch_others() as disturbance:
        growths = list(measure(series, largest))
    measured = f"{datetime.now(UTC):%Y-%m-%d}{'' if disturbance.is_quiet else ', not quiet'}"
    return [replace(growth, measured=measured) for growth in growths]


def measure(series: Series, largest: int = sys.maxsize) -> Iterator[Growth]:
    """Measure a series up to a size."""
    sizes = [size for size in series.sizes if size <= largest]
    points: dict[str, list[tuple[int, float]]] = defaultdict(list)
    with progress_bar(series.name) as report:
        for at, costs in enumerate(series.costs(sizes)):
            report(at + 1, len(sizes))
            for work, cost_ms in costs.items():
                points[work].append((sizes[at], cost_ms))
    return (Growth(series, work, tuple(line)) for work, line in points.items())


def keep(growths: Sequence[Growth], path: Path = POINTS) -> list[Growth]:
    """Store the points of some series in place of their earlier ones; return those of all."""
    names = {growth.series.name for growth in growths}
    kept_growths = [growth for growth in read_points(path) if growth.series.name not in names]
    order = [series.name for series in SERIES]
    all_growths = sorted([*kept_growths, *growths], key=lambda growth: order.index(growth.series.name))
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_FIELDS)
        for growth in all_growths:
            head = (growth.series.name, growth.work, growth.measured)
            writer.writerows((*head, size, f"{cost_ms:.4g}") for size, cost_ms in growth.points)
    return all_growths


def read_points(path: Path = POINTS) -> list[Growth]:
    """Return what was measured last of each series that there still is."""
    if not path.exists():
        return []
    series_by_name = {series.name: series for series in SERIES}
    with path.open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["more"] in series_by_name]
    return [
        Growth(series_by_name[name], work, tuple((int(one["size"]), float(one["cost_ms"])) for one in group), measured)
        for (name, work, measured), group in groupby(lines, key=lambda one: (one["more"], one["work"], one["measured"]))
    ]


def write_page(growths: Sequence[Growth], page: Path = PAGE, plot: Path = PLOT) -> None:
    """Put the table between its markers of the page, and draw the plot."""
    rules = ["---:" if name not in ("more", "work") else "---" for name in _COLUMNS]
    lines = _markdown([_COLUMNS, rules, *(growth.cells() for growth in growths)])
    page.write_text(put_between(page.read_text(), BEGIN, END, list(lines)))
    plot.write_text(svg_of([growth.panel() for growth in growths]))


def _markdown(cell_rows: Iterable[Sequence[str]]) -> Iterator[str]:
    return (f"| {' | '.join(cells)} |" for cells in cell_rows)


def _table(growths: Sequence[Growth]) -> Table:
    table = Table(title="Growth", title_justify="left")
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in ("more", "work") else "right")
    for growth in growths:
        table.add_row(*growth.cells())
    return table


if __name__ == "__main__":
    typer.run(main)
