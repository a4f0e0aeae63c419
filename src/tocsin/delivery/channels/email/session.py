"""SMTP session: mails one after the other over a connection that is open, encrypted and logged in.

Where the server offers it (PIPELINING), a mail takes two round trips in place of four. Source: RFC 5321, RFC 2920.
Next: ``delivery/channels/email/connections.py`` opens connections.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

from aiosmtplib import (
    SMTP,
    SMTPDataError,
    SMTPNotSupported,
    SMTPReadTimeoutError,
    SMTPRecipientRefused,
    SMTPResponseException,
    SMTPSenderRefused,
    SMTPServerDisconnected,
)
from aiosmtplib.email import quote_address

from tocsin.delivery.channels.email.composition import PLAIN_ADDRESS
from tocsin.delivery.transport.request import Mail

ENOUGH = 421
"""A reply of RFC 5321 that closes the connection, such as after so many mails."""

_TAKEN, _FORWARDED, _GO_ON = 250, 251, 354
_MEANINGLESS = -1
_MOST_BYTES = 32 * 1024
"""Most bytes of a reply."""

_END = b".\r\n"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_quote = lru_cache(maxsize=64)(quote_address)
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\n)")


class _MailCommand(NamedTuple):
    """A command that begins a mail, the replies to go on with, and the error for any other."""

    line: str
    accepted: tuple[int, ...]
    refusal: Callable[[int, str], SMTPResponseException]


class SmtpSession(asyncio.Protocol):
    """What is said over one connection, which this takes over from the client that has opened it."""

    def __init__(self, client: SMTP, *, timeout_s: float) -> None:
        if client.transport is None:
            raise SMTPServerDisconnected("Connection lost")
        self._transport, self._timeout_s = cast("asyncio.Transport", client.transport), timeout_s
        self._has_pipelining = client.supports_extension("pipelining")
        self._has_size, self._has_utf8 = client.supports_extension("size"), client.supports_extension("smtputf8")
        self._unread = b""
        self._lines: list[str] = []
        self._replies: deque[tuple[int, str]] = deque()
        self._arrival: asyncio.Future[None] | None = None
        self._failure: Exception | None = None
        self._transport.set_protocol(self)

    @property
    def is_open(self) -> bool:
        """Whether the connection is there, as far as is known."""
        return self._failure is None and not self._transport.is_closing()

    async def begin_mail(self, mail: Mail) -> None:
        """Say who a mail is from and for, so that the server waits for it; until then nothing is handed over.

        Raises
        ------
        SMTPSenderRefused, SMTPRecipientRefused, SMTPDataError : the server refuses it
        SMTPNotSupported : the server takes no such address
        SMTPServerDisconnected, SMTPReadTimeoutError, SMTPResponseException : there is no reply, or none that means
            anything
        """
        options = f" size={len(mail.content)}" if self._has_size else ""
        if not f"{mail.sender}{mail.recipient}".isascii():
            if not self._has_utf8:
                raise SMTPNotSupported("SMTPUTF8, for an address that is not ASCII, is not supported")
            options += " SMTPUTF8"
        commands = (
            _MailCommand(
                f"MAIL FROM:{_path(mail.sender)}{options}",
                (_TAKEN,),
                lambda code, text: SMTPSenderRefused(code, text, mail.sender),
            ),
            _MailCommand(
                f"RCPT TO:{_path(mail.recipient)}",
                (_TAKEN, _FORWARDED),
                lambda code, text: SMTPRecipientRefused(code, text, mail.recipient),
            ),
            _MailCommand("DATA", (_GO_ON,), SMTPDataError),
        )
        self._replies.clear()  # of what was said unasked
        for group in (commands,) if self._has_pipelining else ((one,) for one in commands):
            await self._perform(group)

    async def end_mail(self, content: bytes) -> str:
        """Hand over the mail that was begun; return the reply.

        Raises
        ------
        SMTPDataError : the server refuses it
        SMTPServerDisconnected, SMTPReadTimeoutError, SMTPResponseException : as above; nobody knows what became of it
        """
        self._write(_lines_of(content) + _END)
        code, text = await self._next_reply()
        if code != _TAKEN:
            raise SMTPDataError(code, text)
        return text

    async def say(self, command: str) -> None:
        """Say something whose reply makes no difference; raise if there is none."""
        self._write(f"{command}\r\n".encode())
        await self._next_reply()

    def close(self) -> None:
        """Close the connection at once."""
        self._transport.close()

    async def _perform(self, group: Sequence[_MailCommand]) -> None:
        """Send commands together; raise for the first that is refused, once each has its reply."""
        if any(_CONTROL.search(command.line) for command in group):
            raise ValueError("an address holds a control character")
        self._write("".join(f"{command.line}\r\n" for command in group).encode())
        refusal: SMTPResponseException | None = None
        for command in group:
            try:
                code, text = await self._next_reply()
            except SMTPServerDisconnected as error:
                raise refusal or error from None
            if code not in command.accepted:
                refusal = refusal or command.refusal(code, text)
            elif refusal and command.line == "DATA":
                await self.say(".")  # it waits for a mail to nobody
            if code == ENOUGH:
                break
        if refusal is not None:
            raise refusal

    def _write(self, content: bytes) -> None:
        if not self.is_open:
            raise self._failure or SMTPServerDisconnected("Connection lost")
        self._transport.write(content)

    async def _next_reply(self) -> tuple[int, str]:
        """Return the code and the text of the next reply."""
        while not self._replies:
            if self._failure is not None:
                raise self._failure
            self._arrival = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(self._timeout_s):
                    await self._arrival
            except TimeoutError as error:
                raise SMTPReadTimeoutError("Timed out waiting for server response") from error
        return self._replies.popleft()

    def data_received(self, data: bytes) -> None:
        """Take what has arrived: whole replies are told to who waits for one."""
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            code = line[:3]
            if not code.isdigit():
                text = f"Malformed SMTP response line: {line.decode(errors='ignore')}"
                self._fail(SMTPResponseException(_MEANINGLESS, text))
                return
            self._lines.append(line[4:].strip().decode("utf-8", "surrogateescape"))
            if line[3:4] != b"-":
                self._replies.append((int(code), "\n".join(self._lines)))
                self._lines = []
        if len(self._unread) + sum(map(len, self._lines)) > _MOST_BYTES:
            self._fail(SMTPResponseException(_MEANINGLESS, "Response too long"))
        self._tell()

    def eof_received(self) -> None:
        """Note that the server says nothing more."""
        self._fail(SMTPServerDisconnected("Unexpected EOF received"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that there is no connection any more."""
        error = SMTPServerDisconnected("Connection lost")
        error.__cause__ = exc
        self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._transport.close()
        self._tell()

    def _tell(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)


def _path(address: str) -> str:
    """Return an address as commands name it; raise ValueError for what is none."""
    return f"<{address}>" if PLAIN_ADDRESS.fullmatch(address) else _quote(address)


def _lines_of(content: bytes) -> bytes:
    """Return a mail as it follows DATA: in lines that end as they should, none of which is a dot. Source: RFC 5321."""
    if not content.count(b"\n") == content.count(b"\r") == content.count(b"\r\n"):
        content = _LINE_END.sub(b"\r\n", content)
    if not content.endswith(b"\r\n"):
        content += b"\r\n"
    return (b"." if content.startswith(b".") else b"") + content.replace(b"\n.", b"\n..")
