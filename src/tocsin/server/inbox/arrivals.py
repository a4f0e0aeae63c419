"""Inbox reader shared by all listeners of a process: each row once, including rows that are written late.

Several queries write notifications, each at its own speed (``flow/eventlog/readers.py``), so a row may be written after
rows of later events. So besides the new end, the range that the slowest query has passed meanwhile is read again.
Next: ``server/inbox/streams.py``.
"""

from __future__ import annotations

from typing import Protocol

from tocsin.errors import LogDiverged
from tocsin.store.outbox.inbox import Arrival, InboxProgress

PAGE = 500
MOST_NOTED = 100_000
"""The most rows remembered because earlier ones may still come; when a query is further behind, its rows are not pushed
live: the inbox shows them."""

_Place = tuple[int, str]


class Arrivals(Protocol):
    """The query of an inbox (``store/outbox/inbox.py``)."""

    def reach(self) -> InboxProgress:
        """Return the progress of notifications."""

    def arrivals(self, after: int, *, limit: int, through: int | None = None) -> list[Arrival]:
        """Return the rows beyond an offset, due or not; whole offsets only."""


class Arriving:
    """How far a process has read the inbox. ``read_to`` is the highest offset; up to ``passed`` nothing comes late."""

    def __init__(self, inbox: Arrivals) -> None:
        self._inbox = inbox
        self._noted: set[_Place] = set()
        self.read_to = 0
        self.passed = 0

    def begin(self) -> None:
        """Begin with what comes from now on."""
        reach = self._inbox.reach()
        self._noted.clear()
        self.read_to = max(reach.newest.offset, reach.processed_through)
        self.passed = self.read_to
        if 0 < reach.processed_through < self.read_to:
            self._note_what_is_there(reach.processed_through)

    def next(self) -> list[Arrival]:
        """Return rows beyond what was read, about ``PAGE``; a full page says that more may wait."""
        arrived = self._inbox.arrivals(self.read_to, limit=PAGE)
        self.read_to = max([self.read_to, *(one.log_offset for one in arrived)])
        self._note(arrived)
        return arrived

    def late(self) -> list[Arrival]:
        """Return the rows that have come since the last look and precede what was read by then.

        Raises
        ------
        LogDiverged : the store is not the one that was read: its log is shorter
        """
        reach = self._inbox.reach()
        if max(reach.newest.offset, reach.processed_through) < self.read_to:
            raise LogDiverged(
                f"People were notified up to offset {self.read_to}, but this store ends at {reach.newest}."
            )
        late_arrivals: list[Arrival] = []
        while self.passed < min(reach.processed_through, self.read_to):
            through = min(reach.processed_through, self.read_to)
            page = self._inbox.arrivals(self.passed, limit=PAGE, through=through)
            late_arrivals += [one for one in page if _place(one) not in self._noted]
            self.passed = page[-1].log_offset if len(page) >= PAGE else through
        self._noted = {one for one in self._noted if one[0] > self.passed}
        return late_arrivals

    def _note_what_is_there(self, after: int) -> None:
        self.passed, place = after, after
        while place < self.read_to and self.passed == after:
            page = self._inbox.arrivals(place, limit=PAGE, through=self.read_to)
            self._note(page)
            place = page[-1].log_offset if len(page) >= PAGE else self.read_to

    def _note(self, arrived: list[Arrival]) -> None:
        self._noted.update(map(_place, arrived))
        if len(self._noted) > MOST_NOTED:
            self._noted.clear()
            self.passed = self.read_to


def _place(arrival: Arrival) -> _Place:
    return arrival.log_offset, arrival.recipient_id
