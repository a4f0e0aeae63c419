"""Request body limits: size, time to arrive, and memory.

The size limit depends on the sender: low before authentication, higher for imports and bulk requests.
Large bodies are parsed in a separate thread. Next: ``server/request.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from types import TracebackType
from typing import TypeVar

import anyio
import anyio.to_thread
from fastapi import Request
from starlette.exceptions import HTTPException

from tocsin.errors import TooManyRequests
from tocsin.settings import TrafficSettings

_GRACE_S = 5.0
_SMALL = 64 * 1024
_LARGE_AT_ONCE = 2
_IN_BULK = ("/bulk", "/import", "/importAsync", "/events/ingest")
T = TypeVar("T")


class HeldBody:
    """A body that counts among those of a process until the end of a ``with`` block."""

    def __init__(self, bodies: Bodies, text: bytes) -> None:
        self._bodies, self._text = bodies, text

    def __enter__(self) -> bytes:
        """Return what was sent."""
        return self._text

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Let it go."""
        self._bodies.let_go(len(self._text))


class Bodies:
    """The bodies that one process is reading."""

    def __init__(self, settings: TrafficSettings) -> None:
        self._settings, self._held = settings, 0
        self._lane = anyio.CapacityLimiter(_LARGE_AT_ONCE)

    async def read(self, request: Request) -> HeldBody:
        """Return the body of a request, which counts until it is let go.

        Raises
        ------
        HTTPException : it is too large (413) or comes too slowly (408)
        TooManyRequests : the bodies of this process take too much memory together
        """
        read = bytearray()
        try:
            await self._read_into(read, request)
        except BaseException:
            self.let_go(len(read))
            raise
        return HeldBody(self, bytes(read))

    def let_go(self, size: int) -> None:
        """Count the bytes of a body no more."""
        self._held -= size

    async def parse(self, text: bytes, parse: Callable[[bytes], T]) -> T:
        """Return the parsed body; a large one is parsed in a thread."""
        if len(text) <= _SMALL:
            return parse(text)
        return await anyio.to_thread.run_sync(parse, text, limiter=self._lane)

    async def _read_into(self, read: bytearray, request: Request) -> None:
        limit, announced_size = self._most(request), int(request.headers.get("content-length") or 0)
        if announced_size > limit:
            raise _too_large(limit)
        began_s = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(began_s + min(_GRACE_S, self._settings.body_timeout_s)) as patience:
                async for chunk in request.stream():
                    self._hold(read, chunk, limit)
                    self._be_patient(patience, began_s, len(read), announced_size)
        except TimeoutError:
            message = f"The body arrived too slowly; the limit is {self._settings.body_timeout_s:g} s."
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, message, {"Connection": "close"}) from None

    def _be_patient(self, patience: asyncio.Timeout, began_s: float, size: int, announced_size: int) -> None:
        """Give a body time for its next part; nothing but its end, which is here by now, follows the last."""
        if size != announced_size:
            patience.reschedule(began_s + self._may_take_s(size))

    def _may_take_s(self, count: int) -> float:
        return min(_GRACE_S + count / self._settings.body_bytes_per_s, self._settings.body_timeout_s)

    def _hold(self, read: bytearray, chunk: bytes, limit: int) -> None:
        if self._held + len(chunk) > self._settings.body_memory_bytes:
            raise TooManyRequests("Too many large bodies at once; try again in a moment.", retry_after_s=2)
        self._held += len(chunk)
        read += chunk
        if len(read) > limit:
            raise _too_large(limit)

    def _most(self, request: Request) -> int:
        if getattr(request.state, "caller", None) is None:
            return self._settings.body_bytes_open
        return self._settings.body_bytes_bulk if request.scope["path"].endswith(_IN_BULK) else self._settings.body_bytes


def _too_large(limit: int) -> HTTPException:
    return HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body is larger than {limit} bytes.")
