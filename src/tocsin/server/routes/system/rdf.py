"""Routes of linked data: the ontology, the shapes and the contexts, and entities by upstream's path.

*Source:* OpenMetadata's ``/v1/rdf/ontology`` and ``/v1/rdf/entity/{entityType}/{id}``.
Next: ``server/rdf/answers.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from fastapi import Response

from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document
from tocsin.server.entities.response import parse_fields
from tocsin.server.entities.serialize import views_of
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.rdf.answers import VARY, entity_answer
from tocsin.server.rdf.formats import MEDIA_TYPES, Format, LinkedFormat
from tocsin.server.rdf.ontology import ontology, shapes
from tocsin.server.rdf.vocabulary import ENTITY_CONTEXT, alert_context, event_context
from tocsin.server.request import Asked, Fields, PathId, TypeName, answer
from tocsin.server.routes.lineage.edges import kind_of_type

_CONTEXTS: dict[str, Callable[[], object]] = {
    "changeEvent": event_context,
    "eventSubscription": alert_context,
    "entity": lambda: ENTITY_CONTEXT,
}
_OPEN = answers("LinkedData", media="text/turtle", is_linked=True, never="404 503")

open_router = DeclaredRoutes(prefix="/rdf", tags=["linked data"])
"""What is the same for everybody, and needs no token."""
router = DeclaredRoutes(prefix="/rdf", tags=["linked data"])


@open_router.get("/ontology", openapi_extra=_OPEN)
def read_ontology(linked_format: LinkedFormat) -> Response:
    """Return the ontology of events, alerts and entities, in Turtle by default."""
    return Response(ontology(linked_format), media_type=MEDIA_TYPES[linked_format], headers=VARY)


@open_router.get("/shapes", openapi_extra=_OPEN)
def read_shapes(linked_format: LinkedFormat) -> Response:
    """Return the SHACL shapes that linked data has, in Turtle by default."""
    return Response(shapes(linked_format), media_type=MEDIA_TYPES[linked_format], headers=VARY)


@open_router.get("/context", openapi_extra=answers("LinkedData", media="application/ld+json", never="404 503"))
def read_context(name: Literal["changeEvent", "eventSubscription", "entity"] = "changeEvent") -> Response:
    """Return a JSON-LD context; every document holds its own, so that none need be fetched."""
    response = answer({"@context": _CONTEXTS[name]()})
    response.headers["content-type"] = MEDIA_TYPES[Format.JSON_LD]
    return response


@router.get(
    "/entity/{entity_type}/{entity_id}", openapi_extra=answers("LinkedData", media="text/turtle", is_linked=True)
)
def read_entity(
    entity_type: TypeName, entity_id: PathId, caller: Asked, linked_format: LinkedFormat, *, fields: Fields = None
) -> Response:
    """Return an entity as linked data, in Turtle by default."""
    kind = kind_of_type(entity_type)
    field_names = parse_fields(kind, fields)
    document = visible_document(kind, Key.by_id(str(entity_id)), caller)
    (view,) = views_of(kind, [document], caller, fields=field_names)
    return entity_answer(kind.name, view, linked_format)
