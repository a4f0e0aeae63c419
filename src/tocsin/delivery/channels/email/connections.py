"""Connections to the mail server: few at a time, each for many mails one after the other.

Mail servers limit how many connections one client may have (Exchange Online: three), and close those that they have
had enough of: a kept connection that ends before a mail's envelope is accepted says nothing about the mail, which goes
over another. Source: RFC 5321, sections 3.8 and 4.5.3.2. Next: ``delivery/channels/email/sender.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Literal

import aiosmtplib

from tocsin.delivery.transport.request import Mail

_ENOUGH = 421
"""A reply of RFC 5321 that closes the connection, such as after so many mails."""


class _StaleConnectionError(Exception):
    """A kept connection that the server has closed, or wants closed, before it has accepted anything."""


@dataclass(frozen=True)
class MailServer:
    """Where mail is handed over. ``timeout_s`` holds for each step of the talk."""

    host: str
    port: int = 25
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: Literal["none", "starttls", "tls"] = "none"
    timeout_s: float = 30.0
    connections: int = 3


class MailConnections:
    """The connections to one mail server; close them when done."""

    def __init__(self, server: MailServer) -> None:
        self._server = server
        self._room = asyncio.Semaphore(server.connections)
        self._idle: list[aiosmtplib.SMTP] = []

    async def send_mail(self, mail: Mail) -> str:
        """Hand over a mail and return the reply.

        Raises
        ------
        SMTPException : the server refuses it, or there is no connection
        OSError : there is no connection
        """
        async with self._room:
            while self._idle:
                with contextlib.suppress(_StaleConnectionError):
                    return await self._hand_over(self._idle.pop(), mail, is_kept=True)
            return await self._hand_over(await self._open_connection(), mail)

    async def close(self) -> None:
        """Close them all, politely."""
        while self._idle:
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                await self._idle.pop().quit()

    async def _hand_over(self, client: aiosmtplib.SMTP, mail: Mail, *, is_kept: bool = False) -> str:
        """Send over this connection, and keep it if the server answered as it should: it is then as good as new."""
        try:
            await _begin_mail(client, mail, is_kept=is_kept)
            await client.rcpt(mail.recipient, encoding="utf-8")
            reply = (await client.data(mail.content)).message
        except aiosmtplib.SMTPResponseException:
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                await client.rset()  # the envelope is the server's until then
            self._keep(client)
            raise
        except BaseException:
            client.close()
            raise
        self._keep(client)
        return reply

    def _keep(self, client: aiosmtplib.SMTP) -> None:
        if client.is_connected:
            self._idle.append(client)

    async def _open_connection(self) -> aiosmtplib.SMTP:
        """Return a new connection, encrypted and logged in as the settings ask."""
        server = self._server
        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.user,
            password=server.password,
            use_tls=server.tls == "tls",
            start_tls=server.tls == "starttls",
            timeout=server.timeout_s,
        )
        try:
            await client.connect()
            if client.is_ehlo_or_helo_needed:
                await _greet(client)
        except BaseException:
            client.close()
            raise
        return client


async def _greet(client: aiosmtplib.SMTP) -> None:
    try:
        await client.ehlo()
    except aiosmtplib.SMTPHeloError:
        await client.helo()


async def _begin_mail(client: aiosmtplib.SMTP, mail: Mail, *, is_kept: bool) -> None:
    """Begin a mail.

    Raises
    ------
    _StaleConnectionError : the connection, which was kept from an earlier mail, is of no use
    """
    options = [f"size={len(mail.content)}"] if client.supports_extension("size") else []
    if not f"{mail.sender}{mail.recipient}".isascii():
        if not client.supports_extension("smtputf8"):
            raise aiosmtplib.SMTPNotSupported("SMTPUTF8, for an address that is not ASCII, is not supported")
        options.append("SMTPUTF8")
    try:
        await client.mail(mail.sender, options=options, encoding="utf-8")
    except (aiosmtplib.SMTPServerDisconnected, ConnectionError) as error:
        if is_kept:
            client.close()
            raise _StaleConnectionError from error
        raise
    except aiosmtplib.SMTPSenderRefused as refused:
        if is_kept and refused.code == _ENOUGH:
            client.close()
            raise _StaleConnectionError from refused
        raise
