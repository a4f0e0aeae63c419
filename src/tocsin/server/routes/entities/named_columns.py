"""Routes of one column of a table or data model, by its own fully qualified name.

Source: schemas/api/data/updateColumn.json. A change is a patch of what the column is in. Next: ``catalogue/writes.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Query, Response

from tocsin.catalogue.observations.field_checks import checked_document, flag, shape, text
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.json_patch import PatchOperation
from tocsin.model import fqn as names
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document
from tocsin.server.entities.serialize import views_of
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathText, answer

_TEXTS = ("displayName", "description")
_CHANGE = shape({}, {**dict.fromkeys(_TEXTS, text), "constraint": text, "removeConstraint": flag})

Holder = Annotated[
    Literal["table", "dashboardDataModel"], Query(alias="entityType", description="What the column is in.")
]

router = DeclaredRoutes(prefix="/columns", tags=["tables"])


@router.get("/name/{fqn}", openapi_extra=answers("Column"))
def read_column(fqn: PathText, caller: Asked, *, holder: Holder = "table") -> Response:
    """Return one column by FQN; ``entityType`` says what it is in: ``table`` or ``dashboardDataModel``."""
    row = ENTITY_TYPES[holder]
    document, path = _holder_and_path(row, fqn, caller)
    return answer(_column_json(row, document, path, caller))


@router.put("/name/{fqn}", openapi_extra=answers("Column", reads="UpdateColumnRequest"))
def change_column(fqn: PathText, body: DocumentBody, caller: Asked, *, holder: Holder = "table") -> Response:
    """Change a column: ``displayName``, ``description``, ``tags``, ``constraint``; an empty value removes it."""
    row = ENTITY_TYPES[holder]
    document, path = _holder_and_path(row, fqn, caller)
    column, pointer = _column_at(document["columns"], path)
    operations = _operations(column, pointer, body, has_constraints=holder == "table")
    key = Key.by_id(document["id"])
    written = caller.parts.writes.patch(row.name, key, operations, actor=caller.actor)
    return answer(_column_json(row, written.document, path, caller))


def _holder_and_path(kind: EntityType, fqn: str, caller: Caller) -> tuple[Document, tuple[str, ...]]:
    """Return what a column is in, and the names that lead to it there.

    Raises
    ------
    NotFound : there is no such column
    """
    parts = names.split(fqn)
    for length in range(len(parts) - 1, 0, -1):
        key, path = Key.by_name(names.join(parts[:length])), tuple(parts[length:])
        if caller.parts.catalogue.reference(kind.name, key) is not None:
            document = visible_document(kind, key, caller)
            _column_at(document.get("columns") or (), path)
            return document, path
    raise NotFound(f"column {fqn} not found in any {kind.name}")


def _column_at(columns: Sequence[Document], path: Sequence[str]) -> tuple[Document, str]:
    """Return the column at the end of a path of names, and the pointer to it in its entity.

    Raises
    ------
    NotFound : there is none
    """
    pointer, inside, column = "/columns", columns, None
    for depth, name in enumerate(path, start=1):
        at = next((at for at, one in enumerate(inside) if one.get("name") == name), None)
        if at is None:
            raise NotFound(f"column {names.join(path)} not found")
        column = inside[at]
        pointer, inside = f"{pointer}/{at}", column.get("children") or ()
        if depth < len(path):
            pointer = f"{pointer}/children"
    assert column is not None  # noqa: S101  a path has a name
    return column, pointer


def _operations(column: Document, pointer: str, body: Document, *, has_constraints: bool) -> list[PatchOperation]:
    """Return the patch of an entity that makes a change of its column; the first operation tests which column it is."""
    labels = body.get("tags")
    if labels is not None and not isinstance(labels, list):
        raise InvalidInput("must be a list", field="tags")
    change = checked_document(
        _CHANGE, {key: value for key, value in body.items() if key != "tags" and value is not None}
    )
    values: Document = {key: change[key] for key in _TEXTS if key in change}
    if has_constraints and (change.get("removeConstraint") or "constraint" in change):
        values["constraint"] = "" if change.get("removeConstraint") else change["constraint"]
    if labels is not None:
        values["tags"] = labels
    test = {"op": "test", "path": f"{pointer}/name", "value": column["name"]}
    changes = [_operation(column, f"{pointer}/{key}", key, value) for key, value in values.items()]
    return [test, *(one for one in changes if one)]


def _operation(column: Document, pointer: str, key: str, value: object) -> PatchOperation | None:
    if value in ("", []):
        return {"op": "remove", "path": pointer} if column.get(key) else None
    return {"op": "add", "path": pointer, "value": value}


def _column_json(kind: EntityType, document: Document, path: Sequence[str], caller: Caller) -> Document:
    (view,) = views_of(kind, [document], caller, fields=frozenset({"columns", "tags"}))
    return _column_at(view["columns"], path)[0]
