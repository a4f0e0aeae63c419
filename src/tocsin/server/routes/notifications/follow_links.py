"""Routes of following an asset no longer, or again, by the link in a mail to a follower, without log-in.

Opening the link asks first, because programs open links too. Rights are those that the person has then.
Next: ``delivery/links/follow.py``.
"""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from tocsin.delivery.lines import moment_text
from tocsin.delivery.links.follow import FollowLink, request_of, token_of
from tocsin.errors import NotFound
from tocsin.model.notification import Notification
from tocsin.model.people import Actor
from tocsin.server.alerts.message_buttons import GONE, FollowedAsset, followed_asset_of, person_of
from tocsin.server.alerts.read_elsewhere import note_read
from tocsin.server.build import Parts
from tocsin.server.entities.followed_assets import stop_following
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import PartsHere, answer
from tocsin.server.routes.notifications.unsubscribe import Token, as_whom, is_browser, link_page, paragraphs

router = DeclaredRoutes(tags=["inbox"])

_VERBS, _DONE = {True: "Follow", False: "Unfollow"}, {True: "Followed", False: "Unfollowed"}
_EFFECTS = {
    True: "You will be told of its changes as a follower.",
    False: "You will no longer be told of its changes as a follower. As an owner, or by name, you may still be.",
}


class _Asked(NamedTuple):
    """What a token asks for, of which asset, who it is taken to be: the recipient of the mail, and what that told."""

    link: FollowLink
    asset: FollowedAsset
    person: Actor
    notification: Notification


@router.get("/follow/{token}", response_class=HTMLResponse, openapi_extra=answers("Html", media="text/html"))
def ask_to_follow(token: Token, parts: PartsHere) -> Response:
    """Return a page that asks to confirm following an asset no longer, or again."""
    link, asset, person, notification = _following_asked(token, parts)
    says = f"You are about to {_VERBS[link.follows].lower()} {asset.name}{as_whom(notification, parts)}."
    until = moment_text(link.until_ms, parts.alert_stores.preferences.of(person.id).timezone)
    undo = f"You can undo it by the link on the next page until {until}, and at any time in Tocsin."
    return link_page(_VERBS[link.follows], paragraphs(says, _EFFECTS[link.follows], undo))


@router.post("/follow/{token}", openapi_extra=answers("FollowedByLink", never="409"))
def follow_by_link(token: Token, request: Request, parts: PartsHere) -> Response:
    """Let the recipient of a mail unfollow its asset, or follow it again; a browser gets a page with a link back."""
    link, asset, person, notification = _following_asked(token, parts)
    if link.follows:
        parts.writes.follow(asset.entity_type, asset.entity_id, person.id, actor=person, column=asset.column)
    else:
        place = (asset.entity_type, asset.entity_id)
        stop_following(parts, place, person.id, actor=person, column=asset.column)
    note_read(notification, person, parts)
    if not is_browser(request):
        return answer({"follows": link.follows})
    state = "now follow" if link.follows else "no longer follow"
    reverse = link._replace(follows=not link.follows)
    reverse_token = token_of(reverse, parts.alert_stores.unsubscribe_key)
    back = f'<a href="{reverse_token}">{_VERBS[reverse.follows]} it</a>'
    says = f"{escape(f'You {state} {asset.name}{as_whom(notification, parts)}.')} {back}"
    return link_page(_DONE[link.follows], says, asks=False)


def _following_asked(token: str, parts: Parts) -> _Asked:
    """Return what a token asks for, and of whom.

    Raises
    ------
    NotFound : the token is forged or expired, its recipient or asset is gone, or the asset is hidden from them now
    """
    link = request_of(token, parts.alert_stores.unsubscribe_key, parts.clock.now_ms())
    record = parts.alert_stores.records.by_id([link.notification_id]).get(link.notification_id) if link else None
    person = person_of(record.notification.recipient_id, parts) if record else None
    asset = followed_asset_of(record.notification, parts) if record and person else None
    if link is None or record is None or person is None or asset is None:
        raise NotFound(GONE)
    return _Asked(link, asset, person, record.notification)
