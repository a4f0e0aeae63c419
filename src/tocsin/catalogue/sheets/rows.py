"""CSV reader and writer for sheets: known headers, strict parsing, safe output.

A cell that a spreadsheet would run as a formula is written with a leading apostrophe, which the reader removes.
Next: ``columns.py`` and ``terms.py`` for the meaning of the cells.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

_FORMULA_STARTS = r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
"""What a spreadsheet takes for the start of a formula: signs, their full-width forms, and white space before one.

*Source:* OWASP, CSV Injection.
"""
_FORMULA = re.compile(f"'*{_FORMULA_STARTS}")
_GUARDED = re.compile(f"'+{_FORMULA_STARTS}")
_LONGEST_CELL = 16 * 1024 * 1024


class BrokenSheet(InvalidInput):
    """The text is no sheet of this kind: nothing of it can be imported."""

    code = "BROKEN_SHEET"


@dataclass(frozen=True)
class Header:
    """One column of a sheet."""

    name: str
    description: str
    examples: tuple[str, ...]
    required: bool = False

    @property
    def label(self) -> str:
        """The header as written in a sheet; OpenMetadata marks required ones."""
        return f"{self.name}*" if self.required else self.name


@dataclass(frozen=True)
class SheetKind:
    """What sheets of one kind hold."""

    summary: str
    headers: tuple[Header, ...]

    def to_wire(self) -> Document:
        """Return the description as OpenMetadata's ``CsvDocumentation``."""
        return {
            "summary": self.summary,
            "headers": [
                {
                    "name": header.name,
                    "required": header.required,
                    "description": header.description,
                    "examples": list(header.examples),
                }
                for header in self.headers
            ],
        }


@dataclass(frozen=True)
class Row:
    """One row as it was read: its cells in their order, by header, or why they cannot be."""

    cells: tuple[str, ...]
    values: dict[str, str]
    problem: str | None = None


@dataclass(frozen=True)
class Outcome:
    """Result of one row: what was done, or the error."""

    row: Row
    message: str
    failed: bool = False


@dataclass(frozen=True)
class Sheet:
    """A sheet that was read: its headers as they were written, and its rows."""

    written: tuple[str, ...]
    body_rows: tuple[Row, ...]


def read_sheet(kind: SheetKind, text: str) -> Sheet:
    """Return the rows of a CSV text; empty ones are left out.

    Raises
    ------
    BrokenSheet : it is no CSV, or a header is missing, unknown or there twice; the message names the line.
    """
    lines = list(_parse(text.removeprefix("\ufeff")))
    if not lines:
        raise BrokenSheet("the CSV is empty; its first line must contain the column headers")
    headers = tuple(cell.strip() for cell in lines[0])
    names = _check_headers(kind, [name.removesuffix("*") for name in headers])
    required_names = {header.name for header in kind.headers if header.required}
    body_rows = tuple(_row(cells, names, required_names) for cells in lines[1:] if any(cells))
    return Sheet(headers, body_rows)


def write_sheet(lines: Iterable[Sequence[str]]) -> str:
    """Return rows as CSV text, safe to open in a spreadsheet."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows([safe_cell(cell) for cell in row] for row in lines)
    return text.getvalue()


def safe_cell(cell: str) -> str:
    """Return a cell that no spreadsheet runs as a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def import_result(sheet: Sheet, outcomes: Sequence[Outcome], *, dry_run: bool) -> Document:
    """Return the result of an import as OpenMetadata's ``CsvImportResult``."""
    failure_count = sum(outcome.failed for outcome in outcomes)
    success_count = len(outcomes) - failure_count
    results = [
        ("failure" if outcome.failed else "success", outcome.message, *outcome.row.cells) for outcome in outcomes
    ]
    return {
        "dryRun": dry_run,
        "status": "success" if not failure_count else "partialSuccess" if success_count else "failure",
        "numberOfRowsProcessed": len(outcomes),
        "numberOfRowsPassed": success_count,
        "numberOfRowsFailed": failure_count,
        "importResultsCsv": write_sheet([("status", "details", *sheet.written), *results]),
    }


def abort_result(reason: str, *, dry_run: bool) -> Document:
    """Return that an import did nothing, and why."""
    counts = dict.fromkeys(("numberOfRowsProcessed", "numberOfRowsPassed", "numberOfRowsFailed"), 0)
    return {"dryRun": dry_run, "status": "aborted", "abortReason": reason, **counts, "importResultsCsv": ""}


def _parse(text: str) -> Iterator[list[str]]:
    if "\0" in text:
        raise BrokenSheet("the CSV contains a NUL character; remove it")
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        yield from reader
    except csv.Error as refused:
        raise BrokenSheet(f"line {reader.line_num} is not CSV: {refused}") from refused


def _check_headers(kind: SheetKind, names: list[str]) -> list[str]:
    valid_names = [header.name for header in kind.headers]
    for name in names:
        if name not in valid_names:
            raise BrokenSheet(f"unknown header {name!r}; valid headers: {', '.join(valid_names)}")
        if names.count(name) > 1:
            raise BrokenSheet(f"the header {name} appears twice")
    for header in kind.headers:
        if header.required and header.name not in names:
            raise BrokenSheet(f"the header {header.name} is missing")
    return names


def _row(cells: list[str], names: list[str], required: set[str]) -> Row:
    plain = tuple(_without_guard(cell) for cell in cells)
    if len(cells) != len(names):
        return Row(plain, {}, f"has {len(cells)} cells instead of {len(names)}")
    values = dict(zip(names, plain, strict=True))
    missing = [name for name in names if name in required and not values[name].strip()]
    return Row(plain, values, f"{missing[0]} is missing" if missing else None)


def _without_guard(cell: str) -> str:
    return cell[1:] if _GUARDED.match(cell) else cell
