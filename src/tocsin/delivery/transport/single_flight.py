"""Single-flight cache: answers that are kept for a time; messages that wait for the same answer ask once.

Next: ``delivery/channels/webhook/access_tokens.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from math import inf
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

NOT_KEPT = -inf
"""The end of an answer that only those who wait for it get."""

KEPT_ALWAYS = inf
"""The end of an answer that stays until there are too many."""


class SingleFlightCache(Generic[K, V]):
    """At most ``max_count`` answers by key, on one event loop; the caller's clock says when an answer ends."""

    def __init__(self, max_count: int) -> None:
        self._max_count = max_count
        self._answers: dict[K, tuple[V, float]] = {}
        self._asking: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, now: float, ask: Callable[[], Awaitable[tuple[V, float]]]) -> V:
        """Return the kept answer, or that of ``ask``, which also returns when it ends.

        Who is cancelled while waiting does not cancel the question.
        """
        answer = self._answers.get(key)
        if answer is not None and now < answer[1]:
            return answer[0]
        if key not in self._asking:
            self._asking[key] = asyncio.create_task(self._ask(key, ask))
            self._asking[key].add_done_callback(lambda _: self._asking.pop(key, None))
        return await asyncio.shield(self._asking[key])

    def forget(self, key: K, answer: V | None = None) -> None:
        """Ask again the next time; if ``answer`` is passed, only where no other one has replaced it."""
        if answer is None or self._answers.get(key, (None,))[0] == answer:
            self._answers.pop(key, None)

    async def _ask(self, key: K, ask: Callable[[], Awaitable[tuple[V, float]]]) -> V:
        answer, until = await ask()
        if until > NOT_KEPT:
            self._answers.pop(key, None)
            self._answers[key] = (answer, until)
            while len(self._answers) > self._max_count:
                del self._answers[next(iter(self._answers))]
        return answer
