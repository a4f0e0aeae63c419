"""Recursive sheets of an entity's descendants: databases, schemas, tables, columns, procedures.

Each row has its entity's type and FQN. A table and the rows of its columns are one change. Source: OpenMetadata's
recursive sheets (``DatabaseServiceRepository``, ``DatabaseRepository``, ``DatabaseSchemaRepository``).
Next: ``import_sheet.py``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tocsin.catalogue.sheets.cells import texts_of
from tocsin.catalogue.sheets.children import (
    HEADERS,
    PROCEDURE_FIELDS,
    bring_child,
    document_of,
    missing_headers,
    request_of,
)
from tocsin.catalogue.sheets.columns import COLUMN_FIELDS, bring_column, columns_of
from tocsin.catalogue.sheets.import_rows import outcome
from tocsin.catalogue.sheets.rows import Header, Outcome, Row, SheetKind
from tocsin.errors import InvalidInput, NotFound, TocsinError
from tocsin.flow.capture import renames
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.prepare import patched_fields
from tocsin.flow.capture.upsert import create
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import with_article
from tocsin.model.stored import Key, Stored, not_found, soft_deleted

_COLUMN, _TABLE, _PROCEDURE = "column", "table", "storedProcedure"
_TYPE, _FULL = "entityType", "fullyQualifiedName"
_SHARED = ("displayName", "description", "tags", "glossaryTerms")
BELOW: dict[str, tuple[str, ...]] = {
    "databaseService": ("database",),
    "database": ("databaseSchema",),
    "databaseSchema": (_TABLE, _PROCEDURE),
}
"""Per type that has such sheets: the types of its children."""

_ABOVE = {below: above for above, many in BELOW.items() for below in many}
_PARTS = {"databaseService": 1, "database": 2, "databaseSchema": 3, _TABLE: 4, _PROCEDURE: 4}
"""How many names a full name has."""

_OF_COLUMNS = (
    Header("column.dataTypeDisplay", "Display text of a column's data type.", ("`array<int>`",)),
    Header("column.dataType", "Data type of a column; empty: unchanged.", ("`VARCHAR`",)),
    Header("column.arrayDataType", "Data type of the elements of an ARRAY.", ("`INT`",)),
    Header("column.dataLength", "Maximum length, for types with a length.", ("`36`",)),
)
_OF_PROCEDURES = (
    Header("storedProcedure.code", "Code of a stored procedure.", ("`SELECT 1`",)),
    Header("storedProcedure.language", "Language of the code.", ("`SQL`", "`Python`")),
)
_PLACE = (
    Header(_TYPE, "Entity type of the row.", tuple(f"`{one}`" for one in (*_ABOVE, _COLUMN)), required=True),
    Header(_FULL, "FQN; empty for direct children of the exported entity.", ("`pg.shop.public`",)),
)
_TREE_HEADERS = (*HEADERS, *_PLACE, *_OF_COLUMNS, *_OF_PROCEDURES)
TREE_SHEETS: dict[str, SheetKind] = {
    name: SheetKind(
        f"Updates everything below a {name} and creates what is missing; entities without a row stay unchanged.",
        _TREE_HEADERS,
    )
    for name in BELOW
}
"""What these sheets hold."""

Entry = tuple[str, Document]
"""An entity's type and document."""


def tree_rows(entries: Iterable[Entry]) -> Iterator[list[str]]:
    """Yield a row for each of these, and after a table one for each of its columns."""
    for entity_type, document in entries:
        full = document[_FULL]
        yield _line(texts_of(PROCEDURE_FIELDS, document) | {"name": document["name"], _TYPE: entity_type, _FULL: full})
        for path, column in columns_of(document.get("columns") or []) if entity_type == _TABLE else ():
            cells, name = texts_of(COLUMN_FIELDS, column), fqn.join(path)
            cells |= {key: cells[f"{_COLUMN}.{key}"] for key in _SHARED}
            yield _line(cells | {"name": name, _TYPE: _COLUMN, _FULL: f"{full}.{name}"})


