"""States of a notification for its person, the tabs of an inbox, and the marks that move an entry between them.

Next: ``store/outbox/inbox_marks.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tocsin.clock import LATEST_MS
from tocsin.model.inbox_filter import EntryFilter
from tocsin.model.mute import FOR_GOOD_MS

MOST_MARKED = 1_000
"""Entries that one request may mark."""

MOST_COUNTED = 1_000
"""The greatest count of entries: it says that there are so many or more."""

MOST_RESTORED = 20_000
"""Notifications whose earlier states an answer gives, and a request may bring back."""

MOST_STATES = 1_000
"""Different states that these may have had."""


class Tab(StrEnum):
    """A list of an inbox.

    ``all`` has what is neither done nor snoozed, unread first; ``saved`` has what is saved, in whatever other state.
    """

    UNREAD = "unread"
    ALL = "all"
    SAVED = "saved"
    SNOOZED = "snoozed"
    DONE = "done"


class Standing(IntEnum):
    """Where a notification is; a group of notifications is where the first of them is, in this order."""

    UNREAD = 0
    READ = 1
    SNOOZED = 2
    DONE = 3


class Mark(StrEnum):
    """What may be done to an entry; ``unsnoozed`` and ``undone`` bring it back, unread and read."""

    READ = "read"
    UNREAD = "unread"
    DONE = "done"
    UNDONE = "undone"
    SAVED = "saved"
    UNSAVED = "unsaved"
    SNOOZED = "snoozed"
    UNSNOOZED = "unsnoozed"


class SnoozeEnd(StrEnum):
    """What a snoozed entry may wait for instead of a time: its asset's next notification, or its incident's end."""

    CHANGED = "changed"
    RESOLVED = "resolved"


@dataclass(frozen=True)
class Snooze:
    """When a snoozed notification comes back: at a time, epoch milliseconds, or, without one, at an ``end``."""

    until_ms: int = FOR_GOOD_MS
    end: SnoozeEnd | None = None


@dataclass(frozen=True)
class EntryState:
    """The state of a notification for its person: seen is what a list has shown, read what was opened."""

    is_read: bool = False
    is_seen: bool = False
    is_done: bool = False
    is_saved: bool = False
    snooze: Snooze | None = None


UNTOUCHED_STATE = EntryState()


@dataclass(frozen=True)
class EarlierState:
    """Notifications that were in one state, each by itself: their entry may have more since then."""

    state: EntryState
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Marked:
    """What marking has changed: how many entries and notifications, and their states before, which bring them back.

    ``earlier`` is None where more than ``MOST_RESTORED`` notifications were changed. ``missing`` are ids that are not
    there.
    """

    entry_count: int
    notification_count: int
    earlier: tuple[EarlierState, ...] | None = ()
    missing: tuple[str, ...] = ()


def sum_of_marks(results: Sequence[Marked]) -> Marked:
    """Return what several marks, of different entries, have changed together."""
    states = [state for result in results for state in result.earlier or ()]
    notification_count = sum(result.notification_count for result in results)
    is_lost = any(result.earlier is None for result in results)
    is_much = notification_count > MOST_RESTORED or len(states) > MOST_STATES
    return Marked(
        sum(result.entry_count for result in results),
        notification_count,
        None if is_lost or is_much else tuple(states),
        tuple(one for result in results for one in result.missing),
    )


@dataclass(frozen=True)
class TabCounts:
    """How many entries each tab has, ``MOST_COUNTED`` of more; unseen are unread ones that no list has shown."""

    unread_count: int = 0
    unseen_count: int = 0
    total_count: int = 0
    saved_count: int = 0
    snoozed_count: int = 0
    done_count: int = 0

    def of(self, tab: Tab) -> int:
        """Return the number of entries of a tab."""
        counts = {
            Tab.UNREAD: self.unread_count,
            Tab.ALL: self.total_count,
            Tab.SAVED: self.saved_count,
            Tab.SNOOZED: self.snoozed_count,
            Tab.DONE: self.done_count,
        }
        return counts[tab]


Until = Annotated[int, Field(ge=0, le=LATEST_MS)] | SnoozeEnd | None


class StateRequest(BaseModel):
    """A state that notifications had, as an answer gives it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    is_read: bool = Field(alias="read")
    is_seen: bool = Field(default=True, alias="seen")
    is_done: bool = Field(default=False, alias="done")
    is_saved: bool = Field(default=False, alias="saved")
    snoozed_until: Until = Field(default=None, alias="snoozedUntil")
    ids: tuple[UUID, ...] = Field(default=(), max_length=MOST_RESTORED)


class MarkRequest(BaseModel):
    """What to mark: ``ids`` as something, or what a filter finds, or ``states`` that notifications had, to bring back.

    ``until`` is when what is snoozed comes back: epoch milliseconds, or what it waits for. A ``filter`` is of a
    ``tab``, goes on ``after`` a cursor, and leaves alone what has come since the offset ``through`` of the log.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ids: tuple[UUID, ...] | None = Field(default=None, min_length=1, max_length=MOST_MARKED)
    mark: Mark | None = Field(default=None, alias="as")
    until: Until = None
    states: tuple[StateRequest, ...] | None = Field(default=None, min_length=1, max_length=MOST_STATES)
    entry_filter: EntryFilter | None = Field(default=None, alias="filter")
    tab: Tab = Tab.ALL
    after: str | None = Field(default=None, max_length=100)
    through: int | None = Field(default=None, ge=0, le=LATEST_MS)
    is_dry_run: bool = Field(default=False, alias="dryRun")


class OpenedRequest(BaseModel):
    """What a page posts that was opened by a link in a message: the token in its address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    token: str = Field(min_length=1, max_length=200)
