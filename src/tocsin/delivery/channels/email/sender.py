"""Email channel: one message handed to the configured mail server, and the outcome of its reply.

The mail server is ours, not the receiver's: while it is unreachable, mails wait. Source: RFC 5321.
Next: ``flow/track/attempts.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol, Self

import aiosmtplib

from tocsin.delivery.channels.email.connections import MailConnections, MailServer
from tocsin.delivery.channels.email.mails import MailSettings, render_mail
from tocsin.delivery.channels.sender_setup import SenderSetup
from tocsin.delivery.dispatch import Dispatch, Sender
from tocsin.delivery.lines import clean_line
from tocsin.delivery.transport.outcome import of_reason, of_smtp_code
from tocsin.delivery.transport.request import Mail, Recorder
from tocsin.errors import InvalidInput
from tocsin.model.message import Outcome, OutcomeReason
from tocsin.model.subscription import Destination
from tocsin.settings import ChannelSettings

_DETAIL_LIMIT = 500


class MailTransport(Protocol):
    """Hands mails to a server."""

    async def send_mail(self, mail: Mail) -> str:
        """Hand one mail over; return the server's reply."""

    async def close(self) -> None:
        """Close what is open."""


class EmailSender:
    """Sends change events as mail, one message per recipient; close it when done.

    ``server`` None: mail waits until there is one. With a ``recorder`` nothing is sent.
    """

    def __init__(self, server: MailServer | None, sender: MailSettings, recorder: Recorder | None = None) -> None:
        self._transport: MailTransport | None = recorder or (MailConnections(server) if server else None)
        self._sender = sender

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._transport is not None:
            await self._transport.close()

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt and return its outcome."""
        try:
            mail = render_mail(dispatch, self._sender, now_ms=now_ms)
        except InvalidInput as error:
            return of_reason(OutcomeReason.BAD_ADDRESS, detail=error.message)
        if self._transport is None:
            return of_reason(OutcomeReason.MAIL_DEFERRED, detail="no mail server is configured (smtp_host)")
        try:
            reply = await self._transport.send_mail(mail)
        except (aiosmtplib.SMTPException, OSError) as error:
            return _outcome(error)
        return of_smtp_code(250, detail=clean_line(reply, limit=_DETAIL_LIMIT))


def mail_server_of(settings: ChannelSettings) -> MailServer | None:
    """Return the mail server that the settings name, if any."""
    if settings.smtp_host is None:
        return None
    return MailServer(
        host=settings.smtp_host,
        port=settings.smtp_port,
        user=settings.smtp_user,
        password=settings.smtp_password.get_secret_value() if settings.smtp_password else None,
        tls=settings.smtp_tls,
        connections=settings.smtp_connections,
    )


def _outcome(error: Exception) -> Outcome:
    """Return what an error means: what was said about the recipient or the mail counts, the rest is ours to mend."""
    detail = clean_line(f"{type(error).__name__}: {error}", limit=_DETAIL_LIMIT)
    match error:
        case aiosmtplib.SMTPRecipientRefused():
            return of_smtp_code(error.code, detail=clean_line(error.message, limit=_DETAIL_LIMIT))
        case aiosmtplib.SMTPDataError():
            return of_smtp_code(error.code, detail=detail)
        case TimeoutError():
            return of_reason(OutcomeReason.TIMEOUT, detail=detail)
        case _:
            return of_reason(OutcomeReason.MAIL_DEFERRED, detail=detail)


@asynccontextmanager
async def open_sender(setup: SenderSetup) -> AsyncIterator[Sender]:
    """Yield the sender; nothing is sent where the setup has a recorder."""
    settings = setup.settings
    mails = MailSettings(settings.smtp_sender, settings.base_url(), setup.link_key)
    async with EmailSender(mail_server_of(settings), mails, setup.recorder) as sender:
        yield sender
