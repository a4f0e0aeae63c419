"""Dead letters, and replays that send them again.

A dead letter is a message whose retries are used up or that failed for good. Next: ``store/outbox/replays.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from tocsin.model.entity import WireModel
from tocsin.model.message import Entry, MessageStatus


class ReplayState(StrEnum):
    """State of a replay."""

    COLLECTING = "collecting"
    SENDING = "sending"
    DONE = "done"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Selection:
    """Which dead letters are meant; None: whatever it is. Times are when they were given up, in epoch milliseconds.

    ``subscription_ids`` holds alerts, ``destination_ids`` destinations of them. Without a ``reason``, what was not sent
    on purpose (``tocsin.model.message.SUPPRESSED``) is left out.
    """

    subscription_ids: frozenset[str] | None = None
    destination_ids: frozenset[str] | None = None
    reason: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None


@dataclass(frozen=True)
class DeadLetter:
    """A message that was given up, or another one that was asked for by its id; with its last attempt.

    ``entries`` are the first of its notifications, ``notification_count`` counts all.
    """

    id: str
    subscription_id: str
    destination_id: str
    channel: str
    target: str
    status: MessageStatus
    attempt_count: int
    created_at_ms: int
    updated_at_ms: int
    reason: str | None
    status_code: int | None
    detail: str | None
    notification_count: int = 0
    entries: tuple[Entry, ...] = ()


MOST_FORGOTTEN = 100
"""Messages that one request forgets."""


class ForgetRequest(WireModel):
    """Which dead letters are to be none any more, and why."""

    messages: Annotated[list[UUID], Field(min_length=1, max_length=MOST_FORGOTTEN)]
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


@dataclass(frozen=True)
class Replay:
    """Messages that are sent again: how many there are, and what became of them.

    ``total_count`` grows while it collects them. ``taken_back_count`` counts those that were left as they were when it
    was cancelled.
    """

    id: str
    requested_by: str
    requested_at_ms: int
    selection: Selection
    state: ReplayState
    total_count: int = 0
    delivered_count: int = 0
    failed_count: int = 0
    taken_back_count: int = 0
    ended_at_ms: int | None = None

    @property
    def waiting_count(self) -> int:
        """Return how many of its messages are still to be sent."""
        return self.total_count - self.delivered_count - self.failed_count - self.taken_back_count
