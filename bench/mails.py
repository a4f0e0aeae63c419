"""Benchmark of mails: changes one by one, and daily digests that are due in the same minute.

A real ``tocsin deliver`` and a mail server on loopback, which offers PIPELINING as mail servers do; every mail must
arrive exactly once, by its id. The floor is a bare client over one connection. Next: ``bench/webhooks.py``.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import aiosmtplib
from aiosmtpd.controller import UnthreadedController
from sqlalchemy import Engine

from bench.deliveries import Receivers, add_messages, destination_at, make_alerts, until_all_arrived
from bench.measured import Measurement, Report, scale_count
from bench.running import open_store, running, settings_in, tocsin_command
from tocsin.cli.ports import LOOPBACK, any_free_port
from tocsin.flow.schedule.messages import timings_of
from tocsin.model.entity import Document
from tocsin.model.subscription import Channel
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions

MAIL_COUNT = 5_000
ALERT_COUNT = 10_000
_DIGEST_SIZE = 3
_DAILY: Document = {"triggerType": "Scheduled", "scheduleInfo": "Daily"}
_MAIL_ID = re.compile(rb"^Message-ID: <([0-9a-f-]{36})@", re.MULTILINE | re.IGNORECASE)


class Mailboxes(Receivers):
    """Takes mails, and keeps the id and time of each."""

    async def handle_EHLO(  # noqa: N802  aiosmtpd's name
        self, _server: object, session: Any, _envelope: object, host: str, replies: list[str]
    ) -> list[str]:  # Any: its session
        """Say what this server offers."""
        session.host_name = host
        return [*replies[:-1], "250-PIPELINING", replies[-1]]

    async def handle_DATA(self, _server: object, _session: object, envelope: Any) -> str:  # noqa: N802  # aiosmtpd's name; Any: its envelope
        """Take one mail."""
        mail_id = _MAIL_ID.search(envelope.content)
        self.keep(mail_id[1].decode() if mail_id else "")
        return "250 OK"


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure a worker that works off mails which are all due."""
    mails = _mails(scale_count(MAIL_COUNT, scale, least=20), 1, "mails over one server")
    report(1, 2)
    alerts = scale_count(ALERT_COUNT, scale, least=20)
    name = f"daily digests of {alerts:,} alerts, due in the same minute"
    return [mails, _mails(alerts * _DIGEST_SIZE, alerts, name, is_digest=True)]


def _mails(count: int, alerts: int, name: str, *, is_digest: bool = False) -> Measurement:
    """Return how many mails a second one worker hands over; the floor is a bare client with one connection.

    They carry ``count`` notifications: one each, or all of an alert where it ``is_digest``.
    """
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, ExitStack() as stack:
        port = any_free_port()
        settings = settings_in(Path(folder), smtp_host=LOOPBACK, smtp_port=port)
        engine, _ = stack.enter_context(open_store(settings))
        figure, floor = asyncio.run(_hand_over(engine, settings, count, alerts, trigger=_DAILY if is_digest else {}))
    carried, aim = (alerts, "800") if is_digest else (count, "1,000")
    return Measurement("mails", name, figure, "mails/s", floor, carried, aim)


async def _hand_over(
    engine: Engine, settings: Settings, count: int, alerts: int, *, trigger: Document
) -> tuple[float, float]:
    addresses = [f"r{number}@bench.example.org" for number in range(alerts)]
    created_alerts = make_alerts(
        engine, [destination_at(Channel.EMAIL, receivers=[one]) for one in addresses], trigger=trigger
    )
    timings = timings_of(Subscriptions(engine).list_enabled({one for one, _ in created_alerts})) if trigger else {}
    ids = add_messages(engine, created_alerts, count // alerts, timings)
    expected_ids = {one for many in ids.values() for one in many}
    async with _mail_server(settings.smtp_port) as mails:
        with running(tocsin_command("deliver"), settings, "deliver"):
            await until_all_arrived(mails, expected_ids)
        per_s = mails.per_s()
        bare = Mailboxes()
        async with _mail_server(any_free_port(), bare) as _:
            return per_s, await _bare_mails(bare, len(expected_ids))


async def _bare_mails(bare: Mailboxes, count: int) -> float:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "a@bench.example.org", "b@bench.example.org", "A change"
    mail.set_content("A table has changed.\n" * 20)
    client = aiosmtplib.SMTP(hostname=LOOPBACK, port=int(bare.url), use_tls=False, start_tls=False)
    async with client:
        for _ in range(count):
            await client.send_message(mail)
    return bare.per_s()


@asynccontextmanager
async def _mail_server(port: int, received: Mailboxes | None = None) -> AsyncIterator[Mailboxes]:
    received = received or Mailboxes()
    received.url = str(port)
    server = UnthreadedController(received, hostname=LOOPBACK, port=port, loop=asyncio.get_running_loop())
    server.server = await server._create_server()
    try:
        yield received
    finally:
        server.server.close()
        await server.server.wait_closed()
