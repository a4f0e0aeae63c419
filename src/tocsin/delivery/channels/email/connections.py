"""Connections to the mail server: few at a time, each for many mails one after the other.

Mail servers limit how many connections one client may have (Exchange Online: three), and close those that they have
had enough of: before a connection is used again, RSET shows whether it still stands, so no mail is lost to one that is
gone. Source: RFC 5321, sections 3.8 and 4.1.1.5. Next: ``delivery/channels/email/sender.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Literal

import aiosmtplib

_ENOUGH = 421
"""A reply of RFC 5321 that closes the connection, such as after so many mails."""


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

    async def send_mail(self, message: EmailMessage) -> str:
        """Hand over a mail and return the reply.

        Raises
        ------
        SMTPException : the server refuses it, or there is no connection
        OSError : there is no connection
        """
        async with self._room:
            client = await self._reuse_connection()
            if client is None:
                return await self._hand_over(await self._open_connection(), message)
            try:
                return await self._hand_over(client, message)
            except aiosmtplib.SMTPSenderRefused as refused:
                if refused.code != _ENOUGH:
                    raise
            return await self._hand_over(await self._open_connection(), message)

    async def close(self) -> None:
        """Close them all, politely."""
        while self._idle:
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                await self._idle.pop().quit()

    async def _hand_over(self, client: aiosmtplib.SMTP, message: EmailMessage) -> str:
        """Send over this connection, and keep it if the server answered as it should: it is then as good as new."""
        try:
            _, reply = await client.send_message(message)
        except (aiosmtplib.SMTPResponseException, aiosmtplib.SMTPRecipientsRefused):
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

    async def _reuse_connection(self) -> aiosmtplib.SMTP | None:
        """Return a connection from before that still stands, if there is one."""
        while self._idle:
            client = self._idle.pop()
            try:
                await client.rset()
            except (aiosmtplib.SMTPException, OSError):
                client.close()
            else:
                return client
        return None

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
        except BaseException:
            client.close()
            raise
        return client
