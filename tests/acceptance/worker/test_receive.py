"""Tests of the development receiver for mails and webhooks."""

import aiohttp
from tests.acceptance.worker.senders import webhook_sender
from tests.unit.delivery.events import NOW_MS, dispatch

from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.mails import MailSettings
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.worker.dev_receiver import KEPT_COUNT, Receiver, receiving
from tocsin.model.subscription import Category, Channel, Destination, DestinationConfig


def destination(endpoint: str | None, **config: object) -> Destination:
    channel = Channel.WEBHOOK if endpoint else Channel.EMAIL
    destination_config = DestinationConfig(endpoint=endpoint, **config)
    return Destination(id="d", category=Category.EXTERNAL, type=channel, config=destination_config)


async def test_arrivals_are_printed_and_can_be_read_back() -> None:
    lines: list[str] = []
    room = Receiver(lines.append, secret="s")
    async with (
        receiving(room, 0, 0) as (http, smtp),
        webhook_sender(egress_of(("127.0.0.0/8",))) as webhook,
    ):
        url = f"http://127.0.0.1:{http}"
        for secret in ("s", "wrong", None):
            await webhook.send(dispatch(), destination(f"{url}/hook", secret_key=secret), now_ms=NOW_MS)
        async with EmailSender(MailServer("127.0.0.1", smtp), MailSettings("tocsin@localhost", url)) as email:
            await email.send(dispatch(), destination(None), now_ms=NOW_MS)
        async with aiohttp.ClientSession() as session, session.get(f"{url}/received") as answer:
            arrivals = (await answer.json())["received"]
    line_start = (
        "webhook  /hook  entityUpdated acme.shop.public.orders  webhook-id 0b7f2f5c-38a5-5d3c-9a0e-4f1f1c9f6d11"
    )
    assert lines == [
        f"{line_start}  signature ok",
        f"{line_start}  signature WRONG",
        f"{line_start}  signature none",
        'mail     dana@example.com  "orders: column email VARCHAR removed"'
        "  (because you own it (alert schema changes))",
    ]
    assert [one["line"] for one in arrivals] == lines
    assert arrivals[0]["event"]["entityType"] == "table"


async def test_anything_at_all_may_be_posted_and_only_the_last_are_kept() -> None:
    room = Receiver(lambda _line: None)
    async with receiving(room, 0, 0) as (http, _), aiohttp.ClientSession() as session:
        for body in (b"", b"\xff", b"[1]", *[b"{}"] * KEPT_COUNT):
            async with session.put(f"http://127.0.0.1:{http}/x", data=body) as answer:
                assert answer.status == 200
    assert len(room.arrivals()) == KEPT_COUNT
