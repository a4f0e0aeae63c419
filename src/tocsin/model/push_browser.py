"""Browser that takes push messages for its person. Next: ``store/catalogue/people/push_browsers.py`` keeps them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PushBrowser:
    """Where a browser takes messages, and with which keys (base64url); ``since_ms`` in epoch milliseconds."""

    session_id: str
    user_id: str
    endpoint: str
    p256dh: str
    auth: str
    since_ms: int
