"""Threads: conversations, tasks and announcements about an asset, with their posts.

Source: OpenMetadata 1.13 ``entity/feed/thread.json``. Next: ``catalogue/feed/operations.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink

THREAD = "thread"
"""The type of entity that events about threads name."""

THREAD_KEYS = frozenset(
    "id type href threadTs about entityRef domains generatedBy addressedTo createdBy updatedAt updatedBy resolved "
    "message postsCount posts reactions task announcement chatbot".split()
)
"""What the document of a thread may hold."""

FACTS = "asTask"
"""The key of a stored thread's document under which lies what only OpenMetadata 2 says of it; no answer shows it."""

NOBODY_ID = "00000000-0000-0000-0000-000000000000"
"""The id in a reference to a person whom there is none of, for clients that need one."""

SHOWN_POSTS = 3
"""How many of a thread's latest posts an event carries and a list shows, unless more are asked for."""


class ThreadType(StrEnum):
    """What a thread is for."""

    CONVERSATION = "Conversation"
    TASK = "Task"
    ANNOUNCEMENT = "Announcement"
    CHATBOT = "Chatbot"


class TaskStatus(StrEnum):
    """Whether a task is still to be done."""

    OPEN = "Open"
    CLOSED = "Closed"


class TaskType(StrEnum):
    """What a task asks for."""

    REQUEST_DESCRIPTION = "RequestDescription"
    UPDATE_DESCRIPTION = "UpdateDescription"
    REQUEST_TAG = "RequestTag"
    UPDATE_TAG = "UpdateTag"
    REQUEST_APPROVAL = "RequestApproval"
    REQUEST_TEST_CASE_FAILURE_RESOLUTION = "RequestTestCaseFailureResolution"
    RECOGNIZER_FEEDBACK_APPROVAL = "RecognizerFeedbackApproval"
    GENERIC = "Generic"


DESCRIPTION_TASKS = frozenset({TaskType.REQUEST_DESCRIPTION, TaskType.UPDATE_DESCRIPTION})
"""Tasks that end with a description being written."""

TAG_TASKS = frozenset({TaskType.REQUEST_TAG, TaskType.UPDATE_TAG})
"""Tasks that end with tags being set."""

RESOURCES = {kind.value.lower(): kind.value for kind in ThreadType}
"""What an alert's ``resources`` call the types of thread: ``task``, ``conversation``, ``announcement``."""


@dataclass(frozen=True)
class StoredThread:
    """A thread in the store.

    ``document`` lacks the keys computed on reading: ``about``, ``entityRef`` and ``posts``. The asset is referenced
    by id, so that a thread follows it when it is renamed; ``steps`` lead to the part of it that is meant.
    """

    id: str
    about_type: str
    about_id: str
    steps: tuple[str, ...]
    created_by_id: str
    document: Document

    @property
    def kind(self) -> str:
        """Return which type of thread it is."""
        return str(self.document["type"])

    @property
    def task(self) -> Document:
        """Return what its task says; empty when it is none."""
        task: Document = self.document.get("task") or {}
        return task


def thread_document(thread: StoredThread, asset: Document, posts: Sequence[Document]) -> Document:
    """Return a thread for a response; ``asset`` is the reference to its asset, ``posts`` those to show."""
    link = EntityLink(thread.about_type, asset["fullyQualifiedName"], thread.steps)
    shown_document = {key: value for key, value in thread.document.items() if key != FACTS}
    return {**shown_document, "about": str(link), "entityRef": asset, "posts": list(posts)}


def reference_to_former_person(name: str) -> Document:
    """Return a reference for who wrote something and is deleted for good, by the name that they had."""
    return {"id": NOBODY_ID, "type": "user", "name": name, "deleted": True}


class ThreadPart(StrEnum):
    """Which part a person has in a thread."""

    AUTHOR = "author"  # began it, or wrote a post of it
    ASSIGNEE = "assignee"
    MENTION = "mention"


@dataclass(frozen=True)
class PartTaken:
    """A user or a team that has a part in a thread; ``place`` is the post, empty for the thread."""

    part: ThreadPart
    principal_id: str
    principal_type: str
    place: str = ""
