"""Schemas of conversations of OpenMetadata 2: requests and answers.

*Source:* OpenMetadata, ``entity/feed/conversation.json``. Next: ``model/conversation.py``.
"""

from __future__ import annotations

from tocsin.model.entity import Document
from tocsin.server.http.json_schema import (
    COUNT,
    FLAG,
    ID,
    OPEN,
    TEXT,
    TIME,
    array,
    closed_object,
    either,
    exact_object,
    ref,
)

CONVERSATION_ANSWERS: dict[str, Document] = {
    "ConversationEntity": exact_object(
        {
            "id": ID,
            "source": either("User"),
            "about": TEXT,
            "entityRef": OPEN,
            "domains": array(OPEN),
            "message": TEXT,
            "createdAt": TIME,
            "updatedAt": TIME,
            "updatedBy": TEXT,
            "resolved": FLAG,
            "replyCount": COUNT,
            "replies": array(ref("ConversationReply")),
            "reactions": array(OPEN),
            "href": TEXT,
        },
        {"createdBy": OPEN},
    ),
    "ConversationReply": exact_object(
        {
            "id": ID,
            "conversationId": ID,
            "message": TEXT,
            "author": OPEN,
            "createdAt": TIME,
            "updatedAt": TIME,
            "updatedBy": TEXT,
            "reactions": array(OPEN),
        }
    ),
}
"""A conversation, and a reply to one."""

CONVERSATION_REQUESTS: dict[str, Document] = {
    "CreateConversationRequest": closed_object({"about": TEXT, "message": TEXT}, required=["about", "message"]),
}
"""What the routes of conversations read."""
