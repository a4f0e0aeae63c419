"""Limit on the concurrent requests of one person in a process.

Further requests wait in that person's own queue, so one person's load does not occupy the threads that everybody
needs. Next: ``server/request.py``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tocsin.errors import TooManyRequests
from tocsin.model.people import Actor

WIDER = 4
"""So many times the share of a person have administrators and bots, who bring whole catalogues in."""


@dataclass
class _Line:
    """One person's requests: how many are answered, and those that wait for that."""

    answered: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)


class Taken:
    """A place among the requests that are answered, held for a ``with`` block; it can be given back before its end."""

    def __init__(self, shares: Shares, person: str) -> None:
        self._shares, self._person = shares, person
        self._is_held = True

    def __enter__(self) -> Self:
        """Hold it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give it back."""
        self.give_back()

    def give_back(self) -> None:
        """Let the next one in; once is enough."""
        if self._is_held:
            self._is_held = False
            self._shares.leave(self._person)


class Shares:
    """The requests of each person that one process answers: ``at_once``, and ``waiting`` behind them."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once, self._most_waiting = at_once, waiting
        self._lines: dict[str, _Line] = {}

    async def place_for(self, actor: Actor) -> Taken:
        """Return a place, once there is one, to be held for as long as a request is answered.

        Raises
        ------
        TooManyRequests : too many of this person's requests wait already
        """
        await self._enter(actor)
        return Taken(self, actor.id)

    async def _enter(self, actor: Actor) -> None:
        line = self._lines.setdefault(actor.id, _Line())
        if line.answered < self._at_once * (WIDER if actor.is_admin or actor.is_bot else 1):
            line.answered += 1
            return
        if len(line.waiting) >= self._most_waiting:
            raise TooManyRequests("Too many of your requests are waiting; send fewer at once.", retry_after_s=1)
        turn = asyncio.get_running_loop().create_future()
        line.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(actor.id)  # its turn came as it went
            raise

    def leave(self, person: str) -> None:
        """Hand a place on to the request of this person that has waited longest."""
        line = self._lines[person]
        while line.waiting:
            if not (turn := line.waiting.popleft()).done():
                turn.set_result(None)
                return
        line.answered -= 1
        if not line.answered:
            del self._lines[person]
