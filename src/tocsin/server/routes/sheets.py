"""Routes of CSV export and import of an entity's contents.

Next: ``catalogue/sheets/import_sheet.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

from fastapi import Depends, Query, Response

from tocsin.catalogue.sheets.children import CHILD_SHEETS, CHILDREN, child_rows
from tocsin.catalogue.sheets.columns import column_rows
from tocsin.catalogue.sheets.import_sheet import SHEETS, import_sheet, sheet_kind
from tocsin.catalogue.sheets.rows import SheetKind, write_sheet
from tocsin.catalogue.sheets.terms import term_rows
from tocsin.catalogue.sheets.trees import BELOW, Entry, tree_rows
from tocsin.errors import NotFound
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import require, sees, visible_document
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, Kind, PathText, answer, csv_of

router = DeclaredRoutes(tags=["sheets"])
"""Included under every collection; only some have sheets."""


@router.get("/documentation/csv", openapi_extra=answers("CsvDocumentation"))
def describe(kind: Kind, caller: Asked, *, recursive: bool = False) -> Response:
    """Return the columns of this collection's CSV and their meaning."""
    require(caller, Operation.VIEW_BASIC, kind)
    return answer(_sheet_of(kind, recursive=recursive).to_wire())


@router.get("/name/{fqn}/export", openapi_extra=answers("Csv", media="text/plain"))
def export(kind: Kind, fqn: PathText, caller: Asked, *, recursive: bool = False) -> Response:
    """Export the columns of a table, the terms of a glossary, or the children of an entity as CSV.

    With ``recursive=true`` that is all that lies under a database service, a database or a schema.
    """
    sheet = _sheet_of(kind, recursive=recursive)
    document = visible_document(kind, Key.by_name(fqn), caller)
    is_tree = recursive and kind.name in BELOW
    lines = (
        tree_rows(_trimmed_entries(_descendants_of(kind.name, document, caller), caller))
        if is_tree
        else _rows(kind, document, caller)
    )
    text = write_sheet([[header.label for header in sheet.headers], *lines])
    return Response(text, media_type="text/plain; charset=utf-8")


@router.put("/name/{fqn}/import", openapi_extra=answers("CsvImportResult", reads="Csv"))
def import_(
    kind: Kind,
    fqn: PathText,
    caller: Asked,
    *,
    text: Annotated[str, Depends(csv_of)],
    dry_run: Annotated[bool, Query(alias="dryRun")] = False,
    recursive: bool = False,
) -> Response:
    """Import a CSV and return the result of each row; ``dryRun=true`` writes nothing."""
    _sheet_of(kind)
    document = visible_document(kind, Key.by_name(fqn), caller)  # the transaction of the rows checks what they change
    target = kind.name, document["id"]
    writes, actor = caller.parts.writes, caller.actor
    return answer(import_sheet(writes, target, text, actor=actor, dry_run=dry_run, recursive=recursive))


def _sheet_of(kind: EntityType, *, recursive: bool = False) -> SheetKind:
    sheet = sheet_kind(kind.name, recursive=recursive)
    if sheet is None:
        raise NotFound(f"{kind.collection} cannot be exported as CSV; valid collections: {_sheet_collections()}.")
    return sheet


def _sheet_collections() -> str:
    return ", ".join(sorted(ENTITY_TYPES[name].collection for name in SHEETS))


def _children(kind: EntityType, document: Document, caller: Caller) -> Iterator[Document]:
    """Yield an entity's children, or every descendant of a team, parents first."""
    child, catalogue = CHILDREN[kind.name], caller.parts.catalogue
    below = catalogue.teams_under(document["id"]) if child == "team" else catalogue.children(child, document["id"])
    return (one for one in below if sees(caller, child, one))


def _descendants_of(entity_type: str, document: Document, caller: Caller) -> Iterator[Entry]:
    """Yield all descendants, each before its own."""
    for child in BELOW.get(entity_type, ()):
        for entity in caller.parts.catalogue.children(child, document["id"]):
            if sees(caller, child, entity):
                yield child, entity
            yield from _descendants_of(child, entity, caller)


def _trimmed_entries(entries: Iterable[Entry], caller: Caller) -> list[Entry]:
    """Return entities with their types, without references to what may not be seen."""
    listed = list(entries)
    documents = caller.visibility.visible_documents([document for _, document in listed])
    return [(kind, document) for (kind, _), document in zip(listed, documents, strict=True)]


def _rows(kind: EntityType, document: Document, caller: Caller) -> Iterator[list[str]]:
    if kind.name == "table":
        return column_rows(document)
    if kind.name in CHILD_SHEETS:
        return child_rows(kind.name, caller.visibility.visible_documents(list(_children(kind, document, caller))))
    terms = caller.parts.catalogue.entities_under("glossaryTerm", document["fullyQualifiedName"])
    return term_rows(
        caller.visibility.visible_documents([term for term in terms if sees(caller, "glossaryTerm", term)])
    )
