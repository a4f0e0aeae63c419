"""Connection limits of a process: their number, and the time for sending a request and reading the response.

uvicorn waits without limit for the end of a header and for a slow reader. If there are too many connections, the one
that has been idle longest is closed: active clients are served, idle connections are dropped.
Bodies are limited in ``server/http/bodies.py``. Next: ``server/app.py``.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from http import HTTPStatus
from typing import Any

import orjson
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from tocsin.settings import TrafficSettings

_IPV6_NETWORK = 64
_MOST_UNREAD = 32 * 1024 * 1024
"""Bytes of a body that are read after the response: a client that gets 413 has often sent the body already."""


def _refusal(status: HTTPStatus, message: str, *headers: str) -> bytes:
    """Return a whole response in the shape of all errors, before there is a request to respond to."""
    body = orjson.dumps({"code": int(status), "message": message})
    lines = [
        f"HTTP/1.1 {int(status)} {status.phrase}",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "connection: close",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


_FULL = _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "Too many connections; wait and try again.", "retry-after: 1")
_LARGE = _refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large; see header_bytes.")
_MALFORMED = _refusal(
    HTTPStatus.BAD_REQUEST,
    "This is no HTTP/1.1 request: send a shorter address, percent-encode what it may not contain, check the headers.",
)


class Connections:
    """The open connections of one process; those that wait for a request, in the order in which they began to.

    Trusted proxies are sources that many people come through: they may have as many as there are in all.
    """

    def __init__(self, settings: TrafficSettings) -> None:
        self.settings = settings
        self._open: set[GuardedProtocol] = set()
        self._waiting: dict[GuardedProtocol, None] = {}
        self._per_source: Counter[str] = Counter()
        self._proxies = [ipaddress.ip_network(one, strict=False) for one in settings.trusted_proxies]

    def enter(self, connection: GuardedProtocol) -> bool:
        """Take a connection in, which waits for a request; False if nobody can make room for it."""
        source = connection.source
        if self._per_source[source] >= self.settings.connections_per_source and not self._is_proxy(source):
            if not self._make_room(source):
                return False
        elif len(self._open) >= self.settings.connections and not self._make_room(None):
            return False
        self._open.add(connection)
        self._per_source[source] += 1
        self.wait(connection)
        return True

    def leave(self, connection: GuardedProtocol) -> None:
        """Forget a connection."""
        if connection in self._open:
            self._open.discard(connection)
            self._waiting.pop(connection, None)
            self._per_source[connection.source] -= 1
            if not self._per_source[connection.source]:
                del self._per_source[connection.source]

    def wait(self, connection: GuardedProtocol) -> None:
        """Note that a connection waits for a request from now on."""
        if connection in self._open:
            self._waiting.setdefault(connection)

    def serve(self, connection: GuardedProtocol) -> None:
        """Note that a connection has asked, and is answered."""
        self._waiting.pop(connection, None)

    def _make_room(self, source: str | None) -> bool:
        """Let go of the connection (of a source) that has waited longest."""
        oldest = next((one for one in self._waiting if source in (None, one.source)), None)
        if oldest is None:
            return False
        self.leave(oldest)
        oldest.transport.abort()
        return True

    def _is_proxy(self, source: str) -> bool:
        try:
            address = ipaddress.ip_network(source)
        except ValueError:
            return not source  # a socket of this machine has no address
        return any(address.version == one.version and address.subnet_of(one) for one in self._proxies)  # type: ignore[arg-type]  # of one version


class GuardedProtocol(HttpToolsProtocol):
    """One HTTP connection with a time limit on each header, each unread body, and each answer that nobody reads."""

    def __init__(
        self,
        connections_of_process: Connections,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # Any: uvicorn's own
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.source = ""
        self._guard, self._settings = connections_of_process, connections_of_process.settings
        self._in_body = False
        self._header_bytes = self._unread_bytes = 0
        self._header_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        """Accept the connection, or respond that there are too many."""
        super().connection_made(transport)
        self.source = source_of(self.client[0]) if self.client else ""
        if self._guard.enter(self):
            self._start_header_timer()
        else:
            transport.write(_FULL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._guard.leave(self)
        self._stop(header=True, write=True)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; what is no request yet has a limited time and size."""
        if self.transport.is_closing():
            return
        was_in_body = self._in_body
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._guard.serve(self)
            self._stop(header=True)
            return
        self._start_header_timer()
        if was_in_body or self._in_body:  # what ends a body that nobody wanted is no header yet
            self._unread_bytes += len(data)
        else:
            self._header_bytes += len(data)
        if self._unread_bytes > _MOST_UNREAD:
            self.transport.abort()
        elif self._header_bytes > self._settings.header_bytes:
            self.transport.write(_LARGE)
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Respond to what cannot be read as a request, in the shape of all errors."""
        del msg  # uvicorn's own text, always the same
        self.transport.write(_MALFORMED)
        self.transport.close()

    def on_headers_complete(self) -> None:
        """Begin a body, which has a time of its own."""
        self._in_body, self._header_bytes, self._unread_bytes = True, 0, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a body."""
        self._in_body = False
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:
            self._stop(header=True)  # the rest of a body that nobody wanted; the next header has its own time

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if self.cycle is None or self.cycle.response_complete:
            self._guard.wait(self)
            if self._in_body:
                self._start_header_timer()

    def pause_writing(self) -> None:
        """Start the timeout for a slow reader of the response."""
        super().pause_writing()
        self._write_timer = self.loop.call_later(self._settings.write_timeout_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Take the limit away: they read again."""
        super().resume_writing()
        self._stop(write=True)

    def _start_header_timer(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self._settings.header_timeout_s, self.transport.abort)

    def _stop(self, *, header: bool = False, write: bool = False) -> None:
        if header and self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None
        if write and self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def source_of(address: str) -> str:
    """Return the source that an address belongs to: itself, or the network that an IPv6 customer has whole."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:60]
    if isinstance(ip, ipaddress.IPv6Address):
        mapped = ip.ipv4_mapped
        return str(mapped or ipaddress.ip_network((ip, _IPV6_NETWORK), strict=False))
    return str(ip)
