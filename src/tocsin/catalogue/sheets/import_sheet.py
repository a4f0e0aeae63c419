"""Import of a sheet, row by row in one transaction; a dry run is rolled back.

An unreadable sheet changes nothing. A rejected row does not affect the others. Next: ``rows.py``.
"""

from __future__ import annotations

from tocsin.catalogue.sheets.children import CHILD_SHEETS, import_children
from tocsin.catalogue.sheets.columns import TABLE_SHEET, import_columns
from tocsin.catalogue.sheets.rows import BrokenSheet, Outcome, Row, SheetKind, abort_result, import_result, read_sheet
from tocsin.catalogue.sheets.terms import TERM_SHEET, import_terms
from tocsin.catalogue.sheets.trees import TREE_SHEETS, import_tree
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.imports import tell_sheet
from tocsin.flow.capture.operations import EntityWrites
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.stored import Key, Stored, Written

SHEETS: dict[str, SheetKind] = {"table": TABLE_SHEET, "glossary": TERM_SHEET, **CHILD_SHEETS}
"""Per type that has sheets: what they hold."""


class _Tried(Exception):
    """A dry run is complete and has to be rolled back."""


def sheet_kind(entity_type: str, *, recursive: bool = False) -> SheetKind | None:
    """Return the kind of sheet for this type: of direct children, or recursive.

    A type whose children have no children has one kind only; None for a type that has no sheets.
    """
    plain = SHEETS.get(entity_type)
    return TREE_SHEETS.get(entity_type, plain) if recursive else plain


def import_sheet(
    writes: EntityWrites, target: tuple[str, str], text: str, *, actor: Actor, dry_run: bool, recursive: bool = False
) -> Document:
    """Do what a sheet says of what something (its type and id) holds; return OpenMetadata's ``CsvImportResult``.

    Raises
    ------
    NotFound : there is no such entity.
    """
    entity_type, entity_id = target
    kind = sheet_kind(entity_type, recursive=recursive) or SHEETS[entity_type]
    try:
        sheet = read_sheet(kind, text)
    except BrokenSheet as broken:
        return abort_result(broken.message, dry_run=dry_run)
    outcomes: list[Outcome] = []

    def work(record: Record) -> Written:
        target = record.transaction.find(entity_type, Key.by_id(entity_id))
        if target is None or record.visible(target).is_deleted:
            raise NotFound(f"{entity_type} {entity_id} not found")
        outcomes[:], written = _import_rows(record, target, kind, sheet.body_rows)
        tell_sheet(record, target)
        if dry_run:
            raise _Tried
        return written

    try:
        writes.within(work, actor=actor)
    except _Tried:
        pass
    except InvalidInput as refused:  # what the rows make together cannot be, although each alone could
        return abort_result(refused.message, dry_run=dry_run)
    return import_result(sheet, outcomes, dry_run=dry_run)


def _import_rows(
    record: Record, target: Stored, kind: SheetKind, sheet_rows: tuple[Row, ...]
) -> tuple[list[Outcome], Written]:
    if kind is TREE_SHEETS.get(target.entity_type):
        return import_tree(record, target, sheet_rows), Written(target.document, None)
    if target.entity_type == "table":
        return import_columns(record, target, sheet_rows)
    if target.entity_type in CHILD_SHEETS:
        return import_children(record, target, sheet_rows), Written(target.document, None)
    return import_terms(record, target, sheet_rows), Written(target.document, None)
