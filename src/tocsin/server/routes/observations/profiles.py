"""Routes of profiles of tables, columns and DML statements, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal
from uuid import uuid5

from fastapi import Path, Query, Response

from tocsin.access.sample_masks import masked_columns
from tocsin.catalogue.observations.profiles import (
    COLUMN_PROFILE,
    FIELD,
    KINDS,
    SYSTEM_PROFILE,
    TABLE_PROFILE,
    place_of,
    put_profile,
    remove_profile,
)
from tocsin.errors import InvalidInput, NotFound
from tocsin.model import fqn as names
from tocsin.model.access import Operation
from tocsin.model.columns import column_fqns
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.notification import NAMESPACE
from tocsin.model.stored import Key
from tocsin.server.access.permissions import permitted_document, require, scope_on
from tocsin.server.access.samples import masked_profile, masked_tags_for
from tocsin.server.entities.reports import Moment, WindowAsked, Work, page_answer, write_permitted
from tocsin.server.entities.serialize import past
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, PathText, answer
from tocsin.store.catalogue.observations.across import FoundReport
from tocsin.store.database.cursors import DocumentPage

_TABLE = ENTITY_TYPES["table"]
ProfileKind = Annotated[Literal["table", "column", "system"], Path(alias="of", description="What the profile is of.")]
_OF_KIND = {kind: profile_kind for profile_kind, kind in KINDS.items()}

router = DeclaredRoutes(prefix="/tables", tags=["profiles"])
of_types = DeclaredRoutes(prefix="/entity/profiles", tags=["profiles"])


@router.put("/{table_id}/tableProfile", openapi_extra=answers("Table", reads="CreateTableProfile"))
def put(table_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Add profiles of a table: ``tableProfile``, lists ``columnProfile`` and ``systemProfile``."""
    table = _write(Key.by_id(str(table_id)), caller, lambda record, table: put_profile(record, table, body))
    latest = caller.parts.reports.observations.latest([table["id"]], TABLE_PROFILE)
    return answer(past(_TABLE, table, caller) | {FIELD: latest[table["id"]]})


@router.get("/{fqn}/tableProfile/latest", openapi_extra=answers("Table"))
def read_latest(fqn: PathText, caller: Asked) -> Response:
    """Return a table with its latest table and column profiles, masked."""
    table = permitted_document("table", Key.by_name(fqn), caller, Operation.VIEW_DATA_PROFILE, include="all")
    table_profiles = caller.parts.reports.observations.latest([table["id"]], TABLE_PROFILE)
    profiles = caller.parts.reports.observations.latest_by_part(table["id"], COLUMN_PROFILE)
    masked = masked_columns(table, masked_tags_for(caller, table))
    column_profiles = {path: masked_profile(one) if path in masked else one for path, one in profiles.items()}
    view = past(_TABLE, table, caller) | {"columns": _with_profiles(table.get("columns") or [], column_profiles, "")}
    return answer(view | ({FIELD: table_profiles[table["id"]]} if table_profiles else {}))


@router.get("/{fqn}/tableProfile", openapi_extra=answers("TableProfilePage"))
def list_of_table(fqn: PathText, caller: Asked, window: WindowAsked) -> Response:
    """Return the profiles of a table in a time range, newest first."""
    table = permitted_document("table", Key.by_name(fqn), caller, Operation.VIEW_DATA_PROFILE, include="all")
    return page_answer(caller.parts.reports.observations.page(table["id"], TABLE_PROFILE, window))


@router.get("/{fqn}/columnProfile", openapi_extra=answers("ColumnProfilePage"))
def list_of_column(fqn: PathText, caller: Asked, window: WindowAsked) -> Response:
    """Return the profiles of a column in a time range, newest first, masked."""
    table_fqn, column = _column(fqn)
    table = permitted_document("table", Key.by_name(table_fqn), caller, Operation.VIEW_DATA_PROFILE, include="all")
    page = caller.parts.reports.observations.page(table["id"], COLUMN_PROFILE, window, part=column)
    if not page.total and f"{table_fqn}.{column}" not in column_fqns("table", table_fqn, table):
        raise NotFound(f"table {table_fqn} has no column {column}")
    if column in masked_columns(table, masked_tags_for(caller, table)):
        page = DocumentPage([masked_profile(one) for one in page.documents], page.total, page.after)
    return page_answer(page)