def _line(cells: dict[str, str]) -> list[str]:
    return [cells.get(header.name, "") for header in _TREE_HEADERS]


@dataclass(frozen=True)
class _Step:
    """One valid row: its line in the sheet, its entity, and the parts of its FQN."""

    at: int
    row: Row
    kind: str
    parts: tuple[str, ...]

    @property
    def full(self) -> str:
        return fqn.join(self.parts)

    @property
    def group(self) -> tuple[str, str]:
        """What is written together: a table and its columns."""
        kind = _TABLE if self.kind == _COLUMN else self.kind
        return kind, fqn.join(self.parts[: _PARTS[kind]])


def import_tree(record: Record, top: Stored, sheet_rows: tuple[Row, ...]) -> list[Outcome]:
    """Change an entity's descendants to match the rows, parents first; rejected rows are skipped."""
    outcomes: dict[int, Outcome] = {}
    groups: dict[tuple[str, str], list[_Step]] = {}
    reported_steps: set[tuple[str, str]] = set()
    for at, row in enumerate(sheet_rows):
        try:
            step = _step(top, at, row)
            if (step.kind, step.full) in reported_steps:
                raise InvalidInput(f"{step.kind} {step.full} appears twice")
        except TocsinError as refused:
            outcomes[at] = Outcome(row, refused.message, failed=True)
        else:
            reported_steps.add((step.kind, step.full))
            groups.setdefault(step.group, []).append(step)
    for steps in (groups[kind, full] for kind, full in sorted(groups, key=lambda group: _PARTS[group[0]])):
        outcomes |= _write(record, steps)
    return [outcomes[at] for at in range(len(sheet_rows))]


def _step(top: Stored, at: int, row: Row) -> _Step:
    if row.problem is not None:
        raise InvalidInput(row.problem)
    name, kind, full_name = row.values["name"], row.values[_TYPE].strip(), row.values.get(_FULL, "").strip()
    valid_types = [one for one in (*_ABOVE, _COLUMN) if _PARTS.get(one, 5) > _PARTS[top.entity_type]]
    if kind not in valid_types:
        raise InvalidInput(f"entityType must be one of {', '.join(valid_types)}, not {kind!r}")
    if not full_name and kind not in BELOW[top.entity_type]:
        raise InvalidInput(
            f"{_FULL} is missing: {with_article(kind)} is not a direct child of {with_article(top.entity_type)}"
        )
    parts = tuple(fqn.split(full_name or fqn.child(top.fqn, name)))
    top_parts = tuple(fqn.split(top.fqn))
    if parts[: len(top_parts)] != top_parts or not _is_long_enough(kind, len(parts)):
        raise InvalidInput(f"{full_name} is not the FQN of {with_article(kind)} below {top.fqn}")
    if kind != _COLUMN and parts[-1] != name:
        raise InvalidInput(f"the name is {name}, but {full_name} ends with {parts[-1]}")
    return _Step(at, replace(row, values=_values(kind, row)), kind, parts)


def _is_long_enough(kind: str, count: int) -> bool:
    return count > _PARTS[_TABLE] if kind == _COLUMN else count == _PARTS[kind]


def _values(kind: str, row: Row) -> dict[str, str]:
    """Return the cells that say something of this type, which all others must leave empty."""
    if kind == _COLUMN:
        valid_names = {"name", *_SHARED, *(one.name for one in _OF_COLUMNS)}
    else:
        valid_names = {one.name for one in HEADERS} - missing_headers(kind)
        valid_names |= {one.name for one in _OF_PROCEDURES} if kind == _PROCEDURE else set()
    idle = [name for name, text in row.values.items() if text and name not in (*valid_names, _TYPE, _FULL)]
    if idle:
        raise InvalidInput(f"{with_article(kind)} has no field {idle[0]}")
    return {name: text for name, text in row.values.items() if name in valid_names}


