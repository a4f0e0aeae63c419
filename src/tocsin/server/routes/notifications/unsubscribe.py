"""Routes of one-click unsubscription from mails, without log-in: the link's token identifies the recipient.

A mail program posts (RFC 8058); a person who follows the link has to confirm, because programs follow links too.
Next: ``delivery/links/tokens.py``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Path, Request, Response
from fastapi.responses import HTMLResponse

from tocsin.delivery.links.tokens import UNSUBSCRIBE, about_of
from tocsin.errors import NotFound
from tocsin.model.notification import Notification
from tocsin.server.alerts.unsubscribe_offers import UnsubscribeOffers, UnsubscribeScope, is_for_person
from tocsin.server.build import Parts
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import PartsHere, answer, body_of

Token = Annotated[str, Path(max_length=200)]
router = DeclaredRoutes(tags=["inbox"])

UNDO_MUTE = "You can undo it at any time: in the list of mutes in Tocsin, or by tocsin unmute."
"""How a person takes a mute back."""

_UNDO_OF_ADDRESS = "It cannot be undone here: only a new alert sends to this address again."
_STYLE = (
    ":root{color-scheme:light dark}body{max-width:32em;margin:3em auto;padding:0 1em;font:16px/1.5 Arial,sans-serif;"
    "color:light-dark(#1a1d23,#e8eaee);background:light-dark(#fff,#14161a);overflow-wrap:anywhere}"
    "h1{font-size:22px}button{font:inherit;padding:6px 16px;border:0;border-radius:6px;"
    "color:light-dark(#fff,#14161a);background:light-dark(#3b5bdb,#8ea6ff)}"
    "label{display:block;margin:8px 0}input,textarea{font:inherit;color:inherit;background:transparent;"
    "border:1px solid light-dark(#8a93a3,#6b7585);border-radius:6px;padding:4px 8px}"
    "textarea{width:100%;box-sizing:border-box}.wrong{color:light-dark(#c02626,#ff8a8a)}"
)
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_GUARDS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; frame-ancestors 'none';"
        " base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""Headers of pages that a link with a token leads to."""

_PAGE = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<title>Tocsin: {title}</title><style>{style}</style></head>\n"
    "<body><h1>{verb}</h1>\n<p>{says}</p>\n{form}</body></html>\n"
)


def link_page(verb: str, says: str, *, asks: bool = True, fields: str = "", status: int = HTTPStatus.OK) -> Response:
    """Return the page that a link leads to: what it is about, as HTML, and a button that does what the verb says.

    ``fields`` is the HTML of what is sent with it.
    """
    form = f'<form method="post">{fields}<button type="submit">{verb}</button></form>\n' if asks else ""
    page = _PAGE.format(title=verb[:1].lower() + verb[1:], style=_STYLE, verb=verb, says=says, form=form)
    return HTMLResponse(page, status, headers=_GUARDS)


def paragraphs(*texts: str) -> str:
    """Return texts as the HTML that a page says, a paragraph each, without the empty ones."""
    return "</p>\n<p>".join(escape(text) for text in texts if text)


Body = Annotated[bytes, Depends(body_of)]


@router.get("/unsubscribe/{token}", response_class=HTMLResponse, openapi_extra=answers("Html", media="text/html"))
def ask(token: Token, parts: PartsHere) -> Response:
    """Return a page that asks to confirm unsubscribing, and from what."""
    notifications = _notifications(token, parts)
    offers = UnsubscribeOffers.of(notifications, parts)
    text = offers.by_scope[UnsubscribeScope.ALERTS].text
    says = f"You are about to end the mail from {text} to {notifications[0].address}{as_whom(notifications[0], parts)}."
    choose = "You may end other mail instead." if len(offers.by_scope) > 1 else ""
    remaining = offers.remaining_text(UnsubscribeScope.ALERTS)
    return link_page(
        "Unsubscribe",
        paragraphs(says, remaining, _undo_text(notifications), choose),
        fields=offers.fields_html(),
    )


@router.post("/unsubscribe/{token}", openapi_extra=answers("Unsubscribed", reads="UnsubscribeForm", never="409"))
def unsubscribe(token: Token, request: Request, parts: PartsHere, body: Body) -> Response:
    """Unsubscribe the recipient of a mail, from its alerts or what the form names; a browser gets a page that says so.

    ``from`` is ``alerts`` (default), ``asset``, ``kind``, or ``everything``: all by mail, but for mandatory kinds.
    """
    notifications, now_ms = _notifications(token, parts), parts.clock.now_ms()
    offers = UnsubscribeOffers.of(notifications, parts)
    scope = offers.scope_in(body)
    for mute in offers.mutes(scope, now_ms):
        parts.alert_stores.mutes.put(mute)
    offer = offers.by_scope[scope]
    if is_browser(request):
        preposition = "from" if scope is UnsubscribeScope.ALERTS else "about"
        says = f"You have ended the mail {preposition} {offer.text} to {notifications[0].address}."
        text = paragraphs(says, offers.remaining_text(scope), _undo_text(notifications))
        return link_page("Unsubscribed", text, asks=False)
    return answer({"unsubscribed": list(offer.names)})


def as_whom(notification: Notification, parts: Parts) -> str:
    """Return as whom a page acts: ``, as Ann Lee``; empty for an address, or who is gone."""
    person = parts.people.by_id(notification.recipient_id) if notification.recipient_id else None
    return f", as {person.shown_name}" if person else ""


def _undo_text(notifications: Sequence[Notification]) -> str:
    """Return how the mails come again: people have a list of what they muted, addresses have none."""
    return UNDO_MUTE if is_for_person(notifications) else _UNDO_OF_ADDRESS


def is_browser(request: Request) -> bool:
    """Return whether a person presses the button of a page: programs of mail ask for anything."""
    return "text/html" in request.headers.get("accept", "")


def _notifications(token: str, parts: Parts) -> list[Notification]:
    """Return the notifications of the mail, which only its recipient can name by its token."""
    notification_id = about_of(UNSUBSCRIBE, token, parts.alert_stores.unsubscribe_key)
    records = parts.alert_stores.records.of_same_message(notification_id) if notification_id else []
    if not records:
        raise NotFound("This link is invalid, or its subject was deleted.")
    return [one.notification for one in records]
