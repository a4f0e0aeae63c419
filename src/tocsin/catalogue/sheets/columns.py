"""Sheets of a table, one row per column: name, description, type and labels.

Source: OpenMetadata's ``tableCsvDocumentation.json``. Next: ``import_row.py``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

from tocsin.catalogue.sheets.cells import labels_cell, with_labels
from tocsin.catalogue.sheets.import_row import Setter
from tocsin.catalogue.sheets.rows import Header, Outcome, Row, SheetKind
from tocsin.errors import InvalidInput, TocsinError
from tocsin.flow.capture import renames
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.prepare import patched_fields
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import hint
from tocsin.model.shapes import check
from tocsin.model.stored import Stored, Written

_COLUMN = "column."
_NAME = "column.fullyQualifiedName"

TABLE_SHEET = SheetKind(
    "Updates the columns of a table; columns without a row stay unchanged.",
    (
        Header(_NAME, "Name of the column, without the table's.", ("`email`", "`address.zip`"), required=True),
        Header("column.displayName", "Display name.", ("`E-mail address`",)),
        Header("column.description", "Description, in Markdown.", ("Where to write to the **customer**.",)),
        Header("column.dataTypeDisplay", "Display text of the data type.", ("`array<int>`", "`varchar(20)`")),
        Header("column.dataType", "Data type; empty: unchanged.", ("`VARCHAR`", "`BIGINT`")),
        Header("column.arrayDataType", "Data type of the elements of an ARRAY.", ("`INT`",)),
        Header("column.dataLength", "Maximum length, for types with a length.", ("`36`",)),
        Header("column.tags", "Tags (FQNs), separated by `;`.", ("`PII.Sensitive;PersonalData.Name`",)),
        Header("column.glossaryTerms", "Glossary terms (FQNs), separated by `;`.", ("`Shop.Client`",)),
    ),
)


def column_rows(table: Document) -> Iterator[list[str]]:
    """Yield a row for every column of a table, nested ones after their parent."""
    for path, column in columns_of(table.get("columns") or []):
        cells = column_cells(column)
        yield [fqn.join(path), *(cells[header.name] for header in TABLE_SHEET.headers[1:])]


def import_columns(record: Record, table: Stored, sheet_rows: tuple[Row, ...]) -> tuple[list[Outcome], Written]:
    """Bring a table's columns to what the rows say, as one change; a row that cannot be is left out of it."""
    document = copy.deepcopy(table.document)
    columns_by_path = {fqn.join(path): column for path, column in columns_of(document.get("columns") or [])}
    outcomes: list[Outcome] = []
    reported: set[str] = set()
    for row in sheet_rows:
        try:
            name = _name(table, row)
            if name in reported:
                raise InvalidInput(f"column {name} appears twice")
            if name not in columns_by_path:
                raise InvalidInput(f"unknown column {name}{hint(name, columns_by_path)}")
            changed = bring_column(record.transaction, columns_by_path[name], row.values)
            reported.add(name)
            outcomes.append(Outcome(row, "Column updated" if changed else "Column unchanged"))
        except TocsinError as refused:
            outcomes.append(Outcome(row, refused.message, failed=True))
    fields = patched_fields(ENTITY_TYPES["table"], table, document)
    return outcomes, renames.put(record, table, fields)


def _name(table: Stored, row: Row) -> str:
    if row.problem is not None:
        raise InvalidInput(row.problem)
    name = fqn.join(fqn.split(row.values[_NAME].strip()))
    return name.removeprefix(f"{table.fqn}.")


def bring_column(transaction: Transaction, column: Document, values: dict[str, str]) -> bool:
    """Apply the cells that differ to a column; return whether it changed. If they are refused, it is unchanged."""
    cells = column_cells(column)
    differing = {name: text for name, text in values.items() if name != _NAME and text != cells[name]}
    new_column = dict(column)
    for name, text in differing.items():
        _SETTERS[name](transaction, new_column, text)
    if new_column == column:
        return False
    check("table", "columns", [new_column])
    column.clear()
    column.update(new_column)
    return True


def columns_of(columns: list[Document], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Document]]:
    """Yield each of these columns, nested ones after their parent, preceded by its path of names."""
    for column in columns:
        path = (*above, column["name"])
        yield path, column
        yield from columns_of(column.get("children") or [], path)


def column_cells(column: Document) -> dict[str, str]:
    """Return the cells of a column, by header."""
    labels = column.get("tags") or []
    texts = {f"{_COLUMN}{key}": str(column.get(key) or "") for key in _TEXTS}
    length = column.get("dataLength")
    return texts | {
        "column.dataLength": "" if length is None else str(length),
        "column.tags": labels_cell(labels, "tag"),
        "column.glossaryTerms": labels_cell(labels, "glossaryTerm"),
    }


def _set_text(key: str) -> Setter:
    def put(_transaction: Transaction, column: Document, text: str) -> None:
        if text:
            column[key] = text
        elif key != "dataType":
            column.pop(key, None)

    return put


def _set_length(_transaction: Transaction, column: Document, text: str) -> None:
    if text and not (text.strip().isdecimal() and len(text) < _LONGEST_NUMBER):
        raise InvalidInput(f"column.dataLength must be an integer, not {text!r}")
    column.pop("dataLength", None)
    if text:
        column["dataLength"] = int(text)


def _set_labels(entity_type: str) -> Setter:
    def put(transaction: Transaction, column: Document, text: str) -> None:
        labels = with_labels(transaction, column.get("tags") or [], entity_type, text)
        column.pop("tags", None)
        if labels:
            column["tags"] = labels

    return put


_LONGEST_NUMBER = 12
_TEXTS = ("displayName", "description", "dataTypeDisplay", "dataType", "arrayDataType")
_SETTERS: dict[str, Setter] = {
    **{f"{_COLUMN}{key}": _set_text(key) for key in _TEXTS},
    "column.dataLength": _set_length,
    "column.tags": _set_labels("tag"),
    "column.glossaryTerms": _set_labels("glossaryTerm"),
}
