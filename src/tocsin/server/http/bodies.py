"""Request body limits: size, time to arrive, and memory.

The size limit depends on the sender: low before authentication, higher for imports and bulk requests.
Large bodies are parsed in a separate thread. Next: ``server/request.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
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


class Bodies:
    """The bodies that one process is reading."""

    def __init__(self, settings: TrafficSettings) -> None:
        self._settings, self._held = settings, 0
        self._lane = anyio.CapacityLimiter(_LARGE_AT_ONCE)

    @asynccontextmanager
    async def reading(self, request: Request) -> AsyncIterator[bytes]:
        """Yield the body of a request.

        Raises
        ------
        HTTPException : it is too large (413) or comes too slowly (408)
        TooManyRequests : the bodies of this process take too much memory together
        """
        read = bytearray()
        try:
            await self._read_into(read, request)
            yield bytes(read)
        finally:
            self._held -= len(read)

    async def parse(self, text: bytes, parse: Callable[[bytes], T]) -> T:
        """Return the parsed body; a large one is parsed in a thread."""
        if len(text) <= _SMALL:
            return parse(text)
        return await anyio.to_thread.run_sync(parse, text, limiter=self._lane)

    async def _read_into(self, read: bytearray, request: Request) -> None:
        limit = self._most(request)
        if int(request.headers.get("content-length") or 0) > limit:
            raise _too_large(limit)
        began_s = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(began_s + min(_GRACE_S, self._settings.body_timeout_s)) as patience:
                async for chunk in request.stream():
                    self._hold(read, chunk, limit)
                    patience.reschedule(began_s + self._may_take_s(len(read)))
        except TimeoutError:
            message = f"The body arrived too slowly; the limit is {self._settings.body_timeout_s:g} s."
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, message, {"Connection": "close"}) from None

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
        return self._settings.body_bytes_bulk if request.url.path.endswith(_IN_BULK) else self._settings.body_bytes


def _too_large(limit: int) -> HTTPException:
    return HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body is larger than {limit} bytes.")
