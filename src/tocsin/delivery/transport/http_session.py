"""HTTP session: requests one after the other over one connection, and their answers, read as far as they are asked for.

Source: RFC 9112; llhttp reads the answers. Next: ``delivery/transport/http_requests.py`` opens connections.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import httptools
from aiohttp.connector import Connection

MOST_ANNOUNCED = 10
"""Interim answers (1xx) that a receiver may send before its answer."""

_HEAD_BYTES = 64 * 1024
"""Most bytes that are read before an answer's body."""

_FRAME_BYTES = 16
"""Most bytes that are read for each byte of a body: those that say how long its chunks are come with it."""

_SWITCHING = 101


class ConnectionLostError(ConnectionError):
    """The connection ended; ``has_begun``: the answer to the request had begun."""

    def __init__(self, why: str, *, has_begun: bool = False) -> None:
        super().__init__(why)
        self.has_begun = has_begun


class AnswerError(ConnectionError):
    """What came is no answer of HTTP, or one that is too long."""


class HttpAnswer(NamedTuple):
    """What a receiver answered, as far as it was read; ``retry_after`` is that header."""

    status: int
    retry_after: str | None
    body: bytes


class AnswerLimits(NamedTuple):
    """How much of a body is read, how long nothing may come, in seconds, and until when, by the loop's clock."""

    body_bytes: int
    silence_s: float | None
    until_s: float


class HttpSession(asyncio.Protocol):
    """Requests over one connection, which this takes over from the client that has opened it."""

    def __init__(self, connection: Connection) -> None:
        if connection.transport is None:
            raise ConnectionLostError("the connection was lost at once")
        self._connection, self._transport = connection, connection.transport
        self._loop = asyncio.get_running_loop()
        self._limits = AnswerLimits(0, None, 0.0)
        self._reader = _AnswerReader()
        self._arrival: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._heard_s = 0.0
        self.is_open = True
        self._transport.set_protocol(self)

    async def exchange(self, head: bytes, payload: bytes, limits: AnswerLimits) -> HttpAnswer:
        """Send a request and return its answer. One whose body breaks off is an answer all the same.

        Raises
        ------
        ConnectionLostError, AnswerError, TimeoutError : there is no answer; the session has ended
        """
        if not self.is_open:
            raise ConnectionLostError("the receiver closed the connection")
        self._limits = limits
        self._reader.begin(limits.body_bytes)
        self._arrival, self._heard_s = self._loop.create_future(), self._loop.time()
        self._transport.writelines((head, payload))
        self._watch()
        try:
            await self._arrival
            return self._reader.answer
        finally:
            self._arrival = None
            if self._timer is not None:
                self._timer.cancel()
            if not self._reader.may_go_on:
                self.close()

    def close(self) -> None:
        """End the session at once."""
        if self.is_open:
            self.is_open = False
            self._transport.abort()
            self._connection.close()

    def data_received(self, data: bytes) -> None:
        """Read what has arrived; what nobody has asked for ends the session."""
        arrival = self._arrival
        if arrival is None or arrival.done():
            self.close()
            return
        self._heard_s = self._loop.time()
        try:
            self._reader.read(data)
        except AnswerError as error:
            arrival.set_exception(error)
            return
        if self._reader.is_complete:
            arrival.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that nothing more will come."""
        self.is_open = False
        self._connection.close()
        reason = f"{exc}" if exc else "the receiver closed the connection"
        self._break_off(ConnectionLostError(reason, has_begun=self._reader.has_begun))

    def _watch(self) -> None:
        """Break off when it is too late; look again when it may be."""
        until_s, silence_s = self._limits.until_s, self._limits.silence_s
        due_s = until_s if silence_s is None else min(until_s, self._heard_s + silence_s)
        if due_s > self._loop.time():
            self._timer = self._loop.call_at(due_s, self._watch)
        else:
            self._break_off(TimeoutError("no answer in time"))

    def _break_off(self, error: Exception) -> None:
        """Wait for nothing more: what has a status is an answer."""
        if self._arrival is None or self._arrival.done():
            return
        if self._reader.status:
            self._arrival.set_result(None)
        else:
            self._arrival.set_exception(error)


class _AnswerReader:
    """Answers over one connection, one at a time; the parser calls the methods that begin with ``on``."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        # As aiohttp and browsers do.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self.begin(0)

    def begin(self, body_bytes: int) -> None:
        """Begin with an answer; of its body so much is read."""
        self.status = 0
        self.is_complete = False
        self._has_ended = self._is_kept = self._has_surplus = False
        self._retry_after: str | None = None
        self._body: list[bytes] = []
        self._room = body_bytes
        self._most_bytes = _HEAD_BYTES + _FRAME_BYTES * body_bytes
        self._read_bytes = self._announced_count = 0

    @property
    def has_begun(self) -> bool:
        """Whether anything of the answer has arrived."""
        return self._read_bytes > 0

    @property
    def may_go_on(self) -> bool:
        """Whether the answer has ended so that another request may follow."""
        return self._is_kept and not self._has_surplus

    @property
    def answer(self) -> HttpAnswer:
        """What was read."""
        return HttpAnswer(self.status, self._retry_after, b"".join(self._body))

    def read(self, data: bytes) -> None:
        """Read what has arrived.

        Raises
        ------
        AnswerError : it is no answer, or too long
        """
        self._read_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.is_complete, self._is_kept = True, False
        except httptools.HttpParserError as error:
            if not self.is_complete:
                raise AnswerError(f"not an answer of HTTP: {error}") from error
            self._has_surplus = True
        has_no_end = not self.status and self._read_bytes > _HEAD_BYTES
        if has_no_end or self._announced_count > MOST_ANNOUNCED:
            raise AnswerError("the response is too long")
        self.is_complete = self.is_complete or self._read_bytes > self._most_bytes

    def on_message_begin(self) -> None:
        """Note an answer; a second one, which nobody has asked for, ends the session."""
        self._has_surplus = self._has_surplus or self._has_ended

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        if not self.status and self._retry_after is None and name.lower() == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Take the status, unless it announces another one."""
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != _SWITCHING:
            self._announced_count += 1
            self._retry_after = None
        elif not self._has_ended:
            self.status = status

    def on_body(self, part: bytes) -> None:
        """Take a part of the body, as far as there is room."""
        if self._room > 0 and not self._has_ended:
            self._body.append(part[: self._room])
            self._room -= len(part)
            self.is_complete = self._room <= 0

    def on_message_complete(self) -> None:
        """Note that the answer has ended."""
        if self.status and not self._has_ended:
            self.is_complete = self._has_ended = True
            self._is_kept = self._parser.should_keep_alive()
