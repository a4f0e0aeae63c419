"""Development receiver for notifications: a mail server and a webhook receiver in one process.

Each arrival is one printed line; the last 200 are at ``GET /received``. Loopback only; for
development and tests, not for production. Next: ``delivery/channels``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from email import message_from_bytes
from email.policy import default
from typing import Any

from aiohttp import web
from aiosmtpd.smtp import SMTP, Envelope, Session

from tocsin.clock import Clock, SystemClock
from tocsin.delivery.channels.webhook.signature import is_signed
from tocsin.delivery.lines import clean_line

KEPT_COUNT = 200
"""How many arrivals can be read back."""

_BODY_LIMIT = 1_000_000
_WHY = re.compile(r"You receive this because (.+?)\.?\s*$", re.M)


@dataclass(frozen=True)
class ReceivedMessage:
    """One thing that arrived: ``kind`` is mail or webhook, ``line`` is what is printed of it."""

    kind: str
    at_ms: int
    line: str
    fields: Mapping[str, object]


class Receiver:
    """What arrived so far, newest last. ``show`` is given one line for each arrival."""

    def __init__(self, show: Callable[[str], None], *, secret: str | None = None, clock: Clock | None = None) -> None:
        self._show = show
        self._secret = secret
        self._clock = clock or SystemClock()
        self._kept: deque[ReceivedMessage] = deque(maxlen=KEPT_COUNT)

    def arrivals(self) -> list[dict[str, object]]:
        """Return what arrived as plain values, oldest first."""
        return [{"kind": one.kind, "at": one.at_ms, "line": one.line, **one.fields} for one in self._kept]

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802  aiosmtpd's name
        """Take one mail."""
        raw = envelope.content if isinstance(envelope.content, bytes) else str(envelope.content).encode()
        message = message_from_bytes(raw, policy=default)
        plain = message.get_body(("plain",))
        text = plain.get_content() if plain is not None else ""
        because = " ".join(match.group(1).split()) if (match := _WHY.search(text)) else ""
        receivers, subject = ", ".join(envelope.rcpt_tos), str(message["Subject"])
        self._keep(
            "mail",
            f'mail     {receivers}  "{subject}"' + (f"  (because {because})" if because else ""),
            to=list(envelope.rcpt_tos),
            subject=subject,
            message_id=str(message["Message-ID"]),
            because=because,
            text=text,
        )
        return "250 Message accepted"

    async def take_webhook(self, request: web.Request) -> web.Response:
        """Take one webhook request."""
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        events = _events_in(body)
        event = events[0] if events else {}
        signature = self._signature_verdict(body, headers)
        name = event.get("entityFullyQualifiedName") or event.get("entityId") or ""
        self._keep(
            "webhook",
            f"webhook  {request.path}  {event.get('eventType', '?')} {name}  "
            f"webhook-id {headers.get('webhook-id', 'none')}  signature {signature}",
            path=request.path,
            event=event,
            events=events,
            headers=headers,
            webhook_id=headers.get("webhook-id"),
            signature=signature,
        )
        return web.Response(text="received\n")

    async def list_received(self, _request: web.Request) -> web.Response:
        """Answer what arrived."""
        return web.json_response({"received": self.arrivals()})

    def _keep(self, kind: str, line: str, **fields: object) -> None:
        arrival = ReceivedMessage(kind, self._clock.now_ms(), clean_line(line, limit=400), fields)
        self._kept.append(arrival)
        self._show(arrival.line)

    def _signature_verdict(self, body: bytes, headers: dict[str, str]) -> str:
        if "webhook-signature" not in headers:
            return "none"
        if self._secret is None:
            return "not checked"
        return "ok" if is_signed(body, headers, self._secret) else "WRONG"


@contextlib.asynccontextmanager
async def receiving(room: Receiver, http_port: int, smtp_port: int) -> AsyncIterator[tuple[int, int]]:
    """Receive on loopback while the context lasts; yield the two ports (0 asks for free ones)."""
    app = web.Application(client_max_size=_BODY_LIMIT)
    app.router.add_get("/received", room.list_received)
    app.router.add_route("*", "/{path:.*}", room.take_webhook)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", http_port).start()
        loop = asyncio.get_running_loop()
        mail = await loop.create_server(lambda: SMTP(room, enable_SMTPUTF8=True), "127.0.0.1", smtp_port)
        try:
            yield runner.addresses[0][1], mail.sockets[0].getsockname()[1]
        finally:
            mail.close()
    finally:
        await runner.cleanup()


def main(http_port: int, smtp_port: int, secret: str | None = None) -> None:
    """Receive on loopback until SIGINT or SIGTERM, one printed line per arrival."""
    asyncio.run(_until_signalled(http_port, smtp_port, secret))


async def _until_signalled(http_port: int, smtp_port: int, secret: str | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop.set)
    room = Receiver(_print_line, secret=secret)
    async with receiving(room, http_port, smtp_port) as (http, smtp):
        _print_line(f"receiving webhooks at http://127.0.0.1:{http}, mail at 127.0.0.1:{smtp}")
        await stop.wait()


def _print_line(line: str) -> None:
    print(line, flush=True)  # noqa: T201  its lines are what this program is for


def _events_in(body: bytes) -> list[dict[str, Any]]:  # Any: whatever JSON was sent
    """Return the event that a request brings, or those of an array."""
    try:
        content = json.loads(body)
    except ValueError:
        return []
    return [one for one in (content if isinstance(content, list) else [content]) if isinstance(one, dict)]
