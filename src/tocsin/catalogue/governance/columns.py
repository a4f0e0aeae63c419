"""Rules of columns: what a data type needs beside it, and how its display text is spelt.

Columns that a write leaves as they are stored are not checked again: a history may have brought them. Source:
OpenMetadata's ``ColumnUtil`` and ``TableRepository.validateColumn``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType, value_at

_NEEDED = {
    **dict.fromkeys(("CHAR", "VARCHAR", "BINARY", "VARBINARY"), "dataLength"),
    "ARRAY": "arrayDataType",
}
"""By data type, the key without which a column of that type says too little."""

_DISPLAY = "dataTypeDisplay"


def with_checked_columns(kind: EntityType, document: Document, old: Document) -> Document:
    """Return the document with its columns as they are kept; ``document`` itself may be changed.

    Raises
    ------
    InvalidInput : a column that was not there before, or had another type, lacks its length or the type of its items
    """
    for path in kind.member_paths:
        members = value_at(document, path)
        if path[-1] == "columns" and isinstance(members, list):
            before = value_at(old, path)
            _check_columns(members, before if isinstance(before, list) else (), ".".join(path))
    return document


def _check_columns(columns: Sequence[Document], before: Sequence[Document], place: str) -> None:
    if columns == before:
        return
    columns_by_name = {column.get("name"): column for column in before}
    for column in columns:
        old_column: Mapping[str, object] = columns_by_name.get(column.get("name"), {})
        _check_complete(column, old_column, place)
        if _DISPLAY in column:
            _spell(column, old_column)
        if isinstance(children := column.get("children"), list):
            old_children = old_column.get("children")
            _check_columns(
                children, old_children if isinstance(old_children, list) else (), f"{place}.{column.get('name')}"
            )


def _check_complete(column: Document, old_column: Mapping[str, object], place: str) -> None:
    data_type = column.get("dataType")
    needed_key = _NEEDED.get(data_type) if isinstance(data_type, str) else None
    if needed_key is None or column.get(needed_key) is not None:
        return
    if old_column.get("dataType") != data_type or old_column.get(needed_key) is not None:
        problem = f"the column {column.get('name')} of type {data_type} needs its {needed_key}"
        raise InvalidInput(problem, field=place)


def _spell(column: Document, old_column: Mapping[str, object]) -> None:
    """Write the display text of the data type in lower case, unless that is all that would change."""
    display_text, before = column.get(_DISPLAY), old_column.get(_DISPLAY)
    if isinstance(display_text, str):
        spelt = display_text.lower()
        column[_DISPLAY] = before if isinstance(before, str) and before.lower() == spelt else spelt
