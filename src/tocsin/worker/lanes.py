"""Lanes of destinations: how many messages each gets at once, and what waits for a free one.

What waits can be withdrawn while its destination is paused. Next: ``worker/deliver.py``.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager

from tocsin.model.message import Message

_Place = tuple[str, asyncio.Task[None] | None]


class Lanes:
    """So many lanes per destination; a message has one for as long as it is sent."""

    def __init__(self, limit: int) -> None:
        self._free: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(limit))
        self._waiting: dict[str, _Place] = {}

    @asynccontextmanager
    async def lane(self, message: Message, *, is_probe: bool = False) -> AsyncIterator[None]:
        """Have a lane of the message's destination, once one is free; a probe is not withdrawn while it waits."""
        place = (message.destination_id, None if is_probe else asyncio.current_task())
        self._waiting[message.id] = place
        try:
            async with self._free[message.destination_id]:
                self._leave(message.id, place)
                yield
        finally:
            self._leave(message.id, place)

    def withdraw(self, paused: Container[str]) -> list[str]:
        """Cancel the tasks that wait for a lane of a paused destination; return the ids of their messages."""
        found = [(one, task) for one, (name, task) in self._waiting.items() if task is not None and name in paused]
        for one, task in found:
            del self._waiting[one]
            task.cancel()
        return [one for one, _ in found]

    def _leave(self, message_id: str, place: _Place) -> None:
        if self._waiting.get(message_id) is place:
            del self._waiting[message_id]
