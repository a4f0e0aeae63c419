"""Work that many coroutines ask for at the same time, done for all of them in one thread.

Thousands of streams want to show one event at once: a thread for each would look the same up for each. Next:
``server/routes/notifications/inbox.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from tocsin.store.database.faults import fault_of

MOST_TOGETHER = 250
"""Requests of one batch: the answers of some are sent while the next are worked on."""

R = TypeVar("R")
T = TypeVar("T")
_Work = Callable[[Sequence[Any]], Sequence[Any]]  # Any: whatever the work takes and returns


@dataclass
class _Batch:
    """Requests that are done together, and the task that does them."""

    requests: list[Any] = field(default_factory=list)  # Any: as above
    task: asyncio.Task[Sequence[Any]] | None = None


class Together:
    """Does work in batches, one after the other; one per process, used in its event loop alone."""

    def __init__(self) -> None:
        self._open: dict[_Work, _Batch] = {}
        self._lane = asyncio.Lock()

    async def run(self, work: Callable[[Sequence[R]], Sequence[T | Exception]], request: R) -> T:
        """Return what ``work`` returns for a request, done with those that come before its batch begins.

        What it raises is raised for each request of the batch; an exception among its results for that request alone.
        """
        batch = self._open.get(work)
        if batch is None or len(batch.requests) >= MOST_TOGETHER:
            batch = self._open[work] = _Batch()
            batch.task = asyncio.create_task(self._do(work, batch))
        place, task = len(batch.requests), batch.task
        batch.requests.append(request)
        results: Sequence[T | Exception] = await asyncio.shield(task)  # type: ignore[arg-type]  # it is there
        result = results[place]
        if isinstance(result, Exception):
            raise result
        return result

    async def _do(self, work: _Work, batch: _Batch) -> Sequence[Any]:  # Any: as above
        async with self._lane:
            if self._open.get(work) is batch:
                del self._open[work]
            return await anyio.to_thread.run_sync(work, batch.requests)


def results_apart(do: Callable[[R], T], requests: Iterable[R]) -> list[T | Exception]:
    """Return what ``do`` returns for each request, or what it raises: one that fails stops no other.

    A fault of the store is raised at once, as it is everybody's.
    """
    return [_result_of(do, request) for request in requests]


def _result_of(do: Callable[[R], T], request: R) -> T | Exception:
    try:
        return do(request)
    except Exception as error:
        if fault_of(error) is not None:
            raise
        return error
