"""Schemas of web push: what a browser says when it subscribes, and what the server says of it.

Next: ``server/routes/people/push_browsers.py``.
"""

from __future__ import annotations

from tocsin.model.entity import Document
from tocsin.server.http.json_schema import (
    COUNT,
    FLAG,
    OPEN,
    TEXT,
    TIME,
    URL,
    closed_object,
    exact_object,
    nullable,
)

PUSH_REQUESTS: dict[str, Document] = {
    "PushBrowserRequest": closed_object(
        {
            "endpoint": {**URL, "description": "Where the push service of the browser takes messages: https."},
            "p256dh": {**TEXT, "description": "Public key of the browser: a point of P-256, in base64url."},
            "auth": {**TEXT, "description": "Secret of the subscription: 16 bytes, in base64url."},
        },
        required=["endpoint", "p256dh", "auth"],
    ),
}
"""What a browser sends."""

PUSH_TEST = exact_object({"statusDetails": {**OPEN, "description": "As of a test of a destination."}})
PUSH_BROWSER = exact_object(
    {
        "isOn": {**FLAG, "description": "Whether the setting `web_push` is on."},
        "publicKey": nullable({**TEXT, "description": "What the browser subscribes with; null where push is off."}),
        "since": nullable({**TIME, "description": "Since when this browser takes messages; null: it takes none."}),
        "others": {**COUNT, "description": "How many other browsers of the person take messages."},
    }
)
