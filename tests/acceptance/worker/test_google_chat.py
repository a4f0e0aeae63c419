"""Tests of Google Chat through a worker: a space that keeps the API's published rules, and what its answers lead to."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from sqlalchemy import Engine, select
from tests.acceptance.worker.test_worker import until, working
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.delivery.channels.google_chat.render import MESSAGE_BYTES
from tocsin.delivery.channels.google_chat.sender import google_chat_sender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.model.subscription import Channel
from tocsin.store.database.tables import attempt, message

KEY = "key-of-the-space"


class ChatSpace:
    """A space with an incoming webhook: one key and token, JSON of at most 32,000 bytes, so many messages a minute."""

    def __init__(self, *, per_minute: int = 60, exists: bool = True) -> None:
        self.cards: list[dict[str, object]] = []
        self.threads: list[str] = []
        self.answers: Counter[int] = Counter()
        self._left, self._exists = per_minute, exists

    async def create(self, request: web.Request) -> web.Response:
        body = await request.read()
        status = self._status(request, body)
        self.answers[status] += 1
        if status != 200:
            return web.json_response({"error": {"code": status}}, status=status)
        self._left -= 1
        payload = await request.json()
        self.cards += payload["cardsV2"]
        self.threads.append(payload["thread"]["threadKey"])
        return web.json_response({"name": "spaces/AAAA/messages/1"})

    def _status(self, request: web.Request, body: bytes) -> int:
        if not self._exists:
            return 404
        if (request.query.get("key"), request.query.get("token")) != (KEY, "t0ken"):
            return 403
        if len(body) > MESSAGE_BYTES or request.content_type != "application/json":
            return 400
        return 200 if self._left > 0 else 429


@asynccontextmanager
async def serve_space(space: ChatSpace) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/spaces/AAAA/messages", space.create)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1/spaces/AAAA/messages?key={KEY}&token=t0ken"
    await runner.cleanup()


@asynccontextmanager
async def delivering(
    engine: Engine, space: ChatSpace, changes: int, *, poll_interval_s: int = 0
) -> AsyncIterator[None]:
    """A worker over an alert to the space and so many changes, gathered within an interval if there is one."""
    company = SmallCompany(engine)
    async with serve_space(space) as url, HttpRequests(egress_of(("127.0.0.0/8",))) as requests:
        chat = {"category": "External", "type": "GChat", "config": {"endpoint": url}}
        company.alert("chat", [chat], poll_interval_s=poll_interval_s)
        for number in range(changes):
            company.describe("orders", f"text {number}")
        assert notify_all(engine) == changes
        async with working(
            engine, senders={Channel.G_CHAT: google_chat_sender(requests, base_url="https://t.example")}
        ):
            yield


def statuses(engine: Engine) -> Counter[tuple[str, int]]:
    with engine.connect() as connection:
        message_rows = connection.execute(select(message.c.status, message.c.attempt_count)).all()
    return Counter((row.status, row.attempt_count) for row in message_rows)


async def test_every_change_is_a_card_in_the_space(store_engine: Engine) -> None:
    space = ChatSpace()
    async with delivering(store_engine, space, 3):
        await until(lambda: statuses(store_engine) == {("delivered", 1): 3})
    titles = sorted(one["card"]["header"]["title"] for one in space.cards)  # type: ignore[index]
    assert titles == ["orders: description added", *["orders: description changed"] * 2]
    assert len({str(one["cardId"]) for one in space.cards}) == 3


async def test_changes_of_one_moment_are_one_card(store_engine: Engine) -> None:
    space = ChatSpace()
    async with delivering(store_engine, space, 30, poll_interval_s=60):
        await until(lambda: statuses(store_engine) == {("delivered", 1): 1})
    ((title, sections),) = [(one["card"]["header"]["title"], one["card"]["sections"]) for one in space.cards]  # type: ignore[index]
    assert title == "orders: description added, changed 30 times"
    (text,) = [one["widgets"][0]["textParagraph"]["text"] for one in sections]
    assert "description added, changed 30 times" in text


async def test_a_space_that_has_had_enough_gets_the_rest_later(sqlite_engine: Engine) -> None:
    space = ChatSpace(per_minute=2)
    async with delivering(sqlite_engine, space, 3):
        await until(lambda: space.answers == {200: 2, 429: 1})
        await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 2, ("awaitingRetry", 1): 1})


async def test_a_deleted_space_stops_the_destination(sqlite_engine: Engine) -> None:
    async with delivering(sqlite_engine, ChatSpace(exists=False), 1):
        await until(lambda: statuses(sqlite_engine) == {("awaitingRetry", 1): 1})
    with sqlite_engine.connect() as connection:
        assert connection.execute(select(attempt.c.reason)).scalars().all() == ["gone"]
