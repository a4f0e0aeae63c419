"""Request builders for conversations.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from urllib.parse import quote

from tocsin.client.call import JSON_PATCH, ApiCall, Filter, Pages, pages_of, read_document
from tocsin.model.entity import Document

_ROOT = "conversations"


def converse(about: str, message: str) -> ApiCall[Document]:
    """Start a conversation about an asset or a part of it, such as ``<#E::table::shop.sales.public.orders>``."""
    return ApiCall("POST", _ROOT, read_document, body={"about": about, "message": message})


def list_conversations(**filters: Filter) -> Pages[Document]:
    """Iterate over conversations, last changed first; filters are the API's, e.g. ``entity_link``, ``resolved``."""
    return pages_of(_ROOT, filters, read_document)


def get_conversation(conversation_id: str) -> ApiCall[Document]:
    """Return a conversation with its latest replies."""
    return ApiCall("GET", _path(conversation_id), read_document)


def list_replies(conversation_id: str) -> Pages[Document]:
    """Iterate over the replies to a conversation, oldest first."""
    return pages_of(_path(conversation_id, "replies"), {}, read_document)


def reply_to_conversation(conversation_id: str, message: str) -> ApiCall[Document]:
    """Reply to a conversation; return the reply."""
    return ApiCall("POST", _path(conversation_id, "replies"), read_document, body={"message": message})


def react_to_conversation(conversation_id: str, reaction: str) -> ApiCall[Document]:
    """Add one's own reaction to a conversation, such as ``thumbsUp`` or ``heart``."""
    return ApiCall("PUT", _path(conversation_id, "reaction", reaction), read_document)


def take_back_reaction(conversation_id: str, reaction: str) -> ApiCall[Document]:
    """Take back one's own reaction to a conversation."""
    return ApiCall("DELETE", _path(conversation_id, "reaction", reaction), read_document)


def resolve_conversation(conversation_id: str) -> ApiCall[Document]:
    """Mark a conversation as resolved."""
    operation = {"op": "replace", "path": "/resolved", "value": True}
    headers = {"Content-Type": JSON_PATCH}
    return ApiCall("PATCH", _path(conversation_id), read_document, body=[operation], headers=headers)


def _path(*parts: str) -> str:
    return "/".join((_ROOT, *(quote(part, safe="") for part in parts)))
