"""Links to mute in messages to one person: a signed token per notification, which works until the mute ends.

The token names the notification, which determines person and asset, and the end of the mute, so that using it again
changes nothing. Next: ``server/routes/notifications/mute_links.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from tocsin.delivery.links.tokens import about_of, sign_token

_PURPOSE = "mute"

MUTED_FOR_MS = 86_400_000
"""So long after a message an asset is muted by its link."""

MUTE_TEXT = "Mute the asset for a day"
"""What the link and the button are called."""


class MuteLink(NamedTuple):
    """What a token asks for: to mute the asset of a notification for its recipient until a time."""

    notification_id: str
    until_ms: int


def link_of(request: MuteLink, key: bytes, base_url: str) -> str:
    """Return the address to follow, or to post to, at the server at ``base_url``."""
    return f"{base_url}/api/v1/mute/{token_of(request, key)}"


def token_of(request: MuteLink, key: bytes) -> str:
    """Return the token for a request."""
    return sign_token(_PURPOSE, f"{request.notification_id}.{request.until_ms}", key)


def request_of(token: str, key: bytes, now_ms: int) -> MuteLink | None:
    """Return what a token asks for; None for what was not signed with ``key``, or is over."""
    about = about_of(_PURPOSE, token, key)
    if about is None:
        return None
    notification_id, _, until = about.partition(".")
    request = MuteLink(notification_id, int(until))
    return request if now_ms < request.until_ms else None
