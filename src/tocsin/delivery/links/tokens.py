"""Signed tokens in the links and buttons of messages: what is signed for one purpose does not work for another.

A token holds what it is about in the clear, and a signature. One to unsubscribe is about a notification, which
determines the recipient and the alerts. Next: ``delivery/links/mute.py``, ``delivery/links/acknowledge.py``.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

KEY_NAME = "unsubscribe-key"
"""The server's secret that signs tokens, shared by the sender of messages and the server that takes the click."""

UNSUBSCRIBE = "unsubscribe"
"""Purpose of links in mails that end what a notification's alerts send to its recipient."""


def sign_token(purpose: str, about: str, key: bytes) -> str:
    """Return a token for ``purpose`` that holds ``about``."""
    digest = hmac.new(key, f"{purpose}|{about}".encode(), hashlib.sha256).digest()
    return f"{about}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def about_of(purpose: str, token: str, key: bytes) -> str | None:
    """Return what a token holds; None for what was not signed for ``purpose`` with ``key``."""
    about = token.rpartition(".")[0]
    is_ours = hmac.compare_digest(token.encode(), sign_token(purpose, about, key).encode())
    return about if is_ours else None
