"""Tests of the webhook channel against real receivers on loopback."""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import subprocess
from pathlib import Path

import pytest
from aiohttp import web
from tests.acceptance.worker.receivers import LOOPBACK, Answer, destination, receiver, speaking, talking
from tests.acceptance.worker.senders import webhook_sender
from tests.unit.delivery.events import MESSAGE_ID, NOW_MS, dispatch

from tocsin.delivery.channels.webhook.signature import is_signed
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.outcome import DETAIL_LIMIT
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.subscription import Destination

UNKNOWN_TO_SOME = frozenset({"localhost.", "127.0.0.1.", "%31%32%37.0.0.1", "[::1%25lo]", "[fe80::1%25eth0]"})
"""Spellings that some machines resolve and others know no address for."""


async def send_to(to: Destination, *, allow: tuple[str, ...] = LOOPBACK) -> Outcome:
    async with webhook_sender(egress_of(allow)) as channel:
        return await channel.send(dispatch(target="http://unused.invalid"), to, now_ms=NOW_MS)


def answer_with(status: int, headers: dict[str, str] | None = None, body: str = "") -> Answer:
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers=headers, text=body)

    return answer


async def test_one_event_arrives_signed_in_three_ways_and_says_why() -> None:
    arrivals: list[tuple[web.Request, bytes]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        arrivals.append((request, await request.read()))
        return web.Response(text="thanks")

    async with receiver(answer) as url:
        outcome = await send_to(destination(url + "/hook", secret_key="new-secret old-secret"))
    ((request, body),) = arrivals
    assert outcome == Delivered(200, "thanks")
    assert (request.method, request.path) == ("POST", "/hook")
    assert json.loads(body)["eventType"] == "entityUpdated"
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["webhook-id"] == MESSAGE_ID
    assert request.headers["X-Tocsin-Offset"] == "42"
    assert request.headers["Idempotency-Key"] == json.loads(body)["idempotencyKey"]
    assert request.headers["X-Tocsin-Reason"] == "you own it (alert schema changes)"
    assert request.headers["X-OpenMetadata-Signature"].startswith("sha256=")
    assert request.headers["X-OM-Signature"].startswith("sha256=")
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert is_signed(body, headers, "new-secret")
    assert is_signed(body, headers, "old-secret")


async def test_what_the_destination_adds_is_sent_and_what_is_ours_stays_ours() -> None:
    arrivals: list[web.Request] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        arrivals.append(request)
        return web.Response()

    async with receiver(answer) as url:
        await send_to(
            destination(
                url + "/hook?a=1",
                http_method="PUT",
                query_params={"b": "2 3", "token": "&"},
                headers={
                    "Authorization": "Bearer XXX",
                    "X-Evil": "a\r\nX-Injected: yes",
                    "Bad Name": "x",
                    "Webhook-Id": "forged",
                    "Host": "elsewhere",
                    "Content-Length": "1",
                },
                auth_type={"type": "bearer", "secretKey": "s"},
            )
        )
    (request,) = arrivals
    assert request.method == "PUT"
    assert dict(request.query) == {"a": "1", "b": "2 3", "token": "&"}
    assert request.headers["Authorization"] == "Bearer XXX"
    assert request.headers["X-Evil"] == "a X-Injected: yes"
    assert "X-Injected" not in request.headers
    assert request.headers["webhook-id"] == MESSAGE_ID
    assert request.headers["Host"].startswith("127.0.0.1")
    assert "X-OM-Signature" in request.headers


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (204, Delivered),
        (301, OutcomeReason.REDIRECT),
        (307, OutcomeReason.REDIRECT),
        (404, OutcomeReason.CLIENT_ERROR),
        (410, OutcomeReason.GONE),
        (429, OutcomeReason.RATE_LIMITED),
        (500, OutcomeReason.SERVER_ERROR),
    ],
)
async def test_the_answer_decides(status: int, expected: object) -> None:
    """Fault scenario 22."""
    async with receiver(answer_with(status, {"Location": "http://127.0.0.1:1/"})) as url:
        outcome = await send_to(destination(url))
    assert (Delivered if isinstance(outcome, Delivered) else outcome.reason) is expected
    assert outcome.status_code == status


async def test_redirects_are_not_followed() -> None:
    """Fault scenario 22."""
    calls: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        calls.append(request.path)
        return web.Response(status=302, headers={"Location": "/inside"})

    async with receiver(answer) as url:
        await send_to(destination(url + "/hook"))
    assert calls == ["/hook"]


async def test_retry_after_travels_with_the_outcome() -> None:
    async with receiver(answer_with(429, {"Retry-After": "77"})) as url:
        outcome = await send_to(destination(url))
    assert isinstance(outcome, Retry)
    assert outcome.after_s == 77.0


async def test_switching_protocols_is_no_success() -> None:
    async with speaking(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n") as url:
        outcome = await send_to(destination(url))
    assert isinstance(outcome, Rejected)
    assert outcome.reason is OutcomeReason.INFORMATIONAL


async def test_an_endless_answer_is_read_no_further_than_the_limit() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(b"x" * 65_536)
        return response

    async with receiver(answer) as url:
        outcome = await send_to(destination(url))
    assert isinstance(outcome, Delivered)
    assert len(outcome.detail) == DETAIL_LIMIT


async def test_who_only_ever_announces_an_answer_is_not_listened_to() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)
                await writer.drain()

    async with talking(talk) as url, asyncio.timeout(5):
        assert is_away(await send_to(destination(url, read_timeout=60)))
    twice = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    async with speaking(twice) as url:
        assert isinstance(await send_to(destination(url)), Delivered)


