"""Routes of muting by the link in a chat message, without log-in: the link's token identifies the recipient.

Following the link asks first, because programs follow links too. Next: ``delivery/links/mute.py``.
"""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from tocsin.delivery.links.mute import MuteLink, request_of
from tocsin.errors import NotFound
from tocsin.model.notification import Notification
from tocsin.server.alerts.message_buttons import GONE, effect_of, mute_of, muted_text, person_of
from tocsin.server.alerts.read_elsewhere import note_read
from tocsin.server.build import Parts
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import PartsHere, answer
from tocsin.server.routes.notifications.unsubscribe import (
    UNDO_MUTE,
    Token,
    as_whom,
    is_browser,
    link_page,
    paragraphs,
)

_UNTIL_THEN = "Until then you receive no notifications about it, its tests and its threads, on any channel."

router = DeclaredRoutes(tags=["inbox"])


@router.get("/mute/{token}", response_class=HTMLResponse, openapi_extra=answers("Html", media="text/html"))
def ask_to_mute(token: Token, parts: PartsHere) -> Response:
    """Return a page that asks to confirm muting."""
    link, notification = _muting_asked(token, parts)
    mute_of(link, notification, parts)
    says = f"You are about to mute {muted_text(link, notification, parts)}{as_whom(notification, parts)}."
    return link_page("Mute", paragraphs(says, _UNTIL_THEN, UNDO_MUTE))


@router.post("/mute/{token}", openapi_extra=answers("MutedByLink", never="409"))
def mute(token: Token, request: Request, parts: PartsHere) -> Response:
    """Mute the asset of a message for its recipient, for a day from the message on; a browser gets a page."""
    link, notification = _muting_asked(token, parts)
    parts.alert_stores.mutes.put(mute_of(link, notification, parts))
    if (actor := person_of(notification.recipient_id, parts)) is not None:
        note_read(notification, actor, parts)
    if is_browser(request):
        return link_page("Muted", paragraphs(effect_of(link, notification, parts), UNDO_MUTE), asks=False)
    return answer({"muted": True, "until": link.until_ms})


def _muting_asked(token: str, parts: Parts) -> tuple[MuteLink, Notification]:
    """Return what a token asks for, and the notification that it is about."""
    link = request_of(token, parts.alert_stores.unsubscribe_key, parts.clock.now_ms())
    record = parts.alert_stores.records.by_id([link.notification_id]).get(link.notification_id) if link else None
    if link is None or record is None:
        raise NotFound(GONE)
    return link, record.notification
