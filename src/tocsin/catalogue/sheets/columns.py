"""Sheets of a table, one row per column: name, description, type and labels.

Source: OpenMetadata's ``tableCsvDocumentation.json``. Next: ``import_rows.py``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial

from tocsin.catalogue.sheets.cells import SheetField, SheetFields, labels_field
from tocsin.catalogue.sheets.import_rows import outcome
from tocsin.catalogue.sheets.rows import Header, Outcome, Row, SheetKind
from tocsin.errors import InvalidInput
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
        yield [fqn.join(path), *(COLUMN_FIELDS[header.name].text(column) for header in TABLE_SHEET.headers[1:])]


def import_columns(record: Record, table: Stored, sheet_rows: tuple[Row, ...]) -> tuple[list[Outcome], Written]:
    """Bring a table's columns to what the rows say, as one change; a row that cannot be is left out of it."""
    document = copy.deepcopy(table.document)
    columns_by_path = {fqn.join(path): column for path, column in columns_of(document.get("columns") or [])}
    reported_names: set[str] = set()

    def bring(row: Row) -> str:
        name = fqn.join(fqn.split(row.values[_NAME].strip())).removeprefix(f"{table.fqn}.")
        if name in reported_names:
            raise InvalidInput(f"column {name} appears twice")
        if name not in columns_by_path:
            raise InvalidInput(f"unknown column {name}{hint(name, columns_by_path)}")
        changed = bring_column(record.transaction, columns_by_path[name], row.values)
        reported_names.add(name)
        return "Column updated" if changed else "Column unchanged"

    outcomes = [outcome(record, row, partial(bring, row)) for row in sheet_rows]
    fields = patched_fields(ENTITY_TYPES["table"], table, document)
    return outcomes, renames.put(record, table, fields)


def bring_column(transaction: Transaction, column: Document, values: dict[str, str]) -> bool:
    """Apply the cells that differ to a column; return whether it changed. If they are refused, it is unchanged."""
    new_column = dict(column)
    for name, text in values.items():
        if name != _NAME and text != COLUMN_FIELDS[name].text(column):
            COLUMN_FIELDS[name].put(transaction, new_column, text)
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


def _text_field(key: str) -> SheetField:
    def put(_transaction: Transaction, column: Document, text: str) -> None:
        if text:
            column[key] = text
        elif key != "dataType":
            column.pop(key, None)

    return SheetField(lambda column: str(column.get(key) or ""), put)


def _length(column: Document) -> str:
    length = column.get("dataLength")
    return "" if length is None else str(length)


def _set_length(_transaction: Transaction, column: Document, text: str) -> None:
    if text and not (text.strip().isdecimal() and len(text) < _LONGEST_NUMBER):
        raise InvalidInput(f"column.dataLength must be an integer, not {text!r}")
    column.pop("dataLength", None)
    if text:
        column["dataLength"] = int(text)


def _labels_field(entity_type: str) -> SheetField:
    labels = labels_field(entity_type)

    def put(transaction: Transaction, column: Document, text: str) -> None:
        labels.put(transaction, column, text)
        if not column["tags"]:
            del column["tags"]

    return SheetField(labels.text, put)


_LONGEST_NUMBER = 12
_TEXTS = ("displayName", "description", "dataTypeDisplay", "dataType", "arrayDataType")
COLUMN_FIELDS: SheetFields = {
    **{f"{_COLUMN}{key}": _text_field(key) for key in _TEXTS},
    "column.dataLength": SheetField(_length, _set_length),
    "column.tags": _labels_field("tag"),
    "column.glossaryTerms": _labels_field("glossaryTerm"),
}
"""The fields of a column."""
