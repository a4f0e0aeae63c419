"""Route of custom properties of an entity type. Next: ``catalogue/governance/custom_properties.py``."""

from __future__ import annotations

from fastapi import Response

from tocsin.model.access import Operation
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import require, visible_document
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, DocumentBody, PathId
from tocsin.server.routes.entities.crud import written_answer

router = DeclaredRoutes(tags=["types"])
_TYPE = ENTITY_TYPES["type"]


@router.put("/metadata/types/{type_id}", openapi_extra=answers("Type", reads="CustomPropertyRequest"))
def put_property(type_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Add or change a custom property of the type: ``name``, ``description``, ``propertyType``."""
    require(caller, Operation.EDIT_ALL, _TYPE, visible_document(_TYPE, Key.by_id(str(type_id)), caller))
    written = caller.parts.writes.put_property(Key.by_id(str(type_id)), body, actor=caller.actor)
    return written_answer(_TYPE, written, caller)
