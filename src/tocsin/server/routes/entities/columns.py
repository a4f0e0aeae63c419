"""Routes of a table's columns, a page at a time, for tables with thousands of them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from tocsin.errors import InvalidInput
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import suggestion_for
from tocsin.model.stored import Key
from tocsin.server.access.permissions import Include, visible_document
from tocsin.server.entities.serialize import views_of
from tocsin.server.http.keyed_routes import by_id_and_name
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Fields, answer

_TABLE = ENTITY_TYPES["table"]
_FIELDS = ("tags", "*")
"""What may be asked for; columns always come with their tags."""

PageSize = Annotated[int, Query(ge=1, le=1000)]
Offset = Annotated[int, Query(ge=0, le=2**31, description="Number of entries to skip.")]

router = DeclaredRoutes(prefix="/tables", tags=["tables"])


@by_id_and_name(router.get, "/{table_id}/columns", openapi_extra=answers("ColumnPage"))
def read(
    key: Key,
    caller: Asked,
    *,
    fields: Fields = None,
    limit: PageSize = 50,
    offset: Offset = 0,
    include: Include = "non-deleted",
) -> Response:
    """Return columns of a table, ``limit`` from number ``offset`` on, in the table's order."""
    _check_fields(fields)
    document = visible_document(_TABLE, key, caller, include=include)
    (view,) = views_of(_TABLE, [document], caller, fields=frozenset({"columns", "tags"}))
    columns = view.get("columns") or []
    paging = {"offset": offset, "limit": limit, "total": len(columns)}
    return answer({"data": columns[offset : offset + limit], "paging": paging})


def _check_fields(text: str | None) -> None:
    for name in (one.strip() for one in (text or "").split(",")):
        if name and name not in _FIELDS:
            raise InvalidInput(f"a column has no field {name!r}; {suggestion_for(name, _FIELDS)}", field="fields")
