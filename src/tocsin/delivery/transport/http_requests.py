"""HTTP requests of channels: one attempt over a pool of connections, and the outcome of its response.

Redirects are not followed, proxies from the environment are not used, and the address is checked when the socket is
created (``delivery/transport/egress.py``). Next: ``delivery/transport/outcome.py``.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, Self

import aiohttp
from aiohttp.abc import AbstractResolver

from tocsin.delivery.lines import clean_line
from tocsin.delivery.transport.egress import REFUSED_ERRNO, AddressInfo, Egress, egress_of
from tocsin.delivery.transport.outcome import DETAIL_LIMIT, of_http_status, of_reason
from tocsin.delivery.transport.request import Recorder, Request, Timeouts, Transport
from tocsin.delivery.transport.retry import parse_retry_after
from tocsin.model.message import Outcome, OutcomeReason
from tocsin.settings import ChannelSettings

MOST_ANNOUNCED = 10
"""Interim answers (1xx) that a receiver may send before its answer."""

_REASON_LIMIT = 500
_OPENED: ContextVar[list[socket.socket]] = ContextVar("sockets opened for the present request")
_NOT_LOST = (TimeoutError, aiohttp.ClientConnectorError)
"""Failures of connections other than the loss of one that there was."""


@asynccontextmanager
async def open_transport(settings: ChannelSettings, recorder: Recorder | None = None) -> AsyncIterator[Transport]:
    """Yield what makes requests, to the addresses that the settings allow; with a ``recorder`` nothing is sent."""
    if recorder is not None:
        yield recorder
        return
    async with HttpRequests(egress_of(settings.egress_allow)) as requests:
        yield requests


class HttpRequests(Transport):
    """Sends requests over one pool of connections; close it when done. ``resolver`` is the system's if omitted."""

    def __init__(self, egress: Egress, *, user_agent: str = "Tocsin", resolver: AbstractResolver | None = None) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, resolver=resolver or aiohttp.ThreadedResolver(), socket_factory=partial(_open_socket, egress)
            ),
            auto_decompress=False,  # what is kept is bounded by what was sent to us
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": user_agent, "Accept-Encoding": "identity"},
            response_class=_Answer,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def exchange(self, request: Request, *, now_ms: int) -> tuple[Outcome, bytes]:
        """Make one attempt and return its outcome, with what was read of the answer."""
        outcome, body, stale = await self._attempt(request, now_ms)
        while stale:  # a kept connection that the receiver had closed says nothing about the receiver
            outcome, body, stale = await self._attempt(request, now_ms)
        return outcome, body

    async def _attempt(self, request: Request, now_ms: int) -> tuple[Outcome, bytes, bool]:
        """Make one request; return its outcome and answer, and whether it failed on a stale connection only."""
        new_sockets: list[socket.socket] = []
        _OPENED.set(new_sockets)
        try:
            async with self._session.request(
                request.method,
                request.url,
                data=request.payload,
                headers=request.headers,
                timeout=_client_timeout(request.timeouts),
                allow_redirects=False,
            ) as answer:
                body = await _read(answer, request.answer_bytes)
                return _outcome(answer, body, now_ms=now_ms), body, False
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
            is_stale = isinstance(error, aiohttp.ClientConnectionError) and not isinstance(error, _NOT_LOST)
            suffix = "" if isinstance(error, ValueError) else f": {error}"  # it would repeat the address, token and all
            detail = clean_line(f"{type(error).__name__}{suffix}", limit=_REASON_LIMIT)
            return of_reason(_reason(error), detail=detail), b"", is_stale and not new_sockets


def _open_socket(egress: Egress, info: AddressInfo) -> socket.socket:
    """Open a socket and note it for the request that it is opened for."""
    opened = egress.open_socket(info)
    _OPENED.get().append(opened)
    return opened


class _Answer(aiohttp.ClientResponse):
    """An answer that may be announced (``100 Continue``) a few times, not without end: that keeps the loop busy."""

    async def start(self, connection: Any) -> aiohttp.ClientResponse:  # Any: aiohttp's own
        """Wait for the answer."""
        behind: Any = _AttributeOverrides(connection, protocol=_Announced(connection.protocol))  # Any: as above
        return await super().start(behind)


class _AttributeOverrides:
    """Something of aiohttp's with some of its attributes replaced."""

    def __init__(self, original: Any, **replaced: object) -> None:  # Any: as above
        self._whole = original
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:  # Any: as above
        return getattr(self._whole, name)


class _Announced(_AttributeOverrides):
    """A connection's protocol that gives up on a receiver that announces its answer too often."""

    _count = 0

    async def read(self) -> Any:  # Any: as above
        self._count += 1
        if self._count > MOST_ANNOUNCED + 1:
            raise aiohttp.http.HttpProcessingError(message="the response is too long")
        return await self._whole.read()


@lru_cache(maxsize=100)
def _client_timeout(timeouts: Timeouts) -> aiohttp.ClientTimeout:
    connect_s, read_s, total_s = timeouts
    return aiohttp.ClientTimeout(total=total_s, sock_connect=connect_s, sock_read=read_s)


async def _read(answer: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the first bytes of a response's body; none if it breaks off: its status counts all the same."""
    try:
        return await answer.content.readexactly(limit)
    except asyncio.IncompleteReadError as short:
        return short.partial
    except (aiohttp.ClientError, TimeoutError):
        return b""


def _outcome(answer: aiohttp.ClientResponse, body: bytes, *, now_ms: int) -> Outcome:
    """Return the outcome of a response."""
    after_s = parse_retry_after(answer.headers.get("Retry-After"), now_ms=now_ms)
    excerpt = body[:DETAIL_LIMIT]
    return of_http_status(answer.status, detail=excerpt.decode("utf-8", "replace").replace("\0", ""), after_s=after_s)


def _reason(error: Exception) -> OutcomeReason:
    match error:
        case TimeoutError():
            return OutcomeReason.TIMEOUT
        case aiohttp.ClientConnectorError() if error.os_error.errno == REFUSED_ERRNO:
            return OutcomeReason.EGRESS_REFUSED
        case OSError():  # certificates that do not hold are a ValueError, too
            return OutcomeReason.CONNECTION_FAILED
        case ValueError():  # aiohttp.InvalidURL is one, and so is a host that is no name
            return OutcomeReason.BAD_URL
        case _:
            return OutcomeReason.CONNECTION_FAILED
