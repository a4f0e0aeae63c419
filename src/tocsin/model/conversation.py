"""Conversations as OpenMetadata 2 has them: threads with replies, which are the posts of ``/feed``.

*Source:* OpenMetadata, ``entity/feed/conversation.json`` and ``conversationReply.json``.
Next: ``store/catalogue/feed/conversations.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink
from tocsin.model.thread import StoredThread, reference_to_former_person


def conversation_document(
    thread: StoredThread, references: Mapping[str, Document], replies: Sequence[Document]
) -> Document:
    """Return the conversation that a thread is, with its latest ``replies``; ``references`` are those by id."""
    document, asset = thread.document, references[thread.about_id]
    creator = references.get(thread.created_by_id) or reference_to_former_person(document["createdBy"])
    return {
        "id": thread.id,
        "source": "User",
        "about": str(EntityLink(thread.about_type, asset["fullyQualifiedName"], thread.steps)),
        "entityRef": asset,
        "domains": [references[one] for one in document.get("domains") or () if one in references],
        "message": document["message"],
        "createdBy": creator,
        "createdAt": document["threadTs"],
        "updatedAt": document["updatedAt"],
        "updatedBy": document["updatedBy"],
        "resolved": document["resolved"],
        "replyCount": document["postsCount"],
        "replies": list(replies),
        "reactions": document.get("reactions") or [],
    }


def reply_document(thread_id: str, post: Document, author: Document | None) -> Document:
    """Return the reply that a post of a thread is; ``author`` is None for who is deleted for good.

    The time of an edit is not kept: ``updatedAt`` is that of the post.
    """
    return {
        "id": post["id"],
        "conversationId": thread_id,
        "message": post["message"],
        "author": author or reference_to_former_person(post["from"]),
        "createdAt": post["postTs"],
        "updatedAt": post["postTs"],
        "updatedBy": post["from"],
        "reactions": post.get("reactions") or [],
    }
