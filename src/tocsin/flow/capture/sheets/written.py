"""What comes of a row? The texts of its cells are put into a document, and that is written; or nothing of it is.

Next: ``children.py``, ``terms.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tocsin.errors import TocsinError
from tocsin.flow.capture import naming
from tocsin.flow.capture.diff import is_empty
from tocsin.flow.capture.ports import Stored, Transaction, Written
from tocsin.flow.capture.prepare import patched
from tocsin.flow.capture.sheets.rows import Outcome, Row
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES

Setter = Callable[[Transaction, Document, str], object]
"""Puts the text of a cell into a document."""

Setters = Mapping[str, Setter]
"""How each cell is put into a document, by header; headers without one are passed over."""


def outcome(record: Record, row: Row, bring: Callable[[], str]) -> Outcome:
    """Return what ``bring`` says it did for a row; of a row that is refused no event stays."""
    made = len(record.events)
    try:
        return Outcome(row, bring())
    except TocsinError as refused:
        del record.events[made:]
        return Outcome(row, refused.message, failed=True)


def fill(transaction: Transaction, request: Document, row: Row, setters: Setters) -> None:
    """Put what a row says into a request for something that is not there yet."""
    for name, text in row.values.items():
        if name in setters and text:
            setters[name](transaction, request, text)


def rewritten(
    transaction: Transaction, old: Document, row: Row, setters: Setters, cells: Mapping[str, str]
) -> Document:
    """Return a document, whose cells these are, as its row wants it."""
    document = dict(old)
    for name, text in row.values.items():
        if name in setters and text != cells[name]:
            setters[name](transaction, document, text)
    return {key: value for key, value in document.items() if not is_empty(value) or old.get(key) == value}


def put(record: Record, old: Stored, document: Document) -> Written:
    """Bring what is there to a document that ``rewritten`` made; nothing if it says the same."""
    if document == old.document:
        return Written(old.document, None)
    return naming.put(record, old, patched(ENTITY_TYPES[old.entity_type], old, document))
