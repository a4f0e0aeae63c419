"""Reader of the sample's assets from ``tables/*.csv``.

Columns are written as names, ``!`` after a name marks personal data; ``sample/columns.py`` derives the rest.
Next: ``sample/assets.py``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class TableRow:
    """A table: its place, its importance (``tier`` 1 most, 0 not rated), and its owner.

    ``inputs`` names the tables it is made from: in ``marts.csv`` those of staging and marts by bare name,
    others with their schema.
    """

    path: str
    tier: int
    domain: str
    owner: str | None
    description: str
    columns: tuple[str, ...]
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class DashboardRow:
    """A dashboard and the marts it shows."""

    name: str
    domain: str
    owner: str
    inputs: tuple[str, ...]
    description: str


@dataclass(frozen=True)
class PipelineRow:
    """A pipeline: its tasks in order, and patterns of the warehouse's tables that it writes."""

    name: str
    domain: str
    owner: str
    schedule: str
    tasks: tuple[str, ...]
    writes: tuple[str, ...]
    description: str


@dataclass(frozen=True)
class TestRow:
    """A test of a table or of one of its columns, and the suite that runs it."""

    table: str
    column: str | None
    name: str
    definition: str
    parameters: tuple[tuple[str, str], ...]
    suite: str


def source_tables() -> list[TableRow]:
    """Return the tables of the shop's own database, ``schema.table`` each."""
    return [_table_row(row) for row in _rows("sources")]


def feeds() -> list[TableRow]:
    """Return the tables that come into the warehouse from outside, by bare name."""
    return [_table_row(row) for row in _rows("feeds")]


def marts() -> list[TableRow]:
    """Return the tables that people analyse, each after those it is made from."""
    return [_table_row(row) for row in _rows("marts")]


def dashboards() -> list[DashboardRow]:
    """Return the dashboards."""
    return [
        DashboardRow(row["dashboard"], row["domain"], row["owner"], _words(row["inputs"]), row["description"])
        for row in _rows("dashboards")
    ]


def pipelines() -> list[PipelineRow]:
    """Return the pipelines; of two that could have written a table, the first did."""
    return [
        PipelineRow(
            name=row["pipeline"],
            domain=row["domain"],
            owner=row["owner"],
            schedule=row["schedule"],
            tasks=_words(row["tasks"]),
            writes=_words(row["writes"]),
            description=row["description"],
        )
        for row in _rows("pipelines")
    ]


def tests() -> list[TestRow]:
    """Return the tests."""
    return [
        TestRow(
            table=row["table"],
            column=row["column"] or None,
            name=row["test"],
            definition=row["definition"],
            parameters=tuple(_parameter(part) for part in row["parameters"].split(";") if part),
            suite=row["suite"],
        )
        for row in _rows("tests")
    ]


def column_descriptions() -> dict[str, str]:
    """Return what the company means by a column of that name."""
    return {row["column"]: row["description"] for row in _rows("columns")}


def later_columns() -> dict[str, tuple[str, ...]]:
    """Return the columns that tables of each domain may get in the course of the year."""
    return {row["domain"]: _words(row["columns"]) for row in _rows("later_columns")}


def _table_row(row: dict[str, str]) -> TableRow:
    return TableRow(
        path=row["table"],
        tier=int(row["tier"] or 0),
        domain=row["domain"],
        owner=row["owner"] or None,
        description=row["description"],
        columns=_words(row["columns"]),
        inputs=_words(row.get("inputs", "")),
    )


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = files("tocsin.sample").joinpath("tables", f"{name}.csv").read_text(encoding="utf-8")
    yield from csv.DictReader(text.splitlines())
