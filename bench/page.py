"""How are measurements shown? One table on the terminal, the same one in ``docs/benchmarks.md``."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.table import Table

from bench.measured import Measurement

MACHINE = "2 cores, shared"
PAGE = Path(__file__).resolve().parents[1] / "docs/benchmarks.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"

_COLUMNS = ("benchmark", "what", "figure", "unit", "floor", "ratio", "n", "aim")
_RIGHT = frozenset({"figure", "floor", "ratio", "n"})


def table_of(rows: Sequence[Measurement]) -> Table:
    """Return the table for a terminal."""
    table = Table(title=f"Tocsin on {MACHINE}", title_justify="left")
    for column in _COLUMNS:
        table.add_column(column, justify="right" if column in _RIGHT else "left", no_wrap=column != "what")
    for row in _grouped(rows):
        table.add_row(*row)
    return table


def write_page(rows: Sequence[Measurement], page: Path = PAGE) -> None:
    """Replace what stands between the two markers of the page by these rows."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page.name} lacks its markers {BEGIN} and {END}")
    page.write_text("\n".join((f"{before}{begin}", "", _said(), "", *_markdown(rows), "", f"{end}{after}")))


def _said() -> str:
    parts = (
        f"Machine: {MACHINE}",
        f"{datetime.now(UTC):%Y-%m-%d}",
        f"Python {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}",
        f"PySpark {version('pyspark')}",
    )
    return "; ".join(parts) + "."


def _markdown(rows: Sequence[Measurement]) -> list[str]:
    rules = ["---:" if column in _RIGHT else "---" for column in _COLUMNS]
    return [f"| {' | '.join(cells)} |" for cells in (list(_COLUMNS), rules, *_grouped(rows))]


def _grouped(rows: Sequence[Measurement]) -> list[list[str]]:
    """Return the cells of each row; a benchmark's name stands in its first row only."""
    cells, named = [], ""
    for row in rows:
        cells.append(["" if row.benchmark == named else row.benchmark, *_cells(row)])
        named = row.benchmark
    return cells


def _cells(row: Measurement) -> list[str]:
    floor = "-" if row.floor is None else _number(row.floor)
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    return [row.name, _number(row.figure), row.unit, floor, ratio, f"{row.n:,}", row.aim]


def _number(value: float) -> str:
    """Return a number with three digits that count."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