@router.get("/{fqn}/systemProfile", openapi_extra=answers("SystemProfilePage"))
def list_of_statements(fqn: PathText, caller: Asked, window: WindowAsked) -> Response:
    """Return the profiles of statements that changed a table in a time range, newest first."""
    table = permitted_document("table", Key.by_name(fqn), caller, Operation.VIEW_DATA_PROFILE, include="all")
    return page_answer(caller.parts.reports.observations.page(table["id"], SYSTEM_PROFILE, window))


@of_types.get("/{entity_type}", openapi_extra=answers("EntityProfilePage"))
def list_of_type(
    entity_type: Annotated[Literal["table"], Path()],
    caller: Asked,
    window: WindowAsked,
    profile_kind: Annotated[
        Literal["table", "column", "system"] | None,
        Query(alias="profileType", description="Only profiles of this kind."),
    ] = None,
) -> Response:
    """Return the profiles of all tables in a time range, newest first, masked; ``profileType`` narrows them."""
    require(caller, Operation.VIEW_DATA_PROFILE, _TABLE)
    kinds = [KINDS[profile_kind]] if profile_kind else list(KINDS.values())
    page = caller.parts.reports.observations.across.page(
        entity_type, kinds, window, scope_on(caller, entity_type, Operation.VIEW_DATA_PROFILE)
    )
    masked = {one.entity["id"]: _masked_paths(one.entity, caller) for one in page.reports if one.kind == COLUMN_PROFILE}
    data = [_with_table(one, masked.get(one.entity["id"], frozenset())) for one in page.reports]
    return answer({"data": data, "paging": {"total": page.total, "before": None, "after": page.after}})


@router.delete("/{fqn}/{of}/{timestamp}/profile", openapi_extra=answers("Table"))
def delete(fqn: PathText, profile_kind: ProfileKind, timestamp: Moment, caller: Asked) -> Response:
    """Delete a profile of a table, a column (by its FQN) or statements."""
    table_fqn, column = _column(fqn) if profile_kind == "column" else (fqn, "")
    remove = partial(remove_profile, kind=KINDS[profile_kind], at_ms=timestamp, column=column)
    return answer(past(_TABLE, _write(Key.by_name(table_fqn), caller, remove), caller))


def _write(key: Key, caller: Caller, work: Work) -> Document:
    return write_permitted("table", key, caller, Operation.EDIT_DATA_PROFILE, work).document


def _masked_paths(table: Document, caller: Caller) -> frozenset[str]:
    """Return the paths of the columns of a table whose values the caller may not see."""
    tags = masked_tags_for(caller, table)
    return masked_columns(caller.parts.catalogue.get("table", Key.by_id(table["id"]), "all"), tags) if tags else tags


def _with_table(report: FoundReport, masked: frozenset[str]) -> Document:
    profile, table_id = report.document, report.entity["id"]
    is_masked = report.kind == COLUMN_PROFILE and report.part in masked
    return {
        "id": str(uuid5(NAMESPACE, f"{table_id}|{report.kind}|{report.part}|{profile['timestamp']}")),
        "entityReference": report.entity,
        "timestamp": profile["timestamp"],
        "profileType": _OF_KIND[report.kind],
        "profileData": masked_profile(profile) if is_masked else profile,
    }


def _column(fqn: str) -> tuple[str, str]:
    table, column = place_of(fqn)
    if not column:
        raise InvalidInput(f"{fqn} is not the fully qualified name of a column", field="fqn")
    return table, column


def _with_profiles(columns: list[Document], profiles: Mapping[str, Document], above: str) -> list[Document]:
    return [_with_profile(column, profiles, above) for column in columns]


def _with_profile(column: Document, profiles: Mapping[str, Document], above: str) -> Document:
    path = names.child(above, column["name"]) if above else names.quote(column["name"])
    view = dict(column)
    if path in profiles:
        view[FIELD] = profiles[path]
    if column.get("children"):
        view["children"] = _with_profiles(column["children"], profiles, path)
    return view
