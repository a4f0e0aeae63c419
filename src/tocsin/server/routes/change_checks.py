"""Route that checks proposed changes before they are made. Next: ``server/alerts/change_checks.py``."""

from __future__ import annotations

from fastapi import Response

from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.proposed_change import ChangeCheck
from tocsin.server.access.permissions import require_on
from tocsin.server.alerts.change_checks import CHECK_SCHEMA, check_changes
from tocsin.server.http.errors import parse_as
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, DocumentBody, answer

router = DeclaredRoutes(prefix="/changes", tags=["change requests"])


@router.post("/check", openapi_extra=answers("CheckedChanges", CHECK_SCHEMA, reads="ChangeCheck"))
def check_proposed(body: DocumentBody, caller: Asked) -> Response:
    """Check changes that are only proposed: what they break, what reads it, who would be notified; nothing is kept."""
    for entity_type in _types_in(body):
        require_on(caller, Operation.VIEW_BASIC, entity_type)
    return answer(check_changes(parse_as(ChangeCheck, body), caller))


def _types_in(body: Document) -> list[str]:
    """Return the types of the assets that changes are about; tables where a body names none."""
    changes = body.get("changes")
    proposals = [one for one in changes if isinstance(one, dict)] if isinstance(changes, list) else []
    types = {str(one.get("entityType")) for one in proposals} & ENTITY_TYPES.keys()
    return sorted(types) or ["table"]
