"""Tests of receivers that misbehave on the wire: an attempt ends in seconds, with its outcome."""

from __future__ import annotations

import asyncio
import gzip
import time
import tracemalloc
import zlib
from dataclasses import dataclass, field

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from tests.acceptance.worker.receivers import LOOPBACK, Talk, destination, speaking, talking
from tests.acceptance.worker.senders import webhook_sender
from tests.unit.delivery.events import NOW_MS, dispatch

from tocsin.delivery.channels.webhook.sender import WebhookSender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.delivery.transport.outcome import DETAIL_LIMIT
from tocsin.model.message import Delivered, OutcomeReason, Rejected
from tocsin.model.subscription import Destination

WITHIN_S = 6.0
"""An attempt's timeouts (a second to connect, one to read) and what a busy machine adds."""

MOST_BYTES = 8_000_000
OK = b"HTTP/1.1 200 OK\r\n"


async def outcome_of(to: Destination) -> object:
    """Make one attempt; return its reason, ``ok`` if it was delivered, having checked its time and memory."""
    async with webhook_sender(egress_of(LOOPBACK)) as channel:
        tracemalloc.start()
        try:
            began = time.monotonic()
            outcome = await channel.send(dispatch(), to, now_ms=NOW_MS)
            assert time.monotonic() - began < WITHIN_S
            assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
        finally:
            tracemalloc.stop()
    assert len(outcome.detail) <= DETAIL_LIMIT
    return OutcomeReason.OK if isinstance(outcome, Delivered) else outcome.reason


def drip(head: bytes, drop: bytes) -> Talk:
    """Answer ``head`` and then ``drop`` for ever, ten times a second: no single read takes long."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.1)

    return talk


def flood(head: bytes, wave: bytes) -> Talk:
    """Answer ``head`` and then ``wave`` for ever, as fast as it is taken."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        while True:
            writer.write(wave)
            await writer.drain()

    return talk


async def take_nothing(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def resetting_after_the_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))
    writer.transport.abort()


CHUNK = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
FAULTS: dict[str, tuple[Talk, OutcomeReason]] = {
    "never reads nor answers": (take_nothing, OutcomeReason.TIMEOUT),
    "resets after the body": (resetting_after_the_body, OutcomeReason.CONNECTION_FAILED),
    "drips its status line": (drip(b"HTTP/1.1 200 ", b"x"), OutcomeReason.TIMEOUT),
    "drips its headers": (drip(OK, b"X-A: b\r\n"), OutcomeReason.TIMEOUT),
    "drips its body": (drip(OK + b"Content-Length: 9999\r\n\r\n", b"x"), OutcomeReason.OK),
    "drips the body of an error": (drip(b"HTTP/1.1 503 No\r\n\r\n", b"x"), OutcomeReason.SERVER_ERROR),
    "floods one header": (flood(OK + b"X-A: ", b"x" * 65_536), OutcomeReason.CONNECTION_FAILED),
    "floods its body": (flood(OK + b"\r\n", b"x" * 65_536), OutcomeReason.OK),
    "floods chunks": (flood(OK + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK), OutcomeReason.OK),
    "states a length beyond reason": (
        flood(OK + b"Content-Length: 9" + b"0" * 17 + b"\r\n\r\n", b"x" * 65_536),
        OutcomeReason.OK,
    ),
    "breaks its chunks": (
        drip(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b""),
        OutcomeReason.CONNECTION_FAILED,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_ends_the_attempt_with_its_outcome(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault scenarios 21 and 25."""
    talk, expected = FAULTS[fault]
    if fault.startswith("drips"):  # for ever, so each of these attempts takes all of its time
        monkeypatch.setattr("tocsin.delivery.transport.request.CONNECT_S", (0.1, 0.2))
        monkeypatch.setattr("tocsin.delivery.transport.request.READ_S", (0.1, 0.4))
    async with talking(talk) as url:
        assert await outcome_of(destination(url, timeout=1, read_timeout=1)) is expected


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_bomb_is_kept_as_it_came(encoding: str) -> None:
    """Fault scenario 21."""
    zeros = b"\0" * 50_000_000
    bomb = gzip.compress(zeros) if encoding == "gzip" else zlib.compress(zeros)
    head = OK + f"Content-Encoding: {encoding}\r\nContent-Length: {len(bomb)}\r\n\r\n".encode()
    async with speaking(head + bomb) as url:
        assert await outcome_of(destination(url)) is OutcomeReason.OK


async def test_a_tls_handshake_that_never_ends_is_a_timeout() -> None:
    async with talking(take_nothing) as url:
        to = destination(url.replace("http", "https"), timeout=1, read_timeout=1)
        assert await outcome_of(to) is OutcomeReason.TIMEOUT


async def test_a_receiver_without_tls_is_a_failed_connection() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(OK + b"Content-Length: 0\r\n\r\n")
        await writer.drain()

    async with talking(talk) as url:
        to = destination(url.replace("http", "https"))
        assert await outcome_of(to) is OutcomeReason.CONNECTION_FAILED


@dataclass
class ChangingNames(AbstractResolver):
    """A name server that gives each lookup the next of its answers, and the last one from there on."""

    answers: list[list[str]]
    hosts: list[str] = field(default_factory=list)

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        addresses = self.answers[min(len(self.hosts), len(self.answers) - 1)]
        self.hosts.append(host)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=2, proto=0, flags=0) for address in addresses
        ]

    async def close(self) -> None:
        """Close nothing."""


async def test_the_address_that_was_checked_is_the_one_that_is_connected_to() -> None:
    """Fault scenario 19."""
    names = ChangingNames([["127.0.0.1"], ["127.0.0.2"]])
    async with speaking(OK + b"Content-Length: 0\r\nConnection: close\r\n\r\n") as url:
        port = url.rpartition(":")[2]
        to, egress = destination(f"http://changing.example.org:{port}/hook"), egress_of((f"127.0.0.1:{port}",))
        async with HttpRequests(egress, resolver=names) as requests:
            first = await WebhookSender(requests, source="").send(dispatch(), to, now_ms=NOW_MS)
        assert (type(first), len(names.hosts)) == (Delivered, 1), "a second lookup may give another address"
        async with HttpRequests(egress, resolver=names) as requests:
            second = await WebhookSender(requests, source="").send(dispatch(), to, now_ms=NOW_MS)
    assert isinstance(second, Rejected)
    assert second.reason is OutcomeReason.EGRESS_REFUSED


async def test_of_several_addresses_the_inner_ones_are_left_out() -> None:
    """Fault scenario 19."""
    async with speaking(OK + b"Content-Length: 0\r\n\r\n") as url:
        port = url.rpartition(":")[2]
        to, egress = destination(f"http://mixed.example.org:{port}/hook"), egress_of((f"127.0.0.1:{port}",))
        async with HttpRequests(egress, resolver=ChangingNames([["169.254.169.254", "127.0.0.1"]])) as requests:
            outcome = await WebhookSender(requests, source="").send(dispatch(), to, now_ms=NOW_MS)
    assert isinstance(outcome, Delivered)
