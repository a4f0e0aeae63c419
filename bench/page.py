"""Output of measurements: one table on the terminal, and the same one in ``docs/benchmarks.md``."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Iterable, Sequence
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


def table_of(rows: Sequence[Measurement]) -> Table:
    """Return the table for a terminal."""
    table = Table(title=f"Tocsin on {MACHINE}", title_justify="left")
    for column in _COLUMNS:
        table.add_column(column, justify="right" if column in _RIGHT else "left", no_wrap=column != "what")
    for row in _grouped(rows):
        table.add_row(*row)
    return table


def write_page(rows: Sequence[Measurement], page: Path = PAGE) -> None:
    """Put these rows between the two markers of the page, in place of those of the same benchmarks; others stay."""
    before, begin, rest = page.read_text().partition(BEGIN)
    known, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page.name} lacks its markers {BEGIN} and {END}")
    groups = _known(known) | _dated(rows)  # a benchmark that was there already keeps its place
    lines = _markdown([cells for group in groups.values() for cells in group])
    page.write_text("\n".join((f"{before}{begin}", "", _said(), "", *lines, "", f"{end}{after}")))


def _said() -> str:
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


def _dated(rows: Sequence[Measurement]) -> dict[str, list[list[str]]]:
    """Return the cells of each benchmark's rows; the day is in the first."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    return _by_name([*row, today if row[0] else ""] for row in _grouped(rows))


def _known(table: str) -> dict[str, list[list[str]]]:
    """Return the cells of each benchmark's rows in ``table``, as ``_markdown`` wrote it."""
    lines = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| ")]
    return _by_name([cell.strip() for cell in line] for line in lines[2:] if len(line) == len(_ON_PAGE))


def _by_name(rows: Iterable[list[str]]) -> dict[str, list[list[str]]]:
    groups: dict[str, list[list[str]]] = {}
    name = ""
    for row in rows:
        name = row[0] or name
        groups.setdefault(name, []).append(row)
    return groups


def _grouped(rows: Sequence[Measurement]) -> list[list[str]]:
    """Return the cells of each row; a benchmark's name is in its first row only."""
    cells, named = [], ""
    for row in rows:
        cells.append(["" if row.benchmark == named else row.benchmark, *_cells(row)])
        named = row.benchmark
    return cells


def _cells(row: Measurement) -> list[str]:
    floor = "-" if row.floor is None else number(row.floor)
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    return [row.name, number(row.figure), _range(row), row.unit, floor, ratio, f"{row.n:,}", row.aim]


def _range(row: Measurement) -> str:
    if row.span is None:
        return ""
    least, most = map(number, row.span)
    return f"{least} to {most}" if row.is_settled else f"{least} to {most}: unsettled"


def number(value: float) -> str:
    """Return a number with three digits that count."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
