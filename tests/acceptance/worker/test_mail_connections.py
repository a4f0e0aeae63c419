"""Tests of connections to mail servers: how many there are, and that they are encrypted and logged in."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvloop
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from tests.unit.delivery.events import NOW_MS, dispatch

from tocsin.delivery.channels.email.connections import MailConnections, MailServer
from tocsin.delivery.channels.email.mails import MailSettings
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.transport.request import Mail
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.subscription import Category, Channel, Destination

DESTINATION = Destination(id="d", category=Category.OWNERS, type=Channel.EMAIL)
TLS = ("starttls", "tls")
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH")  # aiosmtpd does not know that it is encrypted already


class CountingMailServer:
    """A mail server: what it takes, over how many connections, of which each may bring so many mails.

    With a ``certificate`` it is encrypted as ``tls`` says and asks for user and password.
    """

    def __init__(self, *, most_each: int = 1_000, tls: str = "none", certificate: Path | None = None) -> None:
        self.receivers: list[str] = []
        self.mails: list[bytes] = []
        self.extensions: list[str] = []
        self.connections: list[SMTP] = []
        self._counts: Counter[Session] = Counter()
        self._most_each, self._tls, self._context = most_each, tls, None
        if certificate is not None:
            self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self._context.load_cert_chain(certificate)

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[int]:
        at_once = self._context if self._tls == "tls" else None
        server = await asyncio.get_running_loop().create_server(self._connect, "localhost", 0, ssl=at_once)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()

    def hang_up(self) -> None:
        """Close all connections."""
        for connection in self.connections:
            if connection.transport:
                connection.transport.close()

    def _connect(self) -> SMTP:
        options: dict[str, Any] = {}
        if self._context is not None:
            options = {
                "authenticator": self._check_login,
                "auth_required": True,
                "auth_require_tls": self._tls != "tls",
            }
        upgraded = self._context if self._tls == "starttls" else None
        self.connections.append(SMTP(self, tls_context=upgraded, require_starttls=bool(upgraded), **options))
        return self.connections[-1]

    def _check_login(
        self, _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, who: object
    ) -> AuthResult:
        return AuthResult(success=who == LoginPassword(b"tocsin", b"s3cret"), handled=False)  # so that it answers

    async def handle_EHLO(  # noqa: N802
        self, _server: SMTP, session: Session, _envelope: Envelope, host: str, replies: list[str]
    ) -> list[str]:
        session.host_name = host
        return [*replies[:-1], *(f"250-{one}" for one in self.extensions), replies[-1]]

    async def handle_MAIL(  # noqa: N802  aiosmtpd's
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self._counts[session] += 1
        if self._counts[session] > self._most_each:
            return "421 4.4.2 enough for one connection"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _: Any) -> str:  # noqa: N802
        if address.startswith("gone"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.receivers += envelope.rcpt_tos
        self.mails.append(envelope.original_content or b"")
        return "250 OK"


@asynccontextmanager
async def sending(office: CountingMailServer | PipeliningServer, **options: Any) -> AsyncIterator[EmailSender]:
    async with office.serve() as port:
        server = replace(MailServer("localhost", port, timeout_s=5.0), **options)
        async with EmailSender(server, MailSettings("tocsin@acme.example", "http://t.example")) as sender:
            yield sender


async def send_mail(sender: EmailSender, name: str) -> Outcome:
    return await sender.send(dispatch_to(f"{name}@example.com"), DESTINATION, now_ms=NOW_MS)


def dispatch_to(target: str) -> Dispatch:
    return dispatch(target=target)


async def test_many_mails_go_over_one_connection_and_over_few_at_once() -> None:
    office = CountingMailServer()
    async with sending(office, connections=2) as sender:
        for number in range(10):
            assert isinstance(await send_mail(sender, f"a{number}"), Delivered)
        assert (len(office.receivers), len(office.connections)) == (10, 1)
        outcomes = await asyncio.gather(*(send_mail(sender, f"b{number}") for number in range(50)))
        assert {type(one) for one in outcomes} == {Delivered}
    assert (len(set(office.receivers)), len(office.connections)) == (60, 2)


async def test_a_connection_that_the_server_has_closed_costs_no_mail() -> None:
    office = CountingMailServer()
    async with sending(office) as sender:
        for name in ("dana", "erin", "finn"):
            assert isinstance(await send_mail(sender, name), Delivered)
            office.hang_up()
            await asyncio.sleep(0.01)
    assert (len(office.receivers), len(office.connections)) == (3, 3)


async def test_a_server_that_takes_so_many_mails_per_connection_gets_the_next_over_another() -> None:
    office = CountingMailServer(most_each=2)
    async with sending(office) as sender:
        for number in range(6):
            assert isinstance(await send_mail(sender, f"a{number}"), Delivered)
    assert (len(office.receivers), len(office.connections)) == (6, 3)


async def test_a_refused_recipient_says_nothing_about_the_next_on_the_same_connection() -> None:
    """Fault scenario 26."""
    office = CountingMailServer()
    async with sending(office) as sender:
        outcomes = [await send_mail(sender, name) for name in ("dana", "gone", "erin")]
    assert [type(one) for one in outcomes] == [Delivered, Rejected, Delivered]
    assert (outcomes[1].reason, outcomes[1].detail) == (OutcomeReason.MAIL_REFUSED, "no such user")  # type: ignore[union-attr]
    assert office.receivers == ["dana@example.com", "erin@example.com"]
    assert len(office.connections) == 1


class PipeliningServer:
    """A mail server that notes what arrived together, and whether it answered in between."""

    def __init__(self, *answers: str) -> None:
        self.groups: list[bytes] = []
        self._answers, self._writers = list(answers), list[asyncio.StreamWriter]()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[int]:
        server = await asyncio.start_server(self._talk, "localhost", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            for writer in self._writers:
                writer.close()
                await writer.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        writer.write(b"220 here\r\n")
        while group := await reader.read(100_000):
            if group.startswith(b"EHLO"):
                writer.write(b"250-here\r\n250-PIPELI")
                await asyncio.sleep(0.01)
                writer.write(b"NING\r\n250 HELP\r\n")
            elif group.startswith(b"QUIT"):
                writer.write(b"221 bye\r\n")
            else:
                self.groups.append(group)
                for answer in self._answers.pop(0).split("|"):
                    writer.write(answer.encode() + b"\r\n")


async def test_commands_go_together_to_a_server_that_offers_it() -> None:
    server = PipeliningServer("250 a|250 b|354 go on", "250-taken\r\n250 so", "250 a|250 b|354 go on", "250 taken")
    async with sending(server) as sender:
        outcomes = [await send_mail(sender, name) for name in ("dana", "erin")]
    assert [(type(one), one.detail) for one in outcomes] == [(Delivered, "taken so"), (Delivered, "taken")]
    envelope = b"MAIL FROM:<tocsin@acme.example>\r\nRCPT TO:<dana@example.com>\r\nDATA\r\n"
    assert server.groups[0] == envelope
    assert server.groups[1].endswith(b"\r\n.\r\n")
    assert len(server.groups) == 4


@pytest.mark.parametrize(
    ("envelope", "following"),
    [
        ("250 a|550 no such user|554 nobody to take it", ()),
        ("250 a|550 no such user|354 go on", ("554 nobody",)),
        ("550 no such user|503 from whom|503 to whom", ()),
    ],
)
async def test_a_refusal_among_commands_that_went_together_is_that_of_its_own_command(
    envelope: str, following: tuple[str, ...]
) -> None:
    server = PipeliningServer(envelope, *following, "250 forgotten", "250 a|250 b|354 go on", "250 taken")
    async with sending(server) as sender:
        outcomes = [await send_mail(sender, name) for name in ("gone", "erin")]
    assert "no such user" in outcomes[0].detail
    assert isinstance(outcomes[0], Retry if envelope.startswith("550") else Rejected)
    assert isinstance(outcomes[1], Delivered)
    assert [one for one in server.groups if b"gone" not in one and b"erin" not in one] == [
        *([b".\r\n"] if following else []),
        b"RSET\r\n",
    ]


@pytest.mark.parametrize("last_words", ["421 4.4.2 enough for one connection", "nonsense"])
async def test_a_connection_that_ends_or_talks_nonsense_is_closed(last_words: str) -> None:
    server = PipeliningServer(last_words)
    async with sending(server) as sender:
        outcome = await send_mail(sender, "dana")
    assert isinstance(outcome, Retry)
    assert last_words.removeprefix("421 ") in outcome.detail
    assert len(server.groups) == 1


def test_a_real_event_loop_of_a_worker_sends_lines_that_begin_with_dots() -> None:
    office = CountingMailServer()
    office.extensions = ["PIPELINING"]

    async def send() -> str:
        async with office.serve() as port:
            connections = MailConnections(MailServer("localhost", port, timeout_s=5.0))
            reply = await connections.send_mail(Mail("a@b.example", "c@d.example", b"X: y\r\n\r\n.\n..x\r\n.\r\nz"))
            await connections.close()
            return reply

    assert uvloop.run(send()) == "OK"
    assert office.mails == [b"X: y\r\n\r\n.\r\n..x\r\n.\r\nz\r\n"]


@pytest.mark.parametrize("tls", TLS)
@pytest.mark.parametrize(("password", "kind"), [("s3cret", Delivered), ("wr0ng", Retry)])
async def test_mail_goes_encrypted_to_a_server_that_we_log_in_to(
    tls: str, password: str, kind: type, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = await certificate_in(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))  # the authorities that this machine trusts
    office = CountingMailServer(tls=tls, certificate=certificate)
    async with sending(office, tls=tls, user="tocsin", password=password) as sender:
        outcomes = [await send_mail(sender, name) for name in ("dana", "erin")]
    assert [type(one) for one in outcomes] == [kind, kind], outcomes
    assert len(office.receivers) == (2 if kind is Delivered else 0)
    assert (kind is Retry) == ("Authentication credentials invalid" in str(outcomes))
    assert not any(secret in str(outcomes) for secret in ("s3cret", "wr0ng"))


@pytest.mark.parametrize("tls", TLS)
async def test_a_server_whose_certificate_nobody_vouches_for_gets_nothing(tls: str, tmp_path: Path) -> None:
    office = CountingMailServer(tls=tls, certificate=await certificate_in(tmp_path))
    async with sending(office, tls=tls, user="tocsin", password="s3cret") as sender:
        outcome = await send_mail(sender, "dana")
    assert isinstance(outcome, Retry)
    assert (outcome.reason, office.receivers) == (OutcomeReason.MAIL_DEFERRED, [])


async def certificate_in(folder: Path) -> Path:
    """Make a key and a certificate for localhost in one file."""
    files = folder / "key.pem", folder / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    make += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(files[0]), "-out", str(files[1])]
    await asyncio.to_thread(subprocess.run, make, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes(files[0].read_bytes() + files[1].read_bytes())
    return both
