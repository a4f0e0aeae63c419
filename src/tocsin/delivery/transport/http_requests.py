"""HTTP requests of channels: one attempt over a pool of connections, and the outcome of its response.

Redirects are not followed, proxies from the environment are not used, and the address is checked when the socket is
created (``delivery/transport/egress.py``). aiohttp opens connections; what is said over them is
``delivery/transport/http_session.py``. Next: ``delivery/transport/outcome.py``.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self
from weakref import WeakSet

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from tocsin.delivery.lines import clean_line
from tocsin.delivery.transport.egress import REFUSED_ERRNO, Egress, egress_of
from tocsin.delivery.transport.http_session import AnswerLimits, ConnectionLostError, HttpAnswer, HttpSession
from tocsin.delivery.transport.outcome import DETAIL_LIMIT, of_http_status, of_reason
from tocsin.delivery.transport.request import Recorder, Request, Timeouts, Transport
from tocsin.delivery.transport.retry import parse_retry_after
from tocsin.model.message import Outcome, OutcomeReason
from tocsin.settings import ChannelSettings

KEPT_S = 15.0
"""Seconds for which a connection is kept that nothing is sent over."""

_REASON_LIMIT = 500

_WITHOUT_BODY = frozenset({"GET", "HEAD"})

Origin = tuple[str, str | None, int | None]


@asynccontextmanager
async def open_transport(settings: ChannelSettings, recorder: Recorder | None = None) -> AsyncIterator[Transport]:
    """Yield what makes requests, to the addresses that the settings allow; with a ``recorder`` nothing is sent."""
    if recorder is not None:
        yield recorder
        return
    async with HttpRequests(egress_of(settings.egress_allow)) as requests:
        yield requests


class HttpRequests(Transport):
    """Sends requests over one pool of connections; close it when done. ``resolver`` is the system's if omitted.

    A connection that nothing is sent over for ``kept_s`` seconds is closed.
    """

    def __init__(
        self,
        egress: Egress,
        *,
        user_agent: str = "Tocsin",
        resolver: AbstractResolver | None = None,
        kept_s: float = KEPT_S,
    ) -> None:
        self._connector = aiohttp.TCPConnector(
            limit=0, resolver=resolver or aiohttp.ThreadedResolver(), socket_factory=egress.open_socket
        )
        self._loop = asyncio.get_running_loop()
        self._user_agent = user_agent
        self._sessions: WeakSet[HttpSession] = WeakSet()
        self._idle = _IdleSessions(kept_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._idle.stop()
        for session in self._sessions:
            session.close()
        await self._connector.close()

    async def exchange(self, request: Request, *, now_ms: int) -> tuple[Outcome, bytes]:
        """Make one attempt and return its outcome, with what was read of the answer."""
        timeouts = request.timeouts
        limits = AnswerLimits(request.answer_bytes, timeouts.read_s, self._loop.time() + timeouts.total_s)
        try:
            answer = await self._answer_of(request, limits)
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
            suffix = "" if isinstance(error, ValueError) else f": {error}"  # it would repeat the address, token and all
            detail = clean_line(f"{type(error).__name__}{suffix}", limit=_REASON_LIMIT)
            return of_reason(_reason(error), detail=detail), b""
        return _outcome(answer, now_ms=now_ms), answer.body

    async def _answer_of(self, request: Request, limits: AnswerLimits) -> HttpAnswer:
        """Send a request and return its answer.

        A kept connection that the receiver had closed says nothing about the receiver: the request goes over another.
        """
        head = head_of(request, user_agent=self._user_agent)
        origin = (request.url.scheme, request.url.raw_host, request.url.port)
        while True:
            kept_session = self._idle.take(origin)
            session = kept_session or await self._open(request, limits.until_s)
            try:
                answer = await session.exchange(head, request.payload, limits)
            except ConnectionLostError as error:
                if kept_session is None or error.has_begun:
                    raise
                continue
            if session.is_open:
                self._idle.keep(origin, session)
            return answer

    async def _open(self, request: Request, until_s: float) -> HttpSession:
        """Open a connection to where a request goes."""
        opening = aiohttp.ClientRequest(request.method, request.url, loop=self._loop)
        async with asyncio.timeout_at(until_s):
            connection = await self._connector.connect(opening, [], _connect_timeout(request.timeouts))
        session = HttpSession(connection)
        self._sessions.add(session)
        return session


class _IdleSessions:
    """Sessions that wait for another request, by where they lead: the one that was used last is used first."""

    def __init__(self, kept_s: float) -> None:
        self._loop, self._kept_s = asyncio.get_running_loop(), kept_s
        self._sessions: dict[Origin, list[tuple[HttpSession, float]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def take(self, origin: Origin) -> HttpSession | None:
        """Return an open session, which is no longer kept; None if there is none."""
        kept_sessions = self._sessions.get(origin)
        while kept_sessions:
            session, _ = kept_sessions.pop()
            if session.is_open:
                return session
        return None

    def keep(self, origin: Origin, session: HttpSession) -> None:
        """Keep a session for a while."""
        self._sessions.setdefault(origin, []).append((session, self._loop.time()))
        if self._timer is None:
            self._timer = self._loop.call_later(self._kept_s, self._close_old)

    def stop(self) -> None:
        """Look after them no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _close_old(self) -> None:
        oldest_s = self._loop.time() - self._kept_s
        for session, since_s in [kept for sessions in self._sessions.values() for kept in sessions]:
            if since_s <= oldest_s:
                session.close()
        open_sessions = {
            origin: [kept for kept in sessions if kept[0].is_open] for origin, sessions in self._sessions.items()
        }
        self._sessions = {origin: sessions for origin, sessions in open_sessions.items() if sessions}
        self._timer = self._loop.call_later(self._kept_s, self._close_old) if self._sessions else None


def head_of(request: Request, *, user_agent: str) -> bytes:
    """Return what is sent before the payload of a request.

    Raises
    ------
    ValueError : it has a header that is none, or credentials both in its address and in a header
    """
    url, given_names = request.url, {name.lower() for name in request.headers}
    credentials = _credentials(url)
    if credentials and "authorization" in given_names:
        raise ValueError("credentials both in the address and in a header")
    defaults = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": "identity"} | credentials
    headers = {name: value for name, value in defaults.items() if name.lower() not in given_names} | request.headers
    lines = [f"{request.method} {url.raw_path_qs} HTTP/1.1", f"Host: {url.host_port_subcomponent}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if request.payload or request.method not in _WITHOUT_BODY:
        lines.append(f"Content-Length: {len(request.payload)}")
    head = "\n".join(lines)
    if head.count("\n") >= len(lines) or "\r" in head or "\0" in head:
        raise ValueError("a header holds a line break")
    return f"{head}\n\n".replace("\n", "\r\n").encode()


def _credentials(url: URL) -> dict[str, str]:
    """Return the header with the credentials in an address, if there are any."""
    if not (url.raw_user or url.raw_password):
        return {}
    pair = f"{url.user or ''}:{url.password or ''}".encode("latin-1")
    return {"Authorization": f"Basic {b64encode(pair).decode()}"}


def _connect_timeout(timeouts: Timeouts) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=timeouts.total_s, sock_connect=timeouts.connect_s)


def _outcome(answer: HttpAnswer, *, now_ms: int) -> Outcome:
    """Return the outcome of a response."""
    after_s = parse_retry_after(answer.retry_after, now_ms=now_ms)
    excerpt = answer.body[:DETAIL_LIMIT]
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
