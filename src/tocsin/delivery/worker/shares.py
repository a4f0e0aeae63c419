"""Shares of the processes of one worker in what a destination gets at once, and when there are more of them.

A new process waits until all others keep to their smaller shares, and leaves out destinations of which one of them
still has more in flight: together they never exceed a limit.
Next: ``delivery/worker/processes.py`` starts processes, ``delivery/worker/deliver.py`` is each of them.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Collection, Mapping
from zlib import crc32

MORE_AFTER_S = 0.3
"""Seconds for which webhooks must have piled up before another process starts."""

IDLE_S = 60.0
"""Seconds without work after which a process other than the first ends."""

_WIDTH = 4
_SLOTS = 32
"""Destinations of which a process has more in flight than its share while another begins; with more, that one waits."""


class ProcessTable:
    """How many processes a worker has, and for how many each of them keeps to its share; in memory that they share."""

    def __init__(self, limit: int = 1) -> None:
        self.limit = limit
        # The count, then of each process a cell and its slots.
        self._cells = memoryview(mmap.mmap(-1, _WIDTH * (1 + limit * (1 + _SLOTS)))).cast("I")

    @property
    def count(self) -> int:
        """How many processes there are."""
        return self._cells[0]

    def add(self) -> int:
        """Add a process, which has nothing in hand yet; return its number, the lowest that is free."""
        number = next(number for number in range(self.limit) if not self.share_count_of(number))
        self._cells[0] += 1
        self.keep(number, self.count)
        return number

    def remove(self, number: int) -> None:
        """Remove a process that has ended."""
        self.keep(number, 0)
        self.reserve(number, ())
        self._cells[0] -= 1

    def keep(self, number: int, count: int) -> None:
        """Note that a process keeps to its share of ``count``."""
        self._cells[1 + number * (1 + _SLOTS)] = count

    def share_count_of(self, number: int) -> int:
        """Return the number of processes for which a process keeps to its share; 0 where there is none."""
        return self._cells[1 + number * (1 + _SLOTS)]

    def reserve(self, number: int, destinations: Collection[str]) -> bool:
        """Hold others back from these destinations, and from no more; return whether there is room to say so.

        An entry stays where it is until it goes: who reads meanwhile misses none.
        """
        start = 2 + number * (1 + _SLOTS)
        marks = {_mark_of(name) for name in destinations}
        for cell in range(start, start + _SLOTS):
            if self._cells[cell] in marks:
                marks.remove(self._cells[cell])
            else:
                self._cells[cell] = 0
        free_cells = [cell for cell in range(start, start + _SLOTS) if not self._cells[cell]]
        if len(marks) > len(free_cells):
            return False
        for cell, mark in zip(free_cells, marks, strict=False):
            self._cells[cell] = mark
        return True

    def is_held_back(self, number: int, destination: str) -> bool:
        """Return whether another process than this one has more than its share of a destination in flight."""
        mark = _mark_of(destination)
        starts = (2 + other * (1 + _SLOTS) for other in range(self.limit) if other != number)
        return any(mark in self._cells[start : start + _SLOTS].tolist() for start in starts)

    def all_keep(self) -> bool:
        """Return whether every process keeps to its share of as many as there are now."""
        return all(not (kept := self.share_count_of(number)) or kept >= self.count for number in range(self.limit))


class Place:
    """The place of one process among those of its worker; the first always runs, and does what only one may do."""

    def __init__(self, table: ProcessTable, number: int, ask: Callable[[], None] = lambda: None) -> None:
        self._table, self._number, self._ask = table, number, ask
        self._began = False
        self._piled_since_s: float | None = None
        self._idle_since_s: float | None = None

    @property
    def is_first(self) -> bool:
        """Whether this is the process that always runs."""
        return not self._number

    def share(self, limit: int) -> int:
        """Return how much of a limit is this process's now; the first has what cannot be shared equally.

        That its share grows is noted before it is used: who begins meanwhile waits until it shrinks again.
        """
        table, count = self._table, self._table.count
        while table.share_count_of(self._number) > count:
            table.keep(self._number, count)
            count = table.count
        part = limit // count
        return limit - part * (count - 1) if self.is_first else part

    def settle(self, limit: int, busy_counts: Mapping[str, int]) -> None:
        """Note that this process keeps to its share, but for those destinations that get more at present.

        ``busy_counts`` says how many messages each lane is sending.
        """
        count, share = self._table.count, self.share(limit)
        busy_lanes = [name for name, busy_count in busy_counts.items() if busy_count > share]
        has_said = self._table.reserve(self._number, busy_lanes)
        has_own_addresses = any(" " in name for name in busy_lanes)  # they are not claimed by the names of their lanes
        if has_said and not has_own_addresses and self._table.share_count_of(self._number) < count:
            self._table.keep(self._number, count)

    def may_claim(self, destination_id: str) -> bool:
        """Return whether a destination's messages may be claimed: no other process sends it more than its share."""
        return self._table.limit == 1 or not self._table.is_held_back(self._number, destination_id)

    def may_begin(self) -> bool:
        """Return whether this process may send by now; from then on it may."""
        self._began = self._began or self._table.all_keep()
        return self._began

    def look_for_more(self, webhooks: int, enough: int, now_s: float) -> None:
        """Ask for another process where so many webhooks have been in hand for a while that another has enough, too."""
        if webhooks < enough:
            self._piled_since_s = None
        elif self._piled_since_s is None:
            self._piled_since_s = now_s
        elif now_s - self._piled_since_s >= MORE_AFTER_S and self._table.count < self._table.limit:
            self._piled_since_s = now_s
            self._ask()

    def is_to_end(self, in_hand: int, now_s: float) -> bool:
        """Return whether this process has had nothing to do for so long that it is to end; the first never is."""
        if in_hand or self._idle_since_s is None:
            self._idle_since_s = now_s
        return not self.is_first and now_s - self._idle_since_s >= IDLE_S


def only_place() -> Place:
    """Return the place of a worker's only process."""
    table = ProcessTable()
    return Place(table, table.add())


def _mark_of(destination: str) -> int:
    """Return a number for a destination, never 0; two that have the same wait for each other, too."""
    return crc32(destination.encode()) or 1
