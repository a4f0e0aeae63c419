"""How does a sheet become writes? In one transaction, row by row; a dry run is the same, and then not kept.

A sheet that cannot be read changes nothing. A row that cannot be done stops no other. Next: ``sheet.py``.
"""

from __future__ import annotations

from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.operations import Writes
from tocsin.flow.capture.ports import Key, Stored, Written
from tocsin.flow.capture.sheets.children import CHILD_SHEETS, import_children
from tocsin.flow.capture.sheets.columns import TABLE_SHEET, import_columns
from tocsin.flow.capture.sheets.rows import BrokenSheet, Outcome, Row, SheetKind, aborted, import_result, read_sheet
from tocsin.flow.capture.sheets.terms import TERM_SHEET, import_terms
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.people import Actor

SHEETS: dict[str, SheetKind] = {"table": TABLE_SHEET, "glossary": TERM_SHEET, **CHILD_SHEETS}
"""Per type that has sheets: what they hold."""


class _Tried(Exception):
    """A dry run came to its end, and nothing of it may be kept."""


def import_sheet(
    writes: Writes, entity_type: str, entity_id: str, text: str, *, actor: Actor, dry_run: bool
) -> Document:
    """Do what a sheet says of what something holds; return OpenMetadata's ``CsvImportResult``.

    Raises
    ------
    NotFound : there is no such thing.
    """
    try:
        sheet = read_sheet(SHEETS[entity_type], text)
    except BrokenSheet as broken:
        return aborted(broken.message, dry_run=dry_run)
    outcomes: list[Outcome] = []

    def work(record: Record) -> Written:
        target = record.transaction.find(entity_type, Key.by_id(entity_id))
        if target is None or target.deleted:
            raise NotFound(f"{entity_type} {entity_id} not found")
        outcomes[:], written = _imported(record, target, sheet.rows)
        if dry_run:
            raise _Tried
        return written

    try:
        writes.within(work, actor=actor)
    except _Tried:
        pass
    except InvalidInput as refused:  # what the rows make together cannot be, although each alone could
        return aborted(refused.message, dry_run=dry_run)
    return import_result(sheet, outcomes, dry_run=dry_run)


def _imported(record: Record, target: Stored, rows: tuple[Row, ...]) -> tuple[list[Outcome], Written]:
    if target.entity_type == "table":
        return import_columns(record, target, rows)
    if target.entity_type in CHILD_SHEETS:
        return import_children(record, target, rows), Written(target.document, None)
    return import_terms(record, target, rows), Written(target.document, None)
