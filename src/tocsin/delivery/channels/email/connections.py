"""Connections to the mail server: few at a time, each for many mails one after the other.

Mail servers limit how many connections one client may have (Exchange Online: three), and close those that they have
had enough of: a kept connection that ends before a mail's envelope is accepted says nothing about the mail, which goes
over another. Source: RFC 5321, sections 3.8 and 4.5.3.2. Next: ``delivery/channels/email/session.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Literal

import aiosmtplib

from tocsin.delivery.channels.email.session import ENOUGH, SmtpSession
from tocsin.delivery.transport.request import Mail


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
        self._idle: list[SmtpSession] = []

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
            return await self._hand_over(await self._open_session(), mail)

    async def close(self) -> None:
        """Close them all, politely."""
        while self._idle:
            session = self._idle.pop()
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                await session.say("QUIT")
            session.close()

    async def _hand_over(self, session: SmtpSession, mail: Mail, *, is_kept: bool = False) -> str:
        """Send over this connection, and keep it if the server answered as it should: it is then as good as new."""
        try:
            await _begin_mail(session, mail, is_kept=is_kept)
            reply = await session.end_mail(mail.content)
        except aiosmtplib.SMTPResponseException as refusal:
            await self._forget_envelope(session, refusal)
            raise
        except BaseException:
            session.close()
            raise
        self._keep(session)
        return reply

    async def _forget_envelope(self, session: SmtpSession, refusal: aiosmtplib.SMTPResponseException) -> None:
        """Let the server forget whom a refused mail was for, and keep the connection; close it where it does not."""
        try:
            if refusal.code != ENOUGH:
                await session.say("RSET")
                self._keep(session)
                return
        except (aiosmtplib.SMTPException, OSError):
            pass
        session.close()

    def _keep(self, session: SmtpSession) -> None:
        if session.is_open:
            self._idle.append(session)

    async def _open_session(self) -> SmtpSession:
        """Return a session over a new connection, encrypted and logged in as the settings ask."""
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
            return SmtpSession(client, timeout_s=server.timeout_s)
        except BaseException:
            client.close()
            raise


async def _greet(client: aiosmtplib.SMTP) -> None:
    try:
        await client.ehlo()
    except aiosmtplib.SMTPHeloError:
        await client.helo()


async def _begin_mail(session: SmtpSession, mail: Mail, *, is_kept: bool) -> None:
    """Begin a mail.

    Raises
    ------
    _StaleConnectionError : the connection, which was kept from an earlier mail, is of no use
    """
    try:
        await session.begin_mail(mail)
    except (aiosmtplib.SMTPServerDisconnected, aiosmtplib.SMTPSenderRefused, ConnectionError) as error:
        is_closed = not isinstance(error, aiosmtplib.SMTPSenderRefused) or error.code == ENOUGH
        if is_kept and is_closed:
            session.close()
            raise _StaleConnectionError from error
        raise
