"""Who is listening, and what has just arrived for them? One poll of the store serves every listener of a server.

A listener that does not keep up is let go: it comes back with the last offset it saw and misses nothing.
Next: ``server/routes/inbox.py``.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from typing import Protocol, TypeVar

import anyio.to_thread
import structlog

from tocsin.clock import Clock
from tocsin.store.outbox.inbox import Arrival, InboxEntry

_POLL_S = 0.15
_PAGE = 500
_LONGEST_WAIT_MS = 60_000  # what is due later than this is found by the next page that somebody opens

BACKLOG = 200
"""Entries a listener may fall behind before it is let go."""

T = TypeVar("T")
_log = structlog.get_logger()


class Arrivals(Protocol):
    """What the loop asks of the inbox (``store/outbox/inbox.py``)."""

    def newest_offset(self) -> int:
        """Return the highest log offset anybody has been told of."""
        ...

    def arrivals(self, after: int, *, limit: int) -> list[Arrival]:
        """Return the rows beyond an offset, due or not."""
        ...

    def entries_at(self, places: list[tuple[int, str]]) -> list[InboxEntry]:
        """Return the entries at these (offset, user id) places."""
        ...

    def entries_after(self, user_id: str, offset: int, now_ms: int, *, limit: int) -> list[InboxEntry]:
        """Return what a user was told after an offset, oldest first."""
        ...


class Streams:
    """The listeners of one server, and the one loop that feeds them."""

    def __init__(self, inbox: Arrivals, clock: Clock) -> None:
        self._inbox, self._clock = inbox, clock
        self._listeners: dict[str, set[_Listener]] = defaultdict(set)
        self._waiting: list[Arrival] = []
        self._read_to = 0
        self._loop: asyncio.Task[None] | None = None
        self._closed = False

    async def listen(self, user_id: str, last_seen: int | None) -> AsyncIterator[InboxEntry]:
        """Yield what this person is told from now on, and first what came after offset ``last_seen``."""
        if self._closed:
            return
        listener = _Listener()
        self._listeners[user_id].add(listener)
        try:
            await self._ensure_running()
            start = self._read_to
            seen = start if last_seen is None else last_seen
            told: set[str] = set()  # what the loop may hand on once more
            while missed := await self._missed(user_id, seen):
                for entry in missed:
                    yield entry
                told |= {entry.id for entry in missed if entry.log_offset > start}
                seen = missed[-1].log_offset
            while (arrived := await listener.queue.get()) is not None:
                if arrived.id not in told:
                    yield arrived
        finally:
            self._forget(user_id, listener)

    async def close(self) -> None:
        """Let every listener go and end the loop."""
        self._closed = True
        self._let_all_go()
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait([self._loop])

    async def _ensure_running(self) -> None:
        """Start the loop with the first listener; it ends by itself when nobody is left."""
        if self._loop is not None and not self._loop.done():
            return
        newest = await _in_thread(self._inbox.newest_offset)
        if self._loop is None or self._loop.done():  # nobody else started it meanwhile
            self._read_to = newest
            self._loop = asyncio.create_task(self._run())
            self._loop.add_done_callback(self._ended)

    def _ended(self, loop: asyncio.Task[None]) -> None:
        """Let the listeners of a loop that failed go: each comes back and starts the next one."""
        if not loop.cancelled() and (error := loop.exception()) is not None:
            _log.error("inbox poll failed", exc_info=error)
            self._let_all_go()

    def _let_all_go(self) -> None:
        for group in self._listeners.values():
            for listener in group:
                listener.let_go()

    def _forget(self, user_id: str, listener: _Listener) -> None:
        self._listeners[user_id].discard(listener)
        if not self._listeners[user_id]:
            del self._listeners[user_id]

    async def _missed(self, user_id: str, seen: int) -> list[InboxEntry]:
        return await _in_thread(lambda: self._inbox.entries_after(user_id, seen, self._clock.now_ms(), limit=_PAGE))

    async def _run(self) -> None:
        while self._listeners:
            if not await self._poll():
                await asyncio.sleep(_POLL_S)

    async def _poll(self) -> bool:
        """Hand on what has arrived and is due; say whether more waits to be read."""
        after = self._read_to
        arrived = await _in_thread(lambda: self._inbox.arrivals(after, limit=_PAGE))
        self._read_to = max([after, *(one.log_offset for one in arrived)])
        now_ms = self._clock.now_ms()
        heard = [one for one in (*self._waiting, *arrived) if one.recipient_id in self._listeners]
        self._waiting = [one for one in heard if now_ms < one.due_at_ms <= now_ms + _LONGEST_WAIT_MS]
        due = [(one.log_offset, one.recipient_id) for one in heard if one.due_at_ms <= now_ms]
        for entry in await _in_thread(lambda: self._inbox.entries_at(due)) if due else []:
            for listener in self._listeners.get(entry.recipient_id, ()):
                listener.tell(entry)
        return len(arrived) >= _PAGE


class _Listener:
    """One open connection: what waits to be sent to it; None ends it."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[InboxEntry | None] = asyncio.Queue()

    def tell(self, entry: InboxEntry) -> None:
        if self.queue.qsize() >= BACKLOG:
            self.let_go()
        else:
            self.queue.put_nowait(entry)

    def let_go(self) -> None:
        self.queue.put_nowait(None)


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
