"""Output of measurements: one table on the terminal, and the same one in ``docs/benchmarks.md``."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.table import Table

from bench.measured import Measurement

MACHINE = "2 cores, shared"
PAGE = Path(__file__).resolve().parents[1] / "docs/benchmarks.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"

_COLUMNS = ("benchmark", "what", "figure", "range", "unit", "floor", "ratio", "n", "aim")
_ON_PAGE = (*_COLUMNS, "measured")
_RIGHT = frozenset({"figure", "range", "floor", "ratio", "n"})


def table_of(measurements: Sequence[Measurement]) -> Table:
    """Return the table for a terminal."""
    table = Table(title=f"Tocsin on {MACHINE}", title_justify="left")
    for column in _COLUMNS:
        table.add_column(column, justify="right" if column in _RIGHT else "left", no_wrap=column != "what")
    for row in _grouped_cells(measurements):
        table.add_row(*row)
    return table


def write_page(
    measurements: Sequence[Measurement], page: Path = PAGE, *, disturbed_names: Collection[str] = frozenset()
) -> None:
    """Put these rows between the two markers of the page, in place of those of the same benchmarks; others stay.

    ``disturbed_names`` are the benchmarks beside which other processes ran.
    """
    text = page.read_text()
    groups = _parse_table(text.partition(BEGIN)[2].partition(END)[0]) | _dated_cells(
        measurements, disturbed_names
    )  # a benchmark that was there already keeps its place
    lines = _markdown([cells for group in groups.values() for cells in group])
    page.write_text(put_between(text, BEGIN, END, [_machine_text(), "", *lines]))


def put_between(text: str, begin: str, end: str, lines: Sequence[str]) -> str:
    """Return the text of a page with these lines between two markers.

    Raises
    ------
    ValueError : the text lacks a marker
    """
    before, first, remainder = text.partition(begin)
    _, last, after = remainder.partition(end)
    if not (first and last):
        raise ValueError(f"the page lacks its markers {begin} and {end}")
    return "\n".join((f"{before}{begin}", "", *lines, "", f"{end}{after}"))


def _machine_text() -> str:
    parts = (
        f"Machine: {MACHINE}",
        f"Python {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}",
        f"PySpark {version('pyspark')}",
    )
    return "; ".join(parts) + "."


def _markdown(cells: Sequence[Sequence[str]]) -> list[str]:
    rules = ["---:" if column in _RIGHT else "---" for column in _ON_PAGE]
    return [f"| {' | '.join(one)} |" for one in (_ON_PAGE, rules, *cells)]


def _dated_cells(measurements: Sequence[Measurement], disturbed_names: Collection[str]) -> dict[str, list[list[str]]]:
    """Return the cells of each benchmark's rows; the day is in the first, and that the machine was not quiet."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    names = {row.benchmark for row in measurements}
    days = {name: f"{today}, not quiet" if name in disturbed_names else today for name in names}
    return _by_name([*row, days.get(row[0], "")] for row in _grouped_cells(measurements))


def _parse_table(table: str) -> dict[str, list[list[str]]]:
    """Return the cells of each benchmark's rows in ``table``, as ``_markdown`` wrote it."""
    lines = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| ")]
    return _by_name([cell.strip() for cell in line] for line in lines[2:] if len(line) == len(_ON_PAGE))


def _by_name(cell_rows: Iterable[list[str]]) -> dict[str, list[list[str]]]:
    groups: dict[str, list[list[str]]] = {}
    name = ""
    for row in cell_rows:
        name = row[0] or name
        groups.setdefault(name, []).append(row)
    return groups


def _grouped_cells(measurements: Sequence[Measurement]) -> list[list[str]]:
    """Return the cells of each row; a benchmark's name is in its first row only."""
    cells, previous_name = [], ""
    for row in measurements:
        cells.append(["" if row.benchmark == previous_name else row.benchmark, *_cells(row)])
        previous_name = row.benchmark
    return cells


def _cells(row: Measurement) -> list[str]:
    floor = "-" if row.floor is None else number(row.floor)
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    return [row.name, number(row.figure), _range(row), row.unit, floor, ratio, f"{row.n:,}", row.aim]


def _range(row: Measurement) -> str:
    if row.span is None:
        return ""
    least, highest = map(number, row.span)
    return f"{least} to {highest}" if row.is_settled else f"{least} to {highest}: unsettled"


def number(value: float) -> str:
    """Return a number with three digits that count."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
