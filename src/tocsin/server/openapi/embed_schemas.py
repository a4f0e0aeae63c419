"""Schemas of embeds: the token that a host's back end asks for, the bell, and a follow.

Next: ``server/routes/notifications/embeds.py``.
"""

from __future__ import annotations

from tocsin.model.entity import Document
from tocsin.server.http.json_schema import (
    COUNT,
    ENTITY_TYPE,
    FLAG,
    ID,
    TEXT,
    TIME,
    URL,
    array,
    closed_object,
    exact_object,
    nullable,
)

EMBED_REQUESTS: dict[str, Document] = {
    "EmbedTokenRequest": closed_object(
        {"user": {**TEXT, "description": "Id, name or e-mail address of the person who is logged in at the host."}},
        required=["user"],
    ),
}
"""What the host's back end sends."""

EMBED_TOKEN = exact_object({"token": TEXT, "expiresAt": TIME, "userId": ID})

EMBED_INBOX = exact_object(
    {
        "unread": COUNT,
        "entries": array(
            exact_object(
                {
                    "id": TEXT,
                    "title": TEXT,
                    "entityFullyQualifiedName": nullable(TEXT),
                    "reason": TEXT,
                    "timestamp": TIME,
                    "read": FLAG,
                    "url": URL,
                }
            )
        ),
        "url": URL,
    }
)

EMBED_FOLLOW = exact_object({"id": ID, "type": ENTITY_TYPE, "name": TEXT, "follows": FLAG, "url": URL})
