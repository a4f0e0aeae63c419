"""Receivers on loopback that fail in every way, each under a path of its own, and note what they were sent."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy

from aiohttp import web
from aiosmtpd.smtp import SMTP, Envelope

_BOMB = gzip.compress(b"\0" * 20_000_000)
_TAKEN = (200, 201, 202)


@dataclass(frozen=True)
class Arrival:
    """One request or mail: what identifies its message, which event it is about, and whether it was accepted."""

    message: str
    event: str
    is_taken: bool


@dataclass
class HostileReceivers:
    """What arrived, by path of a webhook or address of a mail; ``port`` is that of HTTP, ``mail_port`` that of SMTP."""

    port: int = 0
    mail_port: int = 0
    arrived: dict[str, list[Arrival]] = field(default_factory=lambda: defaultdict(list))
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def url(self, path: str, scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.port}/{path}"

    def accepted_arrivals(self, path: str) -> list[Arrival]:
        return [one for one in self.arrived[path] if one.is_taken]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path.strip("/")
        body = await request.read()
        response = await ANSWERS[path.partition("/")[0]](self, request)
        event = _event_of(body) if "webhook-id" in request.headers else ""
        is_taken = response is not None and response.status in _TAKEN
        self.arrived[path].append(Arrival(request.headers.get("webhook-id", ""), event, is_taken))
        if response is None:
            return web.Response()  # nobody hears it: the connection is gone
        return response

    async def handle_RCPT(self, *given: object) -> str:  # noqa: N802  aiosmtpd's name
        _server, _session, envelope, address, _options = given
        assert isinstance(envelope, Envelope) and isinstance(address, str)
        if address.startswith("refused"):
            return "550 no such user"
        if address.startswith("busy"):
            return "450 try later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: object, _session: object, envelope: Envelope) -> str:  # noqa: N802
        is_taken = self.chance.random() < 0.8
        identity = str(message_from_bytes(envelope.original_content or b"", policy=policy.default)["Message-ID"])
        for address in envelope.rcpt_tos:
            self.arrived[address].append(Arrival(identity.strip("<>").partition("@")[0], "", is_taken))
        return "250 accepted" if is_taken else "451 greylisted"


Answer = Callable[[HostileReceivers, web.Request], Awaitable[web.StreamResponse | None]]


def _answer_with(status: int, text: str = "", **headers: str) -> Answer:
    async def answer(_all: HostileReceivers, _request: web.Request) -> web.Response:
        return web.Response(status=status, text=text, headers=headers)

    return answer


async def _answer_or_fail(receivers: HostileReceivers, _request: web.Request) -> web.Response:
    return web.Response(status=503 if receivers.chance.random() < 0.3 else 200)


async def _limit_rate(receivers: HostileReceivers, _request: web.Request) -> web.Response:
    is_full = receivers.chance.random() < 0.3
    return web.Response(status=429 if is_full else 200, headers={"Retry-After": "1"} if is_full else {})


async def _reset(_all: HostileReceivers, request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


async def _answer_late(_all: HostileReceivers, _request: web.Request) -> web.Response:
    await asyncio.sleep(30)
    return web.Response(status=500)


async def _endless(_all: HostileReceivers, request: web.Request) -> web.StreamResponse:
    return await _stream_pieces(request, 500, b"x" * 65_536, 0.0)


async def _drip(_all: HostileReceivers, request: web.Request) -> web.StreamResponse:
    return await _stream_pieces(request, 500, b"x", 0.2)


async def _stream_pieces(request: web.Request, status: int, piece: bytes, pause_s: float) -> web.StreamResponse:
    """Answer for as long as somebody listens."""
    response = web.StreamResponse(status=status)
    await response.prepare(request)
    try:
        while True:
            await response.write(piece)
            await asyncio.sleep(pause_s)
    except (ConnectionError, asyncio.CancelledError):
        return response


async def _cut(_all: HostileReceivers, request: web.Request) -> web.StreamResponse:
    """Accept, announce a body, and hang up in the middle of it."""
    response = web.StreamResponse(status=200, headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b"half")
    if request.transport is not None:
        request.transport.close()
    return response


ANSWERS: dict[str, Answer] = {
    "ok": _answer_with(200, "ok"),
    "flapping": _answer_or_fail,
    "down": _answer_with(503),
    "missing": _answer_with(404),
    "redirect": _answer_with(302, Location="http://127.0.0.1:1/"),
    "limited": _limit_rate,
    "reset": _reset,
    "hanging": _answer_late,
    "endless": _endless,
    "dripping": _drip,
    "cut": _cut,
    "notok": _answer_with(200, json.dumps({"ok": False, "error": "fatal_error"})),
    "teams": _answer_with(202),
    "space": _answer_with(200, json.dumps({"name": "spaces/A/messages/1"})),
}


def _event_of(body: bytes) -> str:
    return str(json.loads(body)["id"])


async def _bomb(_all: HostileReceivers, _request: web.Request) -> web.Response:
    return web.Response(status=200, body=_BOMB, headers={"Content-Encoding": "gzip"})


ANSWERS["bomb"] = _bomb


@contextmanager
def hostile_receivers() -> Iterator[HostileReceivers]:
    """Run the receivers in a thread of their own while the context lasts."""
    receivers, ready, loop = HostileReceivers(), threading.Event(), asyncio.new_event_loop()
    ending = asyncio.Event()

    async def serve() -> None:
        app = web.Application(client_max_size=2_000_000)
        app.router.add_route("*", "/{path:.*}", receivers.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        mail = await loop.create_server(lambda: SMTP(receivers, enable_SMTPUTF8=True), "127.0.0.1", 0)
        receivers.port, receivers.mail_port = runner.addresses[0][1], mail.sockets[0].getsockname()[1]
        ready.set()
        await ending.wait()
        mail.close()
        await runner.cleanup()
        other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in other_tasks:
            task.cancel()
        await asyncio.gather(*other_tasks, return_exceptions=True)

    def run() -> None:
        loop.run_until_complete(serve())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield receivers
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(10)
