"""Unsubscribe links in mails: a signed token per notification.

The token names the notification, which determines the recipient and the alerts. Source: RFC 8058.
Next: ``server/routes/notifications/unsubscribe.py``.
"""

from __future__ import annotations

from tocsin.delivery.links.tokens import about_of, sign_token

KEY_NAME = "unsubscribe-key"
"""The server's secret that signs tokens, shared by whoever sends mails and whoever takes the click."""

_PURPOSE = "unsubscribe"

ONE_CLICK = "List-Unsubscribe=One-Click"


def token_of(notification_id: str, key: bytes) -> str:
    """Return the token that ends what that notification's alerts send to its recipient."""
    return sign_token(_PURPOSE, notification_id, key)


def notification_of(token: str, key: bytes) -> str | None:
    """Return the id of the notification a token is for; None for what was not signed with ``key``."""
    return about_of(_PURPOSE, token, key)


def link_of(notification_id: str, key: bytes, base_url: str) -> str:
    """Return the address to follow, or to post to, at the server at ``base_url``."""
    return f"{base_url}/api/v1/unsubscribe/{sign_token(_PURPOSE, notification_id, key)}"
