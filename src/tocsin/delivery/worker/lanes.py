"""Lanes of destinations and own addresses: how many messages each gets at once, how soon, and which wait.

Waiting messages can be withdrawn while their destination is paused. Next: ``delivery/worker/deliver.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Container, Mapping
from weakref import WeakValueDictionary

from tocsin.clock import Steady, steady_s
from tocsin.model.message import Message

_MOST_TURNS = 10_000

_Place = tuple[str, asyncio.Task[None] | None]


class Lanes:
    """So many lanes per destination, and per own address; a message has one for as long as it is sent.

    ``limit`` says how many there are now; where they are to be fewer, those in use remain until they are free.
    ``intervals_s`` gives, by channel, the least seconds between two messages to one address, from whichever alerts.
    """

    def __init__(
        self, limit: Callable[[], int], intervals_s: Mapping[str, float] | None = None, *, steady: Steady = steady_s
    ) -> None:
        self._limit = limit
        self._lanes: WeakValueDictionary[str, _Lane] = WeakValueDictionary()
        self._waiting: dict[str, _Place] = {}
        self._turns = _Turns(intervals_s or {}, steady)

    async def through(self, message: Message, send: Callable[[], Awaitable[None]], *, is_probe: bool = False) -> None:
        """Send in a lane of the message's destination, or own address, once one is free; a probe is not withdrawn."""
        place = (message.destination_id, None if is_probe else asyncio.current_task())
        self._waiting[message.id] = place
        try:
            lane = self._lane(message.lane)
            await lane.enter()
            try:
                await self._turns.turn(message)
                self._leave(message.id, place)
                await send()
            finally:
                lane.leave()
        finally:
            self._leave(message.id, place)

    @property
    def busy_counts(self) -> dict[str, int]:
        """How many messages are being sent in each lane."""
        return {name: lane.busy_count for name, lane in self._lanes.items()}

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

    def _lane(self, name: str) -> _Lane:
        lane = self._lanes.get(name)
        if lane is None:
            self._lanes[name] = lane = _Lane(self._limit)
        return lane

    def _leave(self, message_id: str, place: _Place) -> None:
        if self._waiting.get(message_id) is place:
            del self._waiting[message_id]


class _Lane:
    """The places of one destination; who comes first is first, and how many there are may change."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.busy_count = 0

    async def enter(self) -> None:
        """Return with a place, once there is one."""
        if not self._waiting and self.busy_count < self._limit():
            self.busy_count += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it was given the place at the same time
                self.leave()
            raise

    def leave(self) -> None:
        """Leave the place to the next."""
        self.busy_count -= 1
        while self._waiting and self.busy_count < self._limit():
            place = self._waiting.popleft()
            if not place.done():
                self.busy_count += 1
                place.set_result(None)


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
