"""Validation of requests for threads and posts.

Source: OpenMetadata 1.13 ``api/feed/*.json``. Next: ``catalogue/feed/operations.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any

from tocsin.clock import LATEST_MS
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.phrases import hint
from tocsin.model.thread import TaskStatus, TaskType, ThreadType

LONGEST_MESSAGE = 65_536
"""Characters that one message may have."""

MOST_PEOPLE = 100
"""People and teams that one text may mention, or that one task may be assigned to."""

REACTIONS = frozenset({"thumbsUp", "thumbsDown", "hooray", "laugh", "confused", "heart", "rocket", "eyes"})

_THREAD_KEYS = frozenset(
    {"message", "about", "type", "taskDetails", "announcementDetails", "chatbotDetails", "addressedTo", "domains"}
)
_DETAILS = {
    ThreadType.TASK: "taskDetails",
    ThreadType.ANNOUNCEMENT: "announcementDetails",
    ThreadType.CHATBOT: "chatbotDetails",
}
_LAST_SECOND = 2_147_483_647
Given = Any  # Any: whatever JSON was sent


def asked_thread(request: Document) -> Document:
    """Return a request's own thread document: ``type``, ``message`` and the details that its type has.

    Raises
    ------
    InvalidInput : a detail belongs to another type of thread, or a value has the wrong form
    """
    _check_keys(request, _THREAD_KEYS, "")
    kind = _one_of(ThreadType, request.get("type") or ThreadType.CONVERSATION, "type")
    for detailed_kind, key in _DETAILS.items():
        if request.get(key) is not None and detailed_kind != kind:
            raise InvalidInput(f"not allowed for a thread of type {kind}; only for type {detailed_kind}", field=key)
    document: Document = {"type": kind, "message": asked_message(request), "resolved": False, "reactions": []}
    match kind:
        case ThreadType.TASK:
            document["task"] = _asked_task(_details(request, "taskDetails"))
        case ThreadType.ANNOUNCEMENT:
            document["announcement"] = checked_announcement(_details(request, "announcementDetails"))
        case ThreadType.CHATBOT:
            document["chatbot"] = _asked_chatbot(request.get("chatbotDetails") or {})
    return document


def asked_message(request: Document, key: str = "message") -> str:
    """Return the text under ``key``, which must say something.

    Raises
    ------
    InvalidInput : the text is missing, empty or too long
    """
    message = request.get(key)
    if not isinstance(message, str) or not message.strip() or len(message) > LONGEST_MESSAGE:
        raise InvalidInput(f"must be a string of 1 to {LONGEST_MESSAGE} characters", field=key)
    return message


def asked_post(request: Document) -> str:
    """Return the message of the post in a request."""
    _check_keys(request, {"message"}, "")
    return asked_message(request)


def asked_text(request: Document, key: str, valid_keys: Collection[str]) -> str:
    """Return the text that ends a task: ``newValue`` or ``comment``.

    Raises
    ------
    InvalidInput : the text is no string, or too long
    """
    _check_keys(request, valid_keys, "")
    return _text(request, key)


def checked_announcement(details: Given) -> Document:
    """Return an announcement with its times in milliseconds; seconds are understood, as upstream does.

    Raises
    ------
    InvalidInput : the details are no object, or the start is not before the end
    """
    if not isinstance(details, dict):
        raise InvalidInput("must be an object", field="announcementDetails")
    _check_keys(details, {"description", "startTime", "endTime"}, "announcementDetails.")
    start, end = _time(details, "startTime"), _time(details, "endTime")
    if start >= end:
        raise InvalidInput("an announcement's startTime must be earlier than its endTime", field="startTime")
    if end <= _LAST_SECOND:
        start, end = start * 1000, end * 1000
    description = {} if details.get("description") is None else {"description": _text(details, "description")}
    return {**description, "startTime": start, "endTime": end}


def check_unchanged(shown_thread: Document, patched_thread: Document, open_keys: Collection[str]) -> None:
    """Refuse a patch that touches what is fixed of a thread.

    Raises
    ------
    InvalidInput : a key that may not change has changed
    """
    for key in sorted(shown_thread.keys() | patched_thread.keys()):
        if key not in open_keys and patched_thread.get(key) != shown_thread.get(key):
            raise InvalidInput(f"cannot be changed; a patch may change: {', '.join(sorted(open_keys))}", field=key)


def checked_reactions(reactions: Given) -> list[Document]:
    """Return reactions, each once: ``{reactionType, user: {id, type}}``.

    Raises
    ------
    InvalidInput : not a list, or an element without a user or a known reaction
    """
    if not isinstance(reactions, list):
        raise InvalidInput("must be a list", field="reactions")
    unique_reactions: dict[tuple[str, str], Document] = {}
    for reaction in reactions:
        user = reaction.get("user") if isinstance(reaction, dict) else None
        kind = reaction.get("reactionType") if isinstance(reaction, dict) else None
        if kind not in REACTIONS or not isinstance(user, dict) or not isinstance(user.get("id"), str):
            raise InvalidInput(
                f"each reaction must have a user and a reactionType: {', '.join(sorted(REACTIONS))}", field="reactions"
            )
        unique_reactions[kind, user["id"]] = {"reactionType": kind, "user": user}
    return list(unique_reactions.values())


def checked_assignees(references: Given) -> list[Document]:
    """Return the references to users and teams that a task is to be assigned to, as they were given.

    Raises
    ------
    InvalidInput : not a list of references to users and teams, or too many
    """
    if not isinstance(references, list) or len(references) > MOST_PEOPLE:
        raise InvalidInput(f"must be a list of at most {MOST_PEOPLE} references", field="assignees")
    for reference in references:
        if not isinstance(reference, dict) or reference.get("type") not in ("user", "team"):
            raise InvalidInput("each must be a reference to a user or a team", field="assignees")
    return references


def check_assignees(assignees: list[Document]) -> list[Document]:
    """Return the assignees of a task; there must be at least one.

    Raises
    ------
    InvalidInput : there is no assignee
    """
    if not assignees:
        raise InvalidInput("a task needs an assignee: a user or a team", field="assignees")
    return assignees


def _asked_task(details: Document) -> Document:
    _check_keys(details, {"type", "assignees", "oldValue", "suggestion"}, "taskDetails.")
    task: Document = {
        "type": _one_of(TaskType, details.get("type"), "taskDetails.type"),
        "assignees": check_assignees(checked_assignees(details.get("assignees"))),
        "status": TaskStatus.OPEN.value,
    }
    for key in ("oldValue", "suggestion"):
        if details.get(key) is not None:
            task[key] = _text(details, key)
    return task


def _asked_chatbot(details: Given) -> Document:
    if not isinstance(details, dict):
        raise InvalidInput("must be an object", field="chatbotDetails")
    return {"query": _text(details, "query")} if details.get("query") is not None else {}


def _details(request: Document, key: str) -> Document:
    details = request.get(key)
    if not isinstance(details, dict):
        raise InvalidInput("is missing; it is required for this type of thread", field=key)
    return details


def _check_keys(request: Document, valid_keys: Collection[str], place: str) -> None:
    unknown = sorted(request.keys() - set(valid_keys))
    if unknown:
        raise InvalidInput(f"unknown key; valid keys: {', '.join(sorted(valid_keys))}", field=place + unknown[0])


def _one_of(kinds: type[StrEnum], value: Given, field: str) -> str:
    if value not in list(kinds):
        raise InvalidInput(f"must be one of {', '.join(kinds)}{hint(value, kinds)}", field=field)
    return str(value)


def _text(request: Document, key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str) or len(value) > LONGEST_MESSAGE:
        raise InvalidInput(f"must be a string of at most {LONGEST_MESSAGE} characters", field=key)
    return value


def _time(request: Document, key: str) -> int:
    at = request.get(key)
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= LATEST_MS:
        raise InvalidInput("must be epoch milliseconds", field=key)
    return at
