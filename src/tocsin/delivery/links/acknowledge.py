"""Buttons to acknowledge an incident from a message about its failure: in one to a person by a signed token.

A token names the notification, which determines the person, the incident, and its end; using it again changes nothing.
Where many read a message, nobody knows who clicks: there the button leads to the incident's page, which asks to log in.
Next: ``server/routes/notifications/acknowledge_links.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tocsin.delivery.dispatch import Button, Dispatch
from tocsin.delivery.links.tokens import about_of, sign_token
from tocsin.model.alert_incident import OpenIncident
from tocsin.model.message import Entry

_PURPOSE = "acknowledge"

VALID_FOR_MS = 7 * 86_400_000
"""So long after a message its button works."""


class AcknowledgeLink(NamedTuple):
    """What a token asks for: to acknowledge an incident for the recipient of a notification, until a time."""

    notification_id: str
    incident_number: int
    until_ms: int


class LinkSigner(NamedTuple):
    """What makes links: where they lead, and the key that signs them; without a key nobody is known by a link.

    ``is_personal``: a link in a message to a person acts for that person.
    """

    base_url: str
    key: bytes
    is_personal: bool = True


def buttons_of(dispatch: Dispatch, links: LinkSigner, *, now_ms: int) -> Mapping[str, tuple[Button, ...]]:
    """Return the buttons of a message, by the ids of the notifications in it: one for each incident that is open.

    A person who may not acknowledge it gets a link to it. Where many read a message, nobody knows who will click.
    """
    until_ms = now_ms + VALID_FOR_MS
    links = links if dispatch.reaches_recipient else links._replace(is_personal=False)
    read_only = dispatch.read_only or frozenset()
    first_by_incident: dict[OpenIncident, Entry] = {}
    for entry in sorted(dispatch.entries, key=lambda one: one.notification_id in read_only):
        if entry.incident:
            first_by_incident.setdefault(entry.incident, entry)
    return {
        entry.notification_id: (
            Button(f"Open {incident.name}", _page_of(incident, links), "")
            if entry.notification_id in read_only
            else _button(entry, incident, links, until_ms),
        )
        for incident, entry in first_by_incident.items()
    }


def _button(entry: Entry, incident: OpenIncident, links: LinkSigner, until_ms: int) -> Button:
    token = token_of(AcknowledgeLink(entry.notification_id, incident.number, until_ms), links.key)
    is_personal = entry.recipient_id is not None and links.key and links.is_personal
    address = f"{links.base_url}/api/v1/acknowledge/{token}" if is_personal else _page_of(incident, links)
    return Button(f"Acknowledge {incident.name}", address, token)


def _page_of(incident: OpenIncident, links: LinkSigner) -> str:
    return f"{links.base_url}/#/incidents/{incident.name}"


def token_of(request: AcknowledgeLink, key: bytes) -> str:
    """Return the token for a request."""
    return sign_token(_PURPOSE, f"{request.notification_id}.{request.incident_number}.{request.until_ms}", key)


def request_of(token: str, key: bytes, now_ms: int) -> AcknowledgeLink | None:
    """Return what a token asks for; None for what was not signed with ``key``, or is over."""
    about = about_of(_PURPOSE, token, key)
    if about is None:
        return None
    notification_id, number, until = about.split(".")
    request = AcknowledgeLink(notification_id, int(number), int(until))
    return request if now_ms < request.until_ms else None
