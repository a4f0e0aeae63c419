"""Protocol of what the write path needs of threads in the store.

``store/catalogue/feed/rows.py`` implements it. Next: ``catalogue/feed/thread_writes.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tocsin.model.entity import Document
from tocsin.model.thread import PartTaken, StoredThread, ThreadPart


class ThreadRows(Protocol):
    """The rows of threads, inside one transaction."""

    def find(self, thread_id: str) -> StoredThread | None:
        """Return a thread and hold it; None if there is none."""

    def id_of_task(self, number: int) -> str | None:
        """Return the id of the thread that is the task of this number."""

    def is_name_taken(self, name: str) -> bool:
        """Return whether an announcement has this name."""

    def open_tasks(self, about_id: str, task_type: str) -> list[StoredThread]:
        """Return and hold the open tasks of this type of 2.x about an entity, oldest first."""

    def open_tasks_below(self, name: str, task_type: str) -> list[StoredThread]:
        """Return and hold the open tasks of this type of 2.x about what lies below a full name, oldest first."""

    def insert(self, thread: StoredThread) -> None:
        """Add a thread."""

    def update(self, thread: StoredThread) -> None:
        """Replace a thread's document."""

    def erase(self, thread_id: str) -> None:
        """Remove a thread with its posts and participants."""

    def next_task_number(self, thread_id: str) -> int:
        """Return the number of a new task; no number is ever given twice."""

    def overlaps(self, about_id: str, start_ms: int, end_ms: int, except_id: str) -> bool:
        """Return whether another announcement about the asset is active at any time between the two."""

    def post(self, thread_id: str, post_id: str) -> Document | None:
        """Return a post of a thread."""

    def latest_posts(self, thread_id: str, limit: int) -> list[Document]:
        """Return the latest posts of a thread, oldest first."""

    def author_of(self, thread_id: str, post_id: str) -> str | None:
        """Return the id of who wrote a post; None if they are deleted for good."""

    def put_post(self, thread_id: str, post: Document) -> None:
        """Add a post, or replace the one of its id."""

    def erase_post(self, thread_id: str, post_id: str) -> None:
        """Remove a post and whom it mentions."""

    def parts(self, thread_id: str, part: ThreadPart, place: str) -> list[PartTaken]:
        """Return those who have this part at this place."""

    def set_parts(self, thread_id: str, part: ThreadPart, place: str, participants: Sequence[PartTaken]) -> None:
        """Make these, and no others, those who have this part at this place; who had it already keeps their time."""

    def teams_of(self, user_id: str) -> frozenset[str]:
        """Return the ids of the teams a user is in, and of all above those."""
