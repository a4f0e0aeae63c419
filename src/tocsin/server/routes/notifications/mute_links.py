"""Routes of muting by the link in a chat message, without log-in: the link's token identifies the recipient.

Following the link asks first, because programs follow links too. Next: ``flow/send/mute_links.py``.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from fastapi.responses import HTMLResponse

from tocsin.clock import to_datetime
from tocsin.errors import NotFound
from tocsin.flow.send.mute_links import MuteLink, request_of
from tocsin.flow.send.wording import asset_of
from tocsin.model.mute import Mute, MuteKind
from tocsin.server.build import Parts
from tocsin.server.http.request import PartsHere, answer
from tocsin.server.routes.notifications.unsubscribe import GUARDS

Token = Annotated[str, Path(max_length=200)]
router = APIRouter(tags=["inbox"])

_PAGE = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Tocsin: mute</title></head>\n<body><h1>Mute'
    "</h1>\n<p>You will receive no notifications about the asset of this message until {until}, on any channel.</p>\n"
    '<form method="post"><button type="submit">Mute</button></form>\n</body></html>\n'
)


@router.get("/mute/{token}", response_class=HTMLResponse)
def ask_to_mute(token: Token, parts: PartsHere) -> Response:
    """Return a page that asks to confirm muting."""
    request, _ = _found(token, parts)
    until = to_datetime(request.until_ms).strftime("%Y-%m-%d %H:%M UTC")
    return HTMLResponse(_PAGE.format(until=until), headers=GUARDS)


@router.post("/mute/{token}")
def mute(token: Token, parts: PartsHere) -> Response:
    """Mute the asset of a message for its recipient, for a day from the message on."""
    request, wanted = _found(token, parts)
    parts.alert_stores.mutes.put(wanted)
    return answer({"muted": True, "until": request.until_ms})


def _found(token: str, parts: Parts) -> tuple[MuteLink, Mute]:
    """Return what a token asks for, and the mute that does it."""
    now_ms = parts.clock.now_ms()
    request = request_of(token, parts.alert_stores.unsubscribe_key, now_ms)
    sent = parts.alert_stores.records.by_id([request.notification_id]) if request else {}
    for record in sent.values():
        logged = parts.log.find(record.notification.event_id)
        person = record.notification.recipient_id
        if request is not None and logged is not None and person is not None:
            about = asset_of(logged.event)[1]
            return request, Mute(person, MuteKind.ASSET, about, since_ms=now_ms, until_ms=request.until_ms)
    raise NotFound("This link is invalid or expired, or its subject was deleted.")
