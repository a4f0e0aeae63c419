"""Import of rows: the cells of each are applied to a document, which is written as a whole or not at all.

Rows may name each other, whatever their order in the sheet: one that names what is not there yet is tried again after
the others. Rows that wait for each other are first imported without the cells that can be added later.
Next: ``children.py``, ``terms.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tocsin.catalogue.sheets.cells import SheetFields
from tocsin.catalogue.sheets.rows import Outcome, Row
from tocsin.errors import InvalidInput, TocsinError
from tocsin.flow.capture import renames
from tocsin.flow.capture.diff import is_empty
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.prepare import patched_fields
from tocsin.flow.capture.redaction import hidden_references
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.pointers import without_hidden
from tocsin.model.stored import Stored, Written

Json = Any  # Any: a JSON value


def outcome(record: Record, row: Row, bring: Callable[[], str]) -> Outcome:
    """Return the result of ``bring`` for a row; a rejected row leaves no event."""
    event_count = len(record.events)
    try:
        if row.problem is not None:
            raise InvalidInput(row.problem)
        return Outcome(row, bring())
    except TocsinError as refused:
        del record.events[event_count:]
        return Outcome(row, refused.message, failed=True)


def fill(transaction: Transaction, request: Document, row: Row, fields: SheetFields) -> None:
    """Apply the cells of a row to the create request of a new entity."""
    for name, text in row.values.items():
        if name in fields and text:
            fields[name].put(transaction, request, text)


def rewritten(record: Record, old: Stored, row: Row, fields: SheetFields) -> Document:
    """Return a document with the changes of its row.

    The row is compared with the cells that the actor may see; hidden values stay unchanged.
    """
    shown_document = without_hidden(
        old.document, hidden_references(old.document, record.permit, record.transaction), old.document
    )
    document = dict(shown_document)
    for name, text in row.values.items():
        if name in fields and text != fields[name].text(shown_document):
            fields[name].put(record.transaction, document, text)
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
    merged_values = {key: _with_hidden_parts(after.get(key), before.get(key), old.get(key)) for key in old | after}
    return {key: value for key, value in merged_values.items() if value is not None}


def put(record: Record, old: Stored, document: Document) -> Written:
    """Bring what is there to a document that ``rewritten`` made; nothing if it says the same."""
    if document == old.document:
        return Written(old.document, None)
    return renames.put(record, old, patched_fields(ENTITY_TYPES[old.entity_type], old, document))


Bring = Callable[[Row], str]
"""Writes what a row says and returns what was done."""


@dataclass(frozen=True)
class RowLinks:
    """How the rows of a sheet name each other.

    Attributes
    ----------
    name : the FQN of a row's own entity; None if the row is unreadable
    links : the FQNs of other entities of the type that a row names and that are not in the store; raises
        ``InvalidInput`` if the row is unreadable
    optional : headers of the cells with such names that an entity can get later
    """

    name: Callable[[Row], str | None]
    links: Callable[[Row], Iterable[str]]
    optional: frozenset[str]


def import_rows(record: Record, sheet_rows: Sequence[Row], bring: Bring, links: RowLinks) -> list[Outcome]:
    """Return the result of each row; rejected rows are skipped."""
    outcomes: dict[int, Outcome] = {}

    def settle(places: Iterable[int], *, without: frozenset[str] = frozenset()) -> list[int]:
        """Import rows until no more of them succeed; return those that do not."""
        failed_places = list(places)
        while failed_places:
            before = failed_places
            for at in before:
                outcomes[at] = _try_row(record, sheet_rows[at], bring, without)
            failed_places = [at for at in before if outcomes[at].failed]
            if len(failed_places) == len(before):
                break
        return failed_places

    waiting_places = settle(range(len(sheet_rows)))
    mutual = _mutually_named_rows({at: sheet_rows[at] for at in waiting_places}, links)
    refused_places = settle(mutual, without=links.optional)
    settled_places = [at for at in mutual if at not in refused_places]
    messages = {at: outcomes[at].message for at in settled_places}
    settle(settled_places)
    for at, message in messages.items():
        last = outcomes[at]
        new_message = f"{message}, but {last.message}" if last.failed else message
        outcomes[at] = replace(last, message=new_message)
    return [outcomes[at] for at in range(len(sheet_rows))]


def _try_row(record: Record, row: Row, bring: Bring, without: frozenset[str]) -> Outcome:
    values = {header: text for header, text in row.values.items() if header not in without}
    return replace(outcome(record, row, partial(bring, replace(row, values=values))), row=row)


def _mutually_named_rows(rows_by_place: dict[int, Row], links: RowLinks) -> list[int]:
    """Return those of these rows that name nothing unknown but each other."""
    names_by_place = {at: _linked_names(row, links) for at, row in rows_by_place.items()}
    places = {at for at, names in names_by_place.items() if names}
    while True:
        present = {links.name(rows_by_place[at]) for at in places}
        next_places = {at for at in places if names_by_place[at] <= present}
        if next_places == places:
            return sorted(places)
        places = next_places


def _linked_names(row: Row, links: RowLinks) -> set[str]:
    """Return the FQNs that a row names; none if it is unreadable, which its own import has said."""
    try:
        return set(links.links(row))
    except InvalidInput:
        return set()
