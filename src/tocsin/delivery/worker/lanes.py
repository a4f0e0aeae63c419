"""Lanes of destinations and own addresses: how many messages each gets at once, how soon, and what waits for its turn.

What waits can be withdrawn while its destination is paused. Next: ``delivery/worker/deliver.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Container, Mapping
from weakref import WeakValueDictionary

from tocsin.clock import Steady, steady_s
from tocsin.model.message import Message

_MOST_TURNS = 10_000

_Place = tuple[str, asyncio.Task[None] | None]


class Lanes:
    """So many lanes per destination, and per own address; a message has one for as long as it is sent.

    ``intervals_s`` gives, by channel, the least seconds between two messages to one address, from whichever alerts.
    """

    def __init__(
        self, limit: int, intervals_s: Mapping[str, float] | None = None, *, steady: Steady = steady_s
    ) -> None:
        self._limit = limit
        self._free: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._waiting: dict[str, _Place] = {}
        self._turns = _Turns(intervals_s or {}, steady)

    async def through(self, message: Message, send: Callable[[], Awaitable[None]], *, is_probe: bool = False) -> None:
        """Send in a lane of the message's destination, or own address, once one is free; a probe is not withdrawn."""
        place = (message.destination_id, None if is_probe else asyncio.current_task())
        self._waiting[message.id] = place
        try:
            async with self._free.setdefault(message.lane, asyncio.Semaphore(self._limit)):
                await self._turns.turn(message)
                self._leave(message.id, place)
                await send()
        finally:
            self._leave(message.id, place)

    def withdraw(self, paused: Container[str]) -> list[str]:
        """Cancel the tasks that wait for a lane of a paused destination; return the ids of their messages."""
        waiting = [
            (message_id, task)
            for message_id, (name, task) in self._waiting.items()
            if task is not None and name in paused
        ]
        for message_id, task in waiting:
            del self._waiting[message_id]
            task.cancel()
        return [message_id for message_id, _ in waiting]

    def stop_waiting(self) -> None:
        """Let everybody pass without waiting for a turn: the worker ends and begins nothing more."""
        self._turns.over.set()

    def _leave(self, message_id: str, place: _Place) -> None:
        if self._waiting.get(message_id) is place:
            del self._waiting[message_id]


class _Turns:
    """When the next message may go to each address of a channel that limits its rate."""

    def __init__(self, intervals_s: Mapping[str, float], steady: Steady) -> None:
        self.over = asyncio.Event()
        self._intervals_s = intervals_s
        self._steady = steady
        self._next_s: dict[tuple[str, str], float] = {}

    async def turn(self, message: Message) -> None:
        """Return when it is the message's turn."""
        interval_s = self._intervals_s.get(message.channel, 0.0)
        if not interval_s:
            return
        address, now_s = (message.channel, message.target or message.destination_id), self._steady()
        turn_s = max(now_s, self._next_s.get(address, now_s))
        self._next_s[address] = turn_s + interval_s
        if len(self._next_s) > _MOST_TURNS:
            self._next_s = {one: at_s for one, at_s in self._next_s.items() if at_s > now_s}
        if turn_s > now_s:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.over.wait(), turn_s - now_s)
