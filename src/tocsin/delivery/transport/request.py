"""HTTP requests as channels make them, and what carries them: connections, or a recorder.

Next: ``delivery/transport/http_requests.py`` for connections, ``delivery/channels/rehearsal.py`` for what a recorder
took.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from yarl import URL

from tocsin.delivery.transport.egress import is_web_scheme
from tocsin.delivery.transport.outcome import DETAIL_LIMIT
from tocsin.model.message import Delivered, Outcome
from tocsin.model.subscription import CONNECT_S, READ_S, Destination

_GRANT = '{"ok":true,"user":{"id":"U0"},"access_token":"rehearsal","token_type":"bearer","expires_in":0}'
"""The answer of a receiver in a rehearsal: it grants an access token and knows a person, both of no use."""


class Timeouts(NamedTuple):
    """The longest that a request may take, in seconds; None: no limit of its own."""

    connect_s: float | None
    read_s: float | None
    total_s: float


@dataclass(frozen=True)
class Request:
    """One HTTP request, ready to go; of its answer ``answer_bytes`` are read."""

    method: str
    url: URL
    headers: dict[str, str]
    payload: bytes
    timeouts: Timeouts
    answer_bytes: int = DETAIL_LIMIT


@dataclass(frozen=True)
class Mail:
    """One mail, ready to go: the addresses of its envelope, and its bytes, in lines of ASCII."""

    sender: str
    recipient: str
    content: bytes


class Transport(Protocol):
    """Makes HTTP requests."""

    async def send(self, request: Request, *, now_ms: int) -> Outcome:
        """Make one attempt and return its outcome."""
        return (await self.exchange(request, now_ms=now_ms))[0]

    async def exchange(self, request: Request, *, now_ms: int) -> tuple[Outcome, bytes]:
        """Make one attempt and return its outcome, with what was read of the answer."""


class Recorder(Transport):
    """Takes what a channel sends in place of connections, and answers as a receiver that accepts it.

    ``sent`` are requests and mails, in order.
    """

    def __init__(self) -> None:
        self.sent: list[Request | Mail] = []

    async def exchange(self, request: Request, *, now_ms: int) -> tuple[Outcome, bytes]:
        """Record a request and return that it was delivered, with an answer."""
        self.sent.append(request)
        return Delivered(200, _GRANT), _GRANT.encode()

    async def send_mail(self, mail: Mail) -> str:
        """Record a mail and return the reply of a server."""
        self.sent.append(mail)
        return "recorded"

    async def close(self) -> None:
        """Close nothing: nothing was opened."""


def web_address(endpoint: str, query_params: dict[str, str] | None = None) -> URL | None:
    """Return the address of an endpoint; None if it is not an http or https address."""
    try:
        url = URL(endpoint.strip())
        return url.update_query(query_params or {}) if is_web_scheme(url.scheme) and url.host else None
    except ValueError:
        return None


def timeouts_of(destination: Destination) -> Timeouts:
    """Return a destination's timeouts, within what any destination may ask for."""
    connect_s = min(max(destination.timeout, CONNECT_S[0]), CONNECT_S[1])
    read_s = min(max(destination.read_timeout, READ_S[0]), READ_S[1])
    return Timeouts(connect_s, read_s, connect_s + read_s)
