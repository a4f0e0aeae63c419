"""Routes for writing notification templates: validate, render on an event, list the helpers.

They are stored and read like all entities, in ``server/routes/entities/crud.py``.
Next: ``server/alerts/template_previews.py``.
"""

from __future__ import annotations

from fastapi import APIRouter, Response

from tocsin.errors import Forbidden
from tocsin.flow.send.templates.functions import HELPERS
from tocsin.flow.send.templates.message_text import Place
from tocsin.model.access import Operation
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.template import NOTIFICATION_TEMPLATE
from tocsin.server.access.permissions import require
from tocsin.server.alerts.template_previews import channel_of, entry_of, preview, template_of, validated
from tocsin.server.http.request import Asked, Caller, DocumentBody, answer

ROW = ENTITY_TYPES[NOTIFICATION_TEMPLATE]

_WRITERS = (Operation.CREATE, Operation.EDIT_ALL, Operation.EDIT_USER_NOTIFICATION_TEMPLATE)

router = APIRouter(prefix=f"/{ROW.collection}", tags=["notificationTemplates"])


@router.get("/helpers")
def list_helpers(caller: Asked) -> Response:
    """Return the helpers of templates, each with its syntax and an example."""
    require(caller, Operation.VIEW_BASIC, ROW)
    data = [
        {
            "name": one.name,
            "description": one.meaning,
            "usages": [{"syntax": f"{{{{{one.syntax}}}}}", "example": one.example}],
        }
        for one in HELPERS.values()
    ]
    return answer({"data": data, "paging": {"total": len(data)}})


@router.post("/validate")
def validate(body: DocumentBody, caller: Asked) -> Response:
    """Check the texts of a template (`templateSubject`, `templateBody`): errors with positions."""
    _check_writer(caller)
    return answer(validated(template_of(body)))


@router.post("/render")
def render(body: DocumentBody, caller: Asked) -> Response:
    """Render a template for an event (`eventId`), or a made-up one of a type (`resource`)."""
    _check_writer(caller)
    template, place = template_of(body), Place(channel_of(body), caller.parts.settings.base_url())
    said, _ = preview(template, entry_of(body, caller), place)
    return answer(said)


def _check_writer(caller: Caller) -> None:
    """Refuse who may write no template at all."""
    for operation in _WRITERS[1:]:
        try:
            return require(caller, operation, ROW)
        except Forbidden:
            continue
    return require(caller, _WRITERS[0], ROW)
