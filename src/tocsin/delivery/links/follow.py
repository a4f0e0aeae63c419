"""Links to unfollow an asset, what contains it, or a column of it, or to follow it again: signed tokens, which end.

A token names a notification, which determines person and asset, and what it does, so that using it again changes
nothing. Next: ``server/routes/notifications/follow_links.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from tocsin.delivery.links.tokens import about_of, sign_token
from tocsin.model.notification import Followed
from tocsin.model.phrases import in_words

_PURPOSE = "follow"
_FOLLOW, _UNFOLLOW = "follow", "unfollow"

VALID_FOR_MS = 7 * 86_400_000
"""So long after a message its link works."""


class FollowLink(NamedTuple):
    """What a token asks for until a time: that the recipient of a notification ``follows`` its asset, or does not."""

    notification_id: str
    follows: bool
    until_ms: int


def unfollow_text(through: Followed | None, *, is_of_table: bool = False) -> str:
    """Return what the button is called; ``through``, or the table of a test, is followed in place of the asset."""
    asset_word = "table" if is_of_table else "asset"
    if through is not None:
        asset_word = "column" if through.relation == "column" else in_words(through.type)
    return f"Unfollow the {asset_word}"


def link_of(request: FollowLink, key: bytes, base_url: str) -> str:
    """Return the address to follow, or to post to, at the server at ``base_url``."""
    return f"{base_url}/api/v1/follow/{token_of(request, key)}"


def token_of(request: FollowLink, key: bytes) -> str:
    """Return the token for a request."""
    action = _FOLLOW if request.follows else _UNFOLLOW
    return sign_token(_PURPOSE, f"{request.notification_id}.{action}.{request.until_ms}", key)


def request_of(token: str, key: bytes, now_ms: int) -> FollowLink | None:
    """Return what a token asks for; None for what was not signed with ``key``, or is over."""
    about = about_of(_PURPOSE, token, key)
    if about is None:
        return None
    notification_id, action, until = about.split(".")
    request = FollowLink(notification_id, action == _FOLLOW, int(until))
    return request if now_ms < request.until_ms else None
