"""Tests of connections that carry several requests: when one is kept, and what a receiver may not do to the next."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from tests.acceptance.worker.receivers import LOOPBACK, talking
from yarl import URL

from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests, head_of
from tocsin.delivery.transport.request import Request, Timeouts
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Rejected, Retry

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
WITHIN_S = 10.0


@dataclass
class Talker:
    """Answers each request with the next of its answers, then hangs up after the last, and counts connections."""

    answers: list[bytes]
    connection_count: int = 0
    heads: list[str] = field(default_factory=list)
    is_left: asyncio.Event = field(default_factory=asyncio.Event)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take requests until the sender closes the connection, or there is no answer left."""
        self.connection_count += 1
        while self.answers:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                await reader.readexactly(int(head.partition("Content-Length: ")[2].partition("\r\n")[0]))
                self.heads.append(head)
                writer.write(self.answers.pop(0))
                await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                self.is_left.set()
                return


@dataclass
class Exchanges:
    """Requests to a talker over one pool of connections."""

    url: str
    requests: HttpRequests

    async def send(self) -> Outcome:
        """Send a request; return its outcome."""
        return await self.requests.send(request_to(self.url), now_ms=0)


@asynccontextmanager
async def exchanges_with(talker: Talker, *, kept_s: float = 60.0) -> AsyncIterator[Exchanges]:
    """Yield what sends requests to a talker."""
    async with talking(talker.talk) as url, HttpRequests(egress_of(LOOPBACK), kept_s=kept_s) as requests:
        yield Exchanges(url, requests)


def request_to(url: str, headers: dict[str, str] | None = None) -> Request:
    return Request("POST", URL(url), headers or {}, b"{}", Timeouts(5.0, 5.0, 5.0))


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    ],
)
async def test_an_answer_that_ends_by_itself_leaves_the_connection_to_the_next_request(answer: bytes) -> None:
    talker = Talker([answer, OK])
    async with exchanges_with(talker) as exchanges:
        outcomes = [await exchanges.send(), await exchanges.send()]
    assert outcomes[1] == Delivered(200, "ok")
    assert talker.connection_count == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Len",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nnoise",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + b"x" * 2_000_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_what_follows_an_answer_is_no_answer_to_the_next_request(answer: bytes) -> None:
    talker = Talker([answer, OK])
    async with exchanges_with(talker) as exchanges:
        await exchanges.send()
        assert await exchanges.send() == Delivered(200, "ok")
    assert talker.connection_count == 2


async def test_what_comes_between_two_requests_ends_the_connection() -> None:
    talker = Talker([OK, OK])
    may_say_more = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if talker.connection_count:
            await talker.talk(reader, writer)
            return
        async with asyncio.TaskGroup() as both:
            both.create_task(talker.talk(reader, writer))
            await may_say_more.wait()
            writer.write(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")

    async with talking(talk) as url, HttpRequests(egress_of(LOOPBACK)) as requests:
        exchanges = Exchanges(url, requests)
        assert await exchanges.send() == Delivered(200, "ok")
        may_say_more.set()
        async with asyncio.timeout(WITHIN_S):
            await talker.is_left.wait()
        assert await exchanges.send() == Delivered(200, "ok")
    assert talker.connection_count == 2


async def test_a_request_is_not_sent_again_once_its_answer_has_begun() -> None:
    talker = Talker([OK, b"HTTP/1.1 20"])
    async with exchanges_with(talker) as exchanges:
        await exchanges.send()
        outcome = await exchanges.send()
    assert isinstance(outcome, Retry)
    assert outcome.reason is OutcomeReason.CONNECTION_FAILED
    assert len(talker.heads) == 2


async def test_a_connection_that_nothing_is_sent_over_is_closed() -> None:
    talker = Talker([OK, OK])
    async with exchanges_with(talker, kept_s=0.01) as exchanges:
        await exchanges.send()
        async with asyncio.timeout(WITHIN_S):
            await talker.is_left.wait()


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    async with exchanges_with(Talker([b"HTTP/1.1 200 OK\r\n\r\nhello"])) as exchanges:
        assert await exchanges.send() == Delivered(200, "hello")


async def test_retry_after_of_an_announcement_is_not_that_of_the_answer() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nRetry-After: 99\r\n\r\n"
    answer = early + b"HTTP/1.1 503 No\r\nretry-after: 7\r\nRetry-After: 8\r\nContent-Length: 0\r\n\r\n"
    async with exchanges_with(Talker([answer])) as exchanges:
        outcome = await exchanges.send()
    assert isinstance(outcome, Retry)
    assert outcome.after_s == 7.0


async def test_a_header_with_a_line_break_is_not_sent() -> None:
    talker = Talker([OK])
    async with talking(talker.talk) as url, HttpRequests(egress_of(LOOPBACK)) as requests:
        outcome = await requests.send(request_to(url, {"X-A": "b\r\nX-C: d"}), now_ms=0)
    assert isinstance(outcome, Rejected)
    assert outcome.reason is OutcomeReason.BAD_URL
    assert talker.heads == []


def test_credentials_in_an_address_become_a_header() -> None:
    head = head_of(request_to("http://ana:s%20cret@example.org:8080/a%20b?c=d#e"), user_agent="Tocsin")
    lines = head.decode().split("\r\n")
    assert lines[:2] == ["POST /a%20b?c=d HTTP/1.1", "Host: example.org:8080"]
    assert "Authorization: Basic YW5hOnMgY3JldA==" in lines
    with pytest.raises(ValueError, match="both"):
        head_of(request_to("http://ana@example.org/", {"authorization": "Bearer x"}), user_agent="Tocsin")


def test_headers_of_a_request_replace_those_of_every_request() -> None:
    head = head_of(request_to("https://[::1]/", {"user-agent": "mine", "X-Name": "ü"}), user_agent="Tocsin").decode()
    assert "Tocsin" not in head
    assert "\r\nHost: [::1]\r\n" in head
    assert head.endswith("user-agent: mine\r\nX-Name: ü\r\nContent-Length: 2\r\n\r\n")
