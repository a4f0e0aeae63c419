"""Routes of acknowledging an incident by the button in a message to one person, as that person and without log-in.

Following the link asks first, because programs follow links too. Rights are those that the person has then.
Next: ``delivery/links/acknowledge.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from html import escape
from typing import Annotated, NamedTuple

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from tocsin.delivery.lines import moment_text
from tocsin.errors import NotFound
from tocsin.model.alert_incident import AlertIncident, IncidentStatus
from tocsin.model.notification import Notification
from tocsin.model.people import Actor
from tocsin.server.alerts.message_buttons import (
    IncidentButton,
    acknowledge,
    asset_name_of,
    button_of,
    incident_to_acknowledge,
    person_of,
    state_of,
)
from tocsin.server.alerts.read_elsewhere import note_read
from tocsin.server.build import Parts
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Caller, PartsHere, address_of
from tocsin.server.routes.notifications.unsubscribe import Token, as_whom, link_page, paragraphs

_EFFECT = "Acknowledging ends its reminders and adds your name to its timeline; it keeps nobody's first message back."
_NO_UNDO = "It cannot be undone, but you can still assign or resolve it in Tocsin."

router = DeclaredRoutes(tags=["inbox"])


class Clicked(NamedTuple):
    """A button that was clicked: the incident's name, what failed, and the recipient of its notification as caller."""

    incident: str
    asset_name: str
    notification: Notification
    caller: Caller


async def click_of(token: Token, request: Request, parts: PartsHere) -> AsyncIterator[Clicked]:
    """Yield what was clicked, and who it is taken to be: the recipient of the message."""
    button, actor = await run_in_threadpool(_recipient, token, parts)
    asset_name = await run_in_threadpool(asset_name_of, button.notification, parts)
    with await parts.traffic.shares.place_for(actor) as place:
        caller = Caller(actor, parts, parts.settings.public_url or address_of(request), place)
        yield Clicked(button.incident.name, asset_name, button.notification, caller)


def _recipient(token: str, parts: Parts) -> tuple[IncidentButton, Actor]:
    button = button_of(token, parts)
    actor = person_of(button.notification.recipient_id, parts)
    if actor is None:
        raise NotFound("This message went to nobody in particular, or its recipient was deleted.")
    return button, actor


ClickedHere = Annotated[Clicked, Depends(click_of)]


@router.get(
    "/acknowledge/{token}",
    response_class=HTMLResponse,
    openapi_extra=answers("Html", media="text/html", refuses="403 429"),
)
def ask_to_acknowledge(clicked: ClickedHere) -> Response:
    """Return a page that asks to confirm acknowledging an incident."""
    incident = incident_to_acknowledge(clicked.incident, clicked.caller)
    about = _about(clicked, incident)
    if incident.status is not IncidentStatus.OPEN:
        return link_page("Acknowledge", escape(state_of(incident, about)), asks=False)
    who = as_whom(clicked.notification, clicked.caller.parts)
    says = f"You are about to acknowledge {incident.name}{about}{who}."
    since = f"It has been open since {moment_text(incident.opened_at_ms, clicked.caller.zone)}. {_EFFECT}"
    return link_page("Acknowledge", paragraphs(says, since, _NO_UNDO))


def _about(clicked: Clicked, incident: AlertIncident) -> str:
    """Return of what an incident is, after its name, as far as the recipient may know it."""
    failure = f" ({clicked.asset_name})" if clicked.asset_name else ""
    if incident.name == clicked.incident:
        return failure
    return f", of which {clicked.incident}{failure} is a part"


@router.post(
    "/acknowledge/{token}",
    response_class=HTMLResponse,
    openapi_extra=answers("Html", media="text/html", refuses="403 429", never="409"),
)
def acknowledge_by_link(clicked: ClickedHere) -> Response:
    """Acknowledge the incident of a message as its recipient; return a page with its state."""
    about = _about(clicked, incident_to_acknowledge(clicked.incident, clicked.caller))
    effect = acknowledge(clicked.incident, clicked.caller, about)
    note_read(clicked.notification, clicked.caller.actor, clicked.caller.parts)
    return link_page("Acknowledge", escape(effect), asks=False)
