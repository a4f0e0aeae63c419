"""Steps of consumers: what a consumer waits for, as values that both clients carry out in their own way.

A source and the loop over it are generators of steps: each step's result comes back, and its error is raised, at the
``yield``. So order, retries and commits are written once. Next: ``client/consume/loop.py``.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, TypeVar

from tocsin.client.answers import Change
from tocsin.client.call import ApiCall

T = TypeVar("T")


@dataclass(frozen=True)
class EventBatch:
    """Change events that are handled together.

    ``entity_type`` is what all of them are about, None where they are not grouped by it. ``end`` is the offset of the
    log from which to read on once this batch is done; None while batches of the same portion follow, and for sources
    that keep their position themselves.
    """

    changes: tuple[Change, ...]
    entity_type: str | None = None
    end: int | None = None


@dataclass(frozen=True)
class Pause:
    """A pause of so many seconds."""

    seconds: float


@dataclass(frozen=True)
class BlockingCall:
    """A function that blocks: a request to a broker, a file."""

    function: Callable[[], Any]  # Any: the step's result, which the generator gives a shape


Step = ApiCall[Any] | EventBatch | Pause | BlockingCall
Steps = Generator[Step, Any, T]  # Any: the result of a step
Handle = Callable[[EventBatch], object]
"""Handles one batch; for ``AsyncClient`` it may be a coroutine function."""


class Sending(Protocol):
    """A client that waits for answers."""

    def send(self, call: ApiCall[Any]) -> Any:  # Any: the answer
        """Send one call and return its result."""


class AsyncSending(Protocol):
    """A client whose answers are awaited."""

    async def send(self, call: ApiCall[Any]) -> Any:  # Any: the answer
        """Send one call and return its result."""


class StepOutcome:
    """What became of a step: its result, or its error, which is raised in the steps.

    Errors include Ctrl-C and cancellation: the steps end with giving back what they hold.
    """

    def __init__(self) -> None:
        self.result: Any = None  # Any: as above
        self._error: BaseException | None = None

    def next_of(self, steps: Steps[None]) -> Step:
        """Return the step that follows."""
        error, self._error = self._error, None
        return steps.send(self.result) if error is None else steps.throw(error)

    def __enter__(self) -> None:
        self.result = None

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> bool:
        self._error = error
        return True


def run_steps(steps: Steps[None], client: Sending, handle: Handle) -> None:
    """Carry out steps to their end."""
    outcome = StepOutcome()
    with suppress(StopIteration):
        while True:
            step = outcome.next_of(steps)
            with outcome:
                outcome.result = _carry_out(step, client, handle)


def _carry_out(step: Step, client: Sending, handle: Handle) -> Any:  # Any: the step's result
    match step:
        case ApiCall():
            return client.send(step)
        case EventBatch():
            return handle(step)
        case Pause():
            return time.sleep(step.seconds)
        case BlockingCall():
            return step.function()


async def run_steps_async(steps: Steps[None], client: AsyncSending, handle: Handle) -> None:
    """Carry out steps to their end; what blocks runs in threads."""
    outcome = StepOutcome()
    with suppress(StopIteration):
        while True:
            step = outcome.next_of(steps)
            with outcome:
                outcome.result = await _carry_out_async(step, client, handle)


async def _carry_out_async(step: Step, client: AsyncSending, handle: Handle) -> Any:  # Any: the step's result
    match step:
        case ApiCall():
            return await client.send(step)
        case EventBatch():
            result = handle(step)
            return await result if inspect.isawaitable(result) else result
        case Pause():
            return await asyncio.sleep(step.seconds)
        case BlockingCall():
            return await asyncio.to_thread(step.function)
