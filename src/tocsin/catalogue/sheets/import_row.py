"""Import of one row: its cells are applied to a document, which is written as a whole or not at all.

Next: ``children.py``, ``terms.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tocsin.catalogue.sheets.rows import Outcome, Row
from tocsin.errors import TocsinError
from tocsin.flow.capture import renames
from tocsin.flow.capture.diff import is_empty
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.prepare import patched_fields
from tocsin.flow.capture.redaction import hidden_references
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.pointers import without
from tocsin.model.stored import Stored, Written

Json = Any  # Any: a JSON value
Setter = Callable[[Transaction, Document, str], object]
"""Puts the text of a cell into a document."""

Setters = Mapping[str, Setter]
"""How each cell is put into a document, by header; headers without one are passed over."""


def outcome(record: Record, row: Row, bring: Callable[[], str]) -> Outcome:
    """Return the result of ``bring`` for a row; a rejected row leaves no event."""
    event_count = len(record.events)
    try:
        return Outcome(row, bring())
    except TocsinError as refused:
        del record.events[event_count:]
        return Outcome(row, refused.message, failed=True)


def fill(transaction: Transaction, request: Document, row: Row, setters: Setters) -> None:
    """Apply the cells of a row to the create request of a new entity."""
    for name, text in row.values.items():
        if name in setters and text:
            setters[name](transaction, request, text)


def rewritten(
    record: Record, old: Stored, row: Row, setters: Setters, cells: Callable[[Document], Mapping[str, str]]
) -> Document:
    """Return a document with the changes of its row.

    The row is compared with the cells that the actor may see; hidden values stay unchanged.
    """
    shown_document = without(
        old.document, hidden_references(old.document, record.permit, record.transaction), old.document
    )
    shown_cells, document = cells(shown_document), dict(shown_document)
    for name, text in row.values.items():
        if name in setters and text != shown_cells[name]:
            setters[name](record.transaction, document, text)
    new_document = {
        key: _with_hidden_parts(document.get(key), shown_document.get(key), old.document.get(key))
        for key in document | old.document
    }
    return {key: value for key, value in new_document.items() if not is_empty(value) or old.document.get(key) == value}


def _with_hidden_parts(new: Json, visible: Json, old: Json) -> Json:
    """Return a new value with those parts of the old one that were not shown."""
    if new == visible:
        return old
    if isinstance(old, list):
        return [*(new or ()), *(one for one in old if one not in (visible or ()))]
    if not isinstance(old, dict):
        return new
    before, after = visible or {}, new or {}
    merged = {key: _with_hidden_parts(after.get(key), before.get(key), old.get(key)) for key in old | after}
    return {key: value for key, value in merged.items() if value is not None}


def put(record: Record, old: Stored, document: Document) -> Written:
    """Bring what is there to a document that ``rewritten`` made; nothing if it says the same."""
    if document == old.document:
        return Written(old.document, None)
    return renames.put(record, old, patched_fields(ENTITY_TYPES[old.entity_type], old, document))
