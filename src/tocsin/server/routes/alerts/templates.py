"""Routes for writing notification templates: validate, render on an event, send, reset, list the helpers.

They are stored and read like all entities, in ``server/routes/entities/crud.py``.
Next: ``server/alerts/template_previews.py``.
"""

from __future__ import annotations

from fastapi import Response
from starlette.concurrency import run_in_threadpool

from tocsin.catalogue.templates import reset_of
from tocsin.delivery.rich_text import RichText
from tocsin.delivery.templates.functions import HELPERS
from tocsin.delivery.templates.message_text import MessagePlace
from tocsin.errors import Forbidden
from tocsin.model.access import Operation
from tocsin.model.channels import WORDED
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.message import Entry
from tocsin.model.stored import Key
from tocsin.model.subscription import Destination
from tocsin.model.template import NOTIFICATION_TEMPLATE
from tocsin.server.access.permissions import require, visible_document
from tocsin.server.alerts.facts import check_trial
from tocsin.server.alerts.hourly_counts import count_trials, own_address
from tocsin.server.alerts.template_previews import (
    channel_of,
    destinations_of,
    entry_of,
    message_of,
    preview,
    template_of,
    validation_json,
)
from tocsin.server.alerts.trial import try_destination
from tocsin.server.http.body_values import value_in
from tocsin.server.http.keyed_routes import by_id_and_name
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, answer, list_answer
from tocsin.server.routes.entities.crud import written_answer

ROW = ENTITY_TYPES[NOTIFICATION_TEMPLATE]

_WRITERS = (Operation.CREATE, Operation.EDIT_ALL, Operation.EDIT_USER_NOTIFICATION_TEMPLATE)

router = DeclaredRoutes(prefix=f"/{ROW.collection}", tags=["notificationTemplates"])


@router.get("/helpers", openapi_extra=answers("TemplateHelperPage"))
def list_helpers(caller: Asked) -> Response:
    """Return the helpers of templates, each with its syntax and an example."""
    require(caller, Operation.VIEW_BASIC, ROW)
    data = [
        {
            "name": helper.name,
            "description": helper.meaning,
            "usages": [{"syntax": f"{{{{{helper.syntax}}}}}", "example": helper.example}],
        }
        for helper in HELPERS.values()
    ]
    return list_answer(data)


@router.post(
    "/validate",
    openapi_extra=answers(
        "NotificationTemplateValidationResponse", reads="NotificationTemplateValidationRequest", never="409"
    ),
)
def validate(body: DocumentBody, caller: Asked) -> Response:
    """Check the texts of a template (`templateSubject`, `templateBody`): errors with positions."""
    _check_writer(caller)
    return answer(validation_json(template_of(body)))


@router.post(
    "/render", openapi_extra=answers("TemplateRendering", reads="NotificationTemplateRenderRequest", never="409")
)
def render(body: DocumentBody, caller: Asked) -> Response:
    """Render a template for an event (`eventId`) or an artificial one (`resource`), as a `channel` sends it."""
    _check_writer(caller)
    template, channel, entry = template_of(body), channel_of(body), entry_of(body, caller)
    rendering, text = preview(template, entry, _place(channel, caller))
    message = {"message": message_of(channel, entry.event, text, caller)} if text and "channel" in body else {}
    return answer({**rendering, **message})


@router.post("/send", openapi_extra=answers("TemplateSending", reads="TemplateSendRequest", never="409"))
async def send(body: DocumentBody, caller: Asked) -> Response:
    """Render a template (`renderRequest`) and send it to `destinations`, or to oneself."""
    validation, texts, entry = await run_in_threadpool(_to_be_sent, body, caller)
    settings, now_ms = caller.parts.settings, caller.parts.clock.now_ms()
    asker = await run_in_threadpool(own_address, caller)
    attempts = [
        {
            "category": destination.category.value,
            "type": destination.type.value,
            "statusDetails": await try_destination(
                destination, settings, entry.event, now_ms=now_ms, text=text, asker=asker
            ),
        }
        for destination, text in texts
    ]
    return answer({**validation, **({"destinations": attempts} if attempts else {})})


@by_id_and_name(router.put, "/{template_id}/reset", openapi_extra=answers("NotificationTemplate", never="409"))
def reset(key: Key, caller: Asked) -> Response:
    """Give a system template its default texts."""
    template = visible_document(ROW, key, caller)
    operations = reset_of(template)
    require(caller, Operation.EDIT_ALL, ROW, template)
    written = caller.parts.writes.patch(ROW.name, Key.by_id(template["id"]), operations, actor=caller.actor)
    return written_answer(ROW, written, caller)


def _to_be_sent(body: Document, caller: Caller) -> tuple[Document, list[tuple[Destination, RichText | None]], Entry]:
    """Return the validation of a template, and what it says to whom if that may be sent, which is then counted."""
    _check_writer(caller)
    request = value_in(body, "renderRequest", dict, "must be an object")
    template, entry, destinations = template_of(request), entry_of(request, caller), destinations_of(body, caller)
    for destination in destinations:
        check_trial(destination, caller)
    previews = [
        (destination, *preview(template, entry, _place(destination.type.value, caller))) for destination in destinations
    ]
    validation: Document = next((validation for _, validation, text in previews if text is None), previews[0][1])[
        "validation"
    ]
    if not validation["isValid"]:
        return validation, [], entry
    count_trials(destinations, caller)
    return (
        validation,
        [(destination, text if destination.type.value in WORDED else None) for destination, _, text in previews],
        entry,
    )


def _place(channel: str, caller: Caller) -> MessagePlace:
    return MessagePlace(channel, caller.parts.settings.base_url())


def _check_writer(caller: Caller) -> None:
    """Refuse who may write no template at all."""
    for operation in _WRITERS[1:]:
        try:
            return require(caller, operation, ROW)
        except Forbidden:
            continue
    return require(caller, _WRITERS[0], ROW)
