"""Validation of requests for conversations as OpenMetadata 2 has them.

Source: OpenMetadata, ``api/feed/createConversation.json``. Next: ``catalogue/feed/operations.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tocsin.catalogue.feed.requests import REACTIONS, asked_message
from tocsin.errors import InvalidInput
from tocsin.flow.capture.json_patch import PatchOperation
from tocsin.model.entity import Document
from tocsin.model.phrases import hint

OF_CONVERSATION = ("message", "resolved")
OF_REPLY = ("message",)
"""What a patch may change."""

_KEYS = frozenset({"message", "about"})
_OPERATIONS = frozenset({"add", "replace", "test"})


def parse_conversation(request: Document) -> Document:
    """Return the request for the thread that a conversation is.

    Raises
    ------
    InvalidInput : a key is unknown, or the message is missing, empty or too long
    """
    unknown = sorted(request.keys() - _KEYS)
    if unknown:
        raise InvalidInput(f"unknown key; valid keys: {', '.join(sorted(_KEYS))}", field=unknown[0])
    return {"about": request.get("about"), "message": asked_message(request)}


def parse_edits(operations: Sequence[PatchOperation], open_keys: Collection[str]) -> Sequence[PatchOperation]:
    """Return the operations of a JSON Patch, which a thread or post understands as they are.

    Raises
    ------
    InvalidInput : one is about something else, or has no value of the right form
    """
    for operation in operations:
        path = operation.get("path")
        if path not in [f"/{key}" for key in open_keys] or operation.get("op") not in _OPERATIONS:
            words = f"a patch may replace: {', '.join(open_keys)}"
            raise InvalidInput(words, field=path.strip("/")[:100] if isinstance(path, str) else "path")
        if path == "/resolved" and not isinstance(operation.get("value"), bool):
            raise InvalidInput("must be true or false", field="resolved")
        if path == "/message":
            asked_message({"message": operation.get("value")})
    return operations


def parse_reaction(name: str) -> str:
    """Return the kind of a reaction. Raises ``InvalidInput``: there is none of this name."""
    if name not in REACTIONS:
        words = f"must be one of {', '.join(sorted(REACTIONS))}{hint(name, REACTIONS)}"
        raise InvalidInput(words, field="reactionType")
    return name