def _write(record: Record, steps: Sequence[_Step]) -> dict[int, Outcome]:
    event_count = len(record.events)
    try:
        kind, full_name = steps[0].group
        if kind == _TABLE:
            return _write_table(record, full_name, steps)
        (step,) = steps
        return {
            step.at: Outcome(
                step.row, bring_child(record, _parent(record, kind, full_name), (kind, full_name), step.row)
            )
        }
    except TocsinError as refused:
        del record.events[event_count:]
        return {step.at: Outcome(step.row, refused.message, failed=True) for step in steps}


def _parent(record: Record, kind: str, full: str) -> Stored:
    above = fqn.join(fqn.split(full)[:-1])
    parent = record.transaction.find(_ABOVE[kind], Key.by_name(above), Hold.SHARED)
    if parent is None or record.visible(parent).is_deleted:
        raise not_found(_ABOVE[kind], Key.by_name(above))
    return parent


def _write_table(record: Record, full_name: str, steps: Sequence[_Step]) -> dict[int, Outcome]:
    """Write a table with its columns; a row that cannot be is left out of it."""
    head = next((step for step in steps if step.kind == _TABLE), None)
    old = record.transaction.find(_TABLE, Key.by_name(full_name))
    if old is not None and record.visible(old).is_deleted:
        raise soft_deleted(_TABLE, full_name)
    if old is None:
        if head is None:
            raise not_found(_TABLE, Key.by_name(full_name))
        document = request_of(record.transaction, _parent(record, _TABLE, full_name), _TABLE, head.row)
        outcomes = {head.at: Outcome(head.row, "table created")}
    else:
        document, outcomes = _bring_head(record, old, head)
    outcomes |= _bring_columns(record, document, [step for step in steps if step.kind == _COLUMN])
    if old is None:
        create(record, _TABLE, document)
    elif document != old.document:
        renames.put(record, old, patched_fields(ENTITY_TYPES[_TABLE], old, document))
    return outcomes


def _bring_head(record: Record, old: Stored, head: _Step | None) -> tuple[Document, dict[int, Outcome]]:
    """Return the document of a table as its own row, if there is one, wants it."""
    if head is None:
        return copy.deepcopy(old.document), {}
    try:
        new_table = document_of(record, old, head.row)
    except TocsinError as refused:
        return copy.deepcopy(old.document), {head.at: Outcome(head.row, refused.message, failed=True)}
    message = "table unchanged" if new_table == old.document else "table updated"
    return copy.deepcopy(new_table), {head.at: Outcome(head.row, message)}


def _bring_columns(record: Record, table: Document, steps: Sequence[_Step]) -> dict[int, Outcome]:
    """Bring the columns of a table to what their rows say, parents first."""
    columns: list[Document] = table.setdefault("columns", [])
    columns_by_path: dict[tuple[str, ...], Document] = {(): {"children": columns}, **dict(columns_of(columns))}

    def bring(step: _Step) -> str:
        path, values = step.parts[_PARTS[_TABLE] :], dict[str, str]()
        for name, text in step.row.values.items():
            values[name if name.startswith(_COLUMN) else f"{_COLUMN}.{name}"] = text
        values.pop(f"{_COLUMN}.name")
        if path in columns_by_path:
            is_changed = bring_column(record.transaction, columns_by_path[path], values)
            return f"column {'updated' if is_changed else 'unchanged'}"
        if not values.get("column.dataType"):
            raise InvalidInput(f"column {fqn.join(path)} is new and needs column.dataType")
        if path[:-1] not in columns_by_path:
            raise NotFound(f"column {fqn.join(path[:-1])} not found")
        new_column: Document = {"name": path[-1]}
        bring_column(record.transaction, new_column, values)
        columns_by_path[path[:-1]].setdefault("children", []).append(new_column)
        columns_by_path[path] = new_column
        return "column created"

    in_order = sorted(steps, key=lambda step: len(step.parts))
    return {step.at: outcome(record, step.row, partial(bring, step)) for step in in_order}
