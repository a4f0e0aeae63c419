"""Tests of webhooks that get arrays, compressed bodies and thin events, with real workers and receivers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web
from sqlalchemy import Engine
from tests.acceptance.worker.receivers import LOOPBACK, destination, receiver
from tests.acceptance.worker.senders import webhook_sender
from tests.acceptance.worker.test_worker import statuses, until, victim, working
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.unit.delivery.channels.webhook.test_render import message_of
from tests.unit.delivery.events import NOW_MS

from tocsin.clock import SystemClock
from tocsin.delivery.channels.webhook.signature import is_signed
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.transport.egress import egress_of
from tocsin.model.message import Delivered, Outcome
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key

MINUTE_MS = 60_000


class Endpoint:
    """Takes requests; ``statuses`` are its first answers."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.arrived: list[tuple[dict[str, str], bytes]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()  # aiohttp undoes the compression
        self.arrived.append(({name.lower(): value for name, value in request.headers.items()}, body))
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)

    def sizes(self) -> list[int]:
        return [len(json.loads(body)) for _, body in self.arrived]


async def send_message(dispatch: Dispatch, endpoint: Endpoint, **config: Any) -> Outcome:
    async with receiver(endpoint.answer) as url, webhook_sender(egress_of(LOOPBACK)) as channel:
        return await channel.send(dispatch, destination(url, **config), now_ms=NOW_MS)


async def test_a_batch_size_alone_sends_objects(sqlite_engine: Engine) -> None:
    company, endpoint = SmallCompany(sqlite_engine), Endpoint()
    async with receiver(endpoint.answer) as url:
        hook = {"category": "External", "type": "Webhook", "config": {"endpoint": url}}
        alert = company.alert("objects", [hook], "fieldChanged == 'description'")
        size = [{"op": "add", "path": "/batchSize", "value": 10}]
        company.writes.patch("eventsubscription", Key.by_id(alert), size, actor=SYSTEM)
        for number in range(3):
            company.describe("orders", f"text {number}", by="cem")
        notify_all(sqlite_engine, now_ms=SystemClock().now_ms())
        async with working(sqlite_engine):
            await until(lambda: statuses(sqlite_engine) == {"delivered": 3})
    assert [type(json.loads(body)) for _, body in endpoint.arrived] == [dict] * 3


async def test_a_webhook_that_asks_for_arrays_gets_what_the_alert_gathers(sqlite_engine: Engine) -> None:
    company, endpoint = SmallCompany(sqlite_engine), Endpoint()
    async with receiver(endpoint.answer) as url:
        hook = {"category": "External", "type": "Webhook", "config": {"endpoint": url, "batchBy": "all"}}
        alert = company.alert("arrays", [hook], "fieldChanged == 'description'")
        size = [{"op": "add", "path": "/batchSize", "value": 3}]
        company.writes.patch("eventsubscription", Key.by_id(alert), size, actor=SYSTEM)
        past_ms = SystemClock().now_ms() - 5 * MINUTE_MS
        for number in range(7):
            company.describe("orders", f"text {number}", by="cem")
        notify_all(sqlite_engine, now_ms=past_ms)
        assert statuses(sqlite_engine) == {"pending": 1}
        async with working(sqlite_engine):
            await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    assert endpoint.sizes() == [3, 3, 1]
    texts = [one["entity"]["description"] for _, body in endpoint.arrived for one in json.loads(body)]
    assert texts == [f"text {number}" for number in range(7)]


class HeldEndpoint(Endpoint):
    """Answers the first request, and others once it is ``open``."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        answer = await super().answer(request)
        if len(self.arrived) > 1:
            await self.open.wait()
        return answer


async def test_after_a_kill_between_two_arrays_by_type_the_same_bytes_come_again(
    sqlite_engine: Engine, sqlite_url: str
) -> None:
    company, endpoint = SmallCompany(sqlite_engine), HeldEndpoint()
    async with receiver(endpoint.answer) as url:
        config = {"endpoint": url, "batchBy": "entityType", "secretKey": "k"}
        hook = {"category": "External", "type": "Webhook", "config": config}
        company.alert("by type", [hook], "fieldChanged == 'description'")
        for number in range(3):
            company.describe("orders", f"text {number}", by="cem")
            company.put("databaseService", {"name": "pg", "serviceType": "Postgres", "description": f"text {number}"})
        notify_all(sqlite_engine, now_ms=SystemClock().now_ms() - 5 * MINUTE_MS)
        process = victim(sqlite_url)
        try:
            await until(lambda: len(endpoint.arrived) == 2)
        finally:
            process.kill()
            await asyncio.to_thread(process.wait)
        endpoint.open.set()
        async with working(sqlite_engine):
            await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    before, after = endpoint.arrived[:2], endpoint.arrived[2:]
    assert [[one["entityType"] for one in json.loads(body)] for _, body in after] == [
        ["table"] * 3,
        ["databaseService"] * 3,
    ]
    assert [body for _, body in before] == [body for _, body in after]
    same = ("webhook-id", "idempotency-key", "x-openmetadata-signature")
    assert [[headers[name] for name in same] for headers, _ in before] == [
        [headers[name] for name in same] for headers, _ in after
    ]
    assert all(is_signed(body, headers, "k") for headers, body in endpoint.arrived)
    keys = [one["idempotencyKey"] for _, body in after for one in json.loads(body)]
    assert len(set(keys)) == 6


async def test_requests_of_a_message_end_with_the_first_that_fails_and_keep_their_ids() -> None:
    first, second, message = Endpoint(200, 503), Endpoint(), message_of(25, batch_size=10)
    failed = await send_message(message, first)
    assert (failed.status_code, first.sizes()) == (503, [10, 10])
    assert isinstance(await send_message(message, second), Delivered)
    assert second.sizes() == [10, 10, 5]
    ids = [[headers["webhook-id"] for headers, _ in one.arrived] for one in (first, second)]
    assert ids[0] == ids[1][:2]
    assert [headers["idempotency-key"] for headers, _ in second.arrived] == ids[1]
    assert [headers["x-tocsin-offset"] for headers, _ in second.arrived] == ["0", "10", "20"]


async def test_large_bodies_are_compressed_if_the_destination_says_so_and_signed_as_they_were() -> None:
    plain, packed, small = Endpoint(), Endpoint(), Endpoint()
    large = message_of(1, sends_arrays=False, size=50_000)
    await send_message(large, plain, secret_key="k")
    await send_message(large, packed, secret_key="k", compression="gzip")
    await send_message(message_of(1), small, compression="gzip")
    (headers, body), (_, plain_body) = packed.arrived[0], plain.arrived[0]
    assert headers["content-encoding"] == "gzip"
    assert int(headers["content-length"]) < 2_000
    assert body == plain_body
    assert is_signed(body, headers, "k")
    assert "content-encoding" not in plain.arrived[0][0] | small.arrived[0][0]


async def test_a_thin_event_says_in_a_header_where_the_whole_one_is() -> None:
    endpoint = Endpoint()
    await send_message(message_of(1, sends_arrays=False, size=300_000), endpoint, payload_format="openmetadata")
    ((headers, body),) = endpoint.arrived
    assert headers["link"] == '<http://tocsin/api/v1/events/e0>; rel="alternate"'
    assert "entity" not in json.loads(body)
