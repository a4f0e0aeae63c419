"""Renderings of a worker: one at a time, in a thread of their own, first for those who have taken the least time.

So templates that use all their time delay neither the messages without any nor the templates of others.
Next: ``delivery/templates/message_text.py`` and ``delivery/channels/webhook/filling.py``, which render.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from tocsin.delivery.dispatch import RenderingAccount
from tocsin.delivery.templates.accounts import TemplateAccounts

T = TypeVar("T")
_Waiting = tuple[Callable[[], Any], asyncio.Future[Any]]  # Any: the rendered content


class Renderings:
    """Renders for one event loop; ``accounts`` say what everybody has taken."""

    def __init__(self, accounts: TemplateAccounts | None = None) -> None:
        self.accounts = accounts or TemplateAccounts()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="templates")
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._is_busy = False

    async def run(self, payer: RenderingAccount, render: Callable[[], T]) -> T:
        """Return what ``render`` returns, or raise what it raises, once it is the payer's turn."""
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(payer.name, deque()).append((render, result))
        self._begin()
        return await result

    def _begin(self) -> None:
        while self._waiting and not self._is_busy:
            render, result = self._next()
            if not result.cancelled():
                self._is_busy = True
                running = asyncio.get_running_loop().run_in_executor(self._pool, render)
                running.add_done_callback(partial(self._end, result))

    def _next(self) -> _Waiting:
        name = min(self._waiting, key=self.accounts.used_s)
        waiting = self._waiting[name]
        next_waiting = waiting.popleft()
        if not waiting:
            del self._waiting[name]
        return next_waiting

    def _end(self, result: asyncio.Future[Any], running: asyncio.Future[Any]) -> None:  # Any: as above
        self._is_busy = False
        if not result.cancelled():
            error = running.exception()
            if error is None:
                result.set_result(running.result())
            else:
                result.set_exception(error)
        self._begin()
