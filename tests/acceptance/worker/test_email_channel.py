"""Tests of the email channel against a real mail server on loopback."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session
from tests.unit.delivery.events import MESSAGE_ID, NOW_MS, dispatch

from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.mails import MailSettings
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.subscription import Category, Channel, Destination

SENDER = MailSettings("tocsin@acme.example", "http://127.0.0.1:8585")
DESTINATION = Destination(id="d", category=Category.OWNERS, type=Channel.EMAIL)


class Mailbox:
    """Takes mail, or answers ``rcpt`` and ``content`` instead."""

    def __init__(self, *, rcpt: str = "250 OK", content: str = "250 Message accepted") -> None:
        self.mails: list[tuple[list[str], bytes]] = []
        self._rcpt, self._content = rcpt, content

    async def handle_RCPT(  # noqa: N802  aiosmtpd's name
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if self._rcpt.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self._rcpt

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.mails.append((list(envelope.rcpt_tos), envelope.original_content or b""))
        return self._content


@contextlib.asynccontextmanager
async def mail_server(mailbox: Mailbox) -> AsyncIterator[int]:
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(mailbox), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def send_to(port: int, target: str = "dana@example.com") -> Outcome:
    async with EmailSender(MailServer("127.0.0.1", port, timeout_s=5.0), SENDER) as channel:
        return await channel.send(dispatch(target=target), DESTINATION, now_ms=NOW_MS)


async def test_one_mail_arrives_at_one_recipient() -> None:
    mailbox = Mailbox()
    async with mail_server(mailbox) as port:
        outcome = await send_to(port)
    assert isinstance(outcome, Delivered)
    ((receivers, content),) = mailbox.mails
    assert receivers == ["dana@example.com"]
    assert f"Message-ID: <{MESSAGE_ID}@acme.example>".encode() in content


@pytest.mark.parametrize(
    ("mailbox", "kind", "reason"),
    [
        (Mailbox(rcpt="450 try later"), Retry, OutcomeReason.MAIL_DEFERRED),
        (Mailbox(rcpt="550 no such user"), Rejected, OutcomeReason.MAIL_REFUSED),
        (Mailbox(content="451 greylisted"), Retry, OutcomeReason.MAIL_DEFERRED),
        (Mailbox(content="554 spam"), Rejected, OutcomeReason.MAIL_REFUSED),
    ],
)
async def test_the_reply_decides(mailbox: Mailbox, kind: type, reason: OutcomeReason) -> None:
    """Fault scenario 26."""
    async with mail_server(mailbox) as port:
        outcome = await send_to(port)
    assert isinstance(outcome, kind)
    assert not isinstance(outcome, Delivered)
    assert outcome.reason is reason


async def test_mail_waits_while_our_mail_server_is_away() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        outcome = await send_to(unused.getsockname()[1])
    assert isinstance(outcome, Retry)
    assert outcome.reason is OutcomeReason.MAIL_DEFERRED


async def test_mail_waits_while_no_mail_server_is_set() -> None:
    outcome = await EmailSender(None, SENDER).send(dispatch(), DESTINATION, now_ms=NOW_MS)
    assert isinstance(outcome, Retry)
    assert outcome.reason is OutcomeReason.MAIL_DEFERRED


async def test_an_address_that_is_none_is_never_tried() -> None:
    outcome = await send_to(1, target="dana\r\nRCPT TO:<x@example.com>")
    assert isinstance(outcome, Rejected)
    assert outcome.reason is OutcomeReason.BAD_ADDRESS


async def test_a_server_that_offers_no_encryption_gets_nothing_when_it_is_required() -> None:
    mailbox = Mailbox()
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port, tls="starttls", timeout_s=5.0), SENDER) as channel,
    ):
        outcome = await channel.send(dispatch(), DESTINATION, now_ms=NOW_MS)
    assert isinstance(outcome, Retry)
    assert mailbox.mails == []
