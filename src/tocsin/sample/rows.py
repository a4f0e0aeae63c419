"""Reader of the sample's assets from ``tables/*.csv``, whose columns are the fields of the rows.

Columns are written as names, ``!`` after a name marks personal data; ``sample/columns.py`` derives the rest.
Next: ``sample/assets.py``.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, TypeAdapter

Row = TypeVar("Row")


def _parameters(text: str) -> list[tuple[str, str]]:
    pairs = (part.partition("=") for part in text.split(";") if part)
    return [(name, value) for name, _, value in pairs]


Words = Annotated[tuple[str, ...], BeforeValidator(str.split)]
MaybeText = Annotated[str | None, BeforeValidator(lambda text: text or None)]


@dataclass(frozen=True)
class TableRow:
    """A table: its place, its importance (``tier`` 1 most, 0 not rated), and its owner.

    ``inputs`` names the tables it is made from: in ``marts.csv`` those of staging and marts by bare name,
    others with their schema.
    """

    path: str
    tier: Annotated[int, BeforeValidator(lambda text: text or 0)]
    domain: str
    owner: MaybeText
    description: str
    columns: Words
    inputs: Words = ()


@dataclass(frozen=True)
class DashboardRow:
    """A dashboard and the marts it shows."""

    name: str
    domain: str
    owner: str
    inputs: Words
    description: str


@dataclass(frozen=True)
class PipelineRow:
    """A pipeline: its tasks in order, and patterns of the warehouse's tables that it writes."""

    name: str
    domain: str
    owner: str
    schedule: str
    tasks: Words
    writes: Words
    description: str


@dataclass(frozen=True)
class TestRow:
    """A test of a table or of one of its columns, and the suite that runs it."""

    table: str
    column: MaybeText
    name: str
    definition: str
    parameters: Annotated[tuple[tuple[str, str], ...], BeforeValidator(_parameters)]
    suite: str


def source_tables() -> list[TableRow]:
    """Return the tables of the shop's own database, ``schema.table`` each."""
    return _rows("sources", TableRow)


def feeds() -> list[TableRow]:
    """Return the tables that come into the warehouse from outside, by bare name."""
    return _rows("feeds", TableRow)


def marts() -> list[TableRow]:
    """Return the tables that people analyse, each after those it is made from."""
    return _rows("marts", TableRow)


def dashboards() -> list[DashboardRow]:
    """Return the dashboards."""
    return _rows("dashboards", DashboardRow)


def pipelines() -> list[PipelineRow]:
    """Return the pipelines; of two that could have written a table, the first did."""
    return _rows("pipelines", PipelineRow)


def tests() -> list[TestRow]:
    """Return the tests."""
    return _rows("tests", TestRow)


@cache
def column_descriptions() -> dict[str, str]:
    """Return what the company means by a column of that name."""
    return {row["column"]: row["description"] for row in _rows("columns", dict[str, str])}


@cache
def later_columns() -> dict[str, tuple[str, ...]]:
    """Return the columns that tables of each domain may get in the course of the year."""
    return {row["domain"]: tuple(row["columns"].split()) for row in _rows("later_columns", dict[str, str])}


def _rows(name: str, kind: type[Row]) -> list[Row]:
    text = files("tocsin.sample").joinpath("tables", f"{name}.csv").read_text(encoding="utf-8")
    reader = TypeAdapter(kind)
    return [reader.validate_python(row) for row in csv.DictReader(text.splitlines())]
