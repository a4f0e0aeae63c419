"""Routes that list the entities of one type, filtered, in pages. Next: ``store/catalogue/entities/listing.py``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Query, Request, Response
from pydantic import Field

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.stored import Key
from tocsin.server.access.permissions import scope_of, scopes_of, visible_document, visible_references
from tocsin.server.entities.response import parse_fields, with_address
from tocsin.server.entities.serialize import views_of
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.rdf.answers import MOST_NODES, entities_answer, json_answer, next_page
from tocsin.server.rdf.formats import AskedFormat, Format
from tocsin.server.request import Asked, Kind, PathText, QueryParameters, answer
from tocsin.store.catalogue.entities.filters import REPEATABLE, filters_of
from tocsin.store.catalogue.entities.listing import Listing

router = DeclaredRoutes(tags=["entities"])
"""Included under every collection (``server/app.py``)."""


_OF_CHILDREN = frozenset({"container"})
_BRIEF = ("id", "name", "displayName", "fullyQualifiedName", "description", "service", "deleted", "href")
Limit = Annotated[int, Query(ge=0, le=1_000)]
Offset = Annotated[int, Query(ge=0, le=2**53, description="Number of entries to skip.")]


class ListQuery(QueryParameters):
    """What may be asked of a list of any type; each type has filters of its own."""

    fields: str | None = Field(default=None, max_length=2000)
    include: Literal["non-deleted", "deleted", "all"] = "non-deleted"
    limit: int = Field(default=10, ge=0, le=1_000_000)
    after: str | None = Field(default=None, max_length=8000)
    before: str | None = Field(default=None, max_length=8000)
    tags: str | None = Field(default=None, description="Comma list of tags, each of which an entity has.")
    owner: str | None = Field(default=None, description="Id or name of an owner.")
    name_prefix: str | None = Field(default=None, description="Beginning of the names.")

    def listing(self) -> Listing:
        """Return the list query for the store."""
        if self.after and self.before:
            raise InvalidInput("give either after or before", field="after")
        return Listing(
            include=self.include,
            tags=tuple(tag for tag in (self.tags or "").split(",") if tag),
            owner=self.owner,
            name_prefix=self.name_prefix,
            after=self.after,
            before=self.before,
            limit=self.limit,
        )


@router.get("/name/{fqn}/children", openapi_extra=answers("EntityReferencePage"))
def list_children(kind: Kind, fqn: PathText, caller: Asked, *, limit: Limit = 10, offset: Offset = 0) -> Response:
    """Return a page of a container's direct children, in brief form."""
    if kind.name not in _OF_CHILDREN:
        raise NotFound(f"{kind.collection} have no children.")
    parent = visible_document(kind, Key.by_name(fqn), caller)
    directly = (("directChildrenOf", parent["id"]),)
    listing = Listing(limit=limit, offset=offset, has_cursors=False, visible=scope_of(caller, kind), filters=directly)
    page = caller.parts.catalogue.list_entities(kind.name, listing)
    views = views_of(kind, page.documents, caller, fields=frozenset())
    data = [{key: view[key] for key in _BRIEF if key in view} for view in views]
    return answer({"data": data, "paging": {"offset": offset, "limit": limit, "total": page.total}})


@router.get("/name/{fqn}/ancestors", openapi_extra=answers("Ancestors"))
def list_ancestors(kind: Kind, fqn: PathText, caller: Asked) -> Response:
    """Return references to the containers above a container, the outermost first."""
    if kind.name not in _OF_CHILDREN:
        raise NotFound(f"{kind.collection} have no parents of their own type.")
    document = visible_document(kind, Key.by_name(fqn), caller)
    ancestors: list[Document] = []
    while parent := document.get("parent"):
        ancestors.append(parent)
        document = caller.parts.catalogue.get(kind.name, Key.by_id(parent["id"]), "all")
    visible = visible_references(caller, reversed(ancestors))
    return answer([with_address(one, caller.root) for one in visible])


@router.get("", openapi_extra=answers("{}Page", is_linked=True))
def list_entities(
    kind: Kind, caller: Asked, query: Annotated[ListQuery, Query()], request: Request, asked_format: AskedFormat
) -> Response:
    """Return a page of entities in FQN order, with the filters of the type (``docs/entities.md``)."""
    field_names = parse_fields(kind, query.fields)
    filters = _filters(kind, request)
    scopes = tuple(sorted(scopes_of(caller).items())) if filters or query.tags or query.owner else ()
    limit = query.limit if asked_format is Format.JSON else min(query.limit, MOST_NODES)
    listing = replace(query.listing(), limit=limit, visible=scope_of(caller, kind), scopes=scopes, filters=filters)
    page = caller.parts.catalogue.list_entities(kind.name, listing)
    data = views_of(kind, page.documents, caller, fields=field_names)
    cursors = {"after": page.after, "before": page.before}
    paging: Document = {"total": page.total} | {key: cursor for key, cursor in cursors.items() if cursor}
    if asked_format is not Format.JSON:
        headers = next_page(request, after=page.after) if page.after else {}
        return entities_answer(kind.name, data, asked_format, headers)
    return json_answer({"data": data, "paging": paging})


def _filters(kind: EntityType, request: Request) -> tuple[tuple[str, str], ...]:
    """Return the filters of a list, in order; the values of one that is repeated as a comma list."""
    filters = {name: value for name, value in request.query_params.items() if value and name in filters_of(kind.name)}
    lists = {name: ",".join(request.query_params.getlist(name)) for name in filters.keys() & REPEATABLE}
    return tuple(sorted((filters | lists).items()))