async def test_a_compressed_answer_is_not_unpacked() -> None:
    bomb = b"\x1f\x8b" + b"\x00" * 100
    async with speaking(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 102\r\n\r\n" + bomb) as url:
        outcome = await send_to(destination(url))
    assert isinstance(outcome, Delivered)
    assert len(outcome.detail) <= 102


async def test_a_success_whose_body_breaks_off_is_a_success() -> None:
    """Fault scenario 25."""
    async with speaking(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf") as url:
        assert isinstance(await send_to(destination(url)), Delivered)


async def test_silence_times_out_and_awaits_a_retry() -> None:
    async with speaking(b"", after=30.0) as url:
        outcome = await send_to(destination(url, read_timeout=0))  # clamped to one second
    assert isinstance(outcome, Retry)
    assert outcome.reason is OutcomeReason.TIMEOUT


def is_away(outcome: Outcome) -> bool:
    """Return whether the outcome is a failed connection, to be tried again."""
    return isinstance(outcome, Retry) and outcome.reason is OutcomeReason.CONNECTION_FAILED


@pytest.mark.parametrize("speech", [b"", b"220 smtp.example.com ESMTP\r\n", b"HTTP/1.1 20"])
async def test_hanging_up_babble_and_half_an_answer_are_failed_connections(speech: bytes) -> None:
    async with speaking(speech) as url:
        assert is_away(await send_to(destination(url)))


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_reset_is_a_failed_connection(scheme: str) -> None:
    async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        at_once = struct.pack("ii", 1, 0)  # close without waiting: the kernel sends a reset
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)

    async with talking(reset) as url:
        assert is_away(await send_to(destination(url.replace("http", scheme))))


async def test_nobody_listening_is_a_failed_connection() -> None:
    """Fault scenario 21."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert is_away(await send_to(destination(f"http://127.0.0.1:{unused.getsockname()[1]}")))


async def test_an_unknown_name_is_a_failed_connection() -> None:
    """Fault scenario 19."""
    assert is_away(await send_to(destination("http://nobody.invalid/hook")))


async def test_a_certificate_that_does_not_hold_is_a_failed_connection(tmp_path: Path) -> None:
    """Fault scenario 20."""
    files = (str(tmp_path / "key.pem"), str(tmp_path / "cert.pem"))
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=somebody.else", "-days", "2"]
    await asyncio.to_thread(subprocess.run, [*make, "-keyout", files[0], "-out", files[1]], check=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files[1], files[0])
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        outcome = await send_to(destination(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"))
    assert is_away(outcome)
    assert "ertificate" in outcome.detail


@pytest.mark.parametrize(
    "endpoint",
    ["ftp://example.com/x", "file:///etc/passwd", "not a url", "http://", "//host/x", "http://[::1", "/hook"],
)
async def test_what_is_no_web_address_fails_at_once(endpoint: str) -> None:
    outcome = await send_to(destination(endpoint))
    assert isinstance(outcome, Rejected)
    assert outcome.reason is OutcomeReason.BAD_URL


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "user:pw@127.0.0.1",
        "169.254.169.254",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:7f00:1::]",
        "10.0.0.1",
        "100.100.100.200",
        "127.0.1",
        "127.0.0.1.",
        "017700000001",
        "0x7f.1",
        "0x7F.0x0.0x0.0x1",
        "0177.0x0.0.1",
        "00000177.0.0.1",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "3232235777",
        "0",
        "%31%32%37.0.0.1",
        "①②⑦.0.0.1",
        "127。0。0。1",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::1%25lo]",
        "[fe80::1%25eth0]",
        "[::127.0.0.1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:a9fe:a9fe::1]",
        "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
        "[fd00:ec2::254]",
        "[fec0::1]",
        "[ff02::1]",
        "168.63.129.16",
        "172.31.255.255",
        "192.168.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "example.com@127.0.0.1",
        "example.com:80@127.0.0.1",
    ],
)
async def test_no_spelling_of_an_inner_address_is_connected_to(host: str) -> None:
    paths: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        paths.append(request.path)
        return web.Response()

    async with receiver(answer) as url:
        port = url.rpartition(":")[2]
        outcome = await send_to(destination(f"http://{host}:{port}/hook"), allow=())
    assert isinstance(outcome, Rejected | Retry)
    further_reasons = {OutcomeReason.CONNECTION_FAILED} if host in UNKNOWN_TO_SOME else set()
    assert outcome.reason in {OutcomeReason.EGRESS_REFUSED, OutcomeReason.BAD_URL, *further_reasons}
    assert paths == []


async def test_a_kept_connection_that_the_receiver_closed_is_no_failure() -> None:
    calls: list[int] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        calls.append(length)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await reader.read(1)  # the next request's first byte: hang up on it

    async with talking(talk) as url, webhook_sender(egress_of(LOOPBACK)) as channel:
        to = destination(url)
        first = await channel.send(dispatch(), to, now_ms=NOW_MS)
        second = await channel.send(dispatch(), to, now_ms=NOW_MS)
    assert isinstance(first, Delivered)
    assert isinstance(second, Delivered)
    assert len(calls) == 2
