"""Receivers of chat messages on loopback, a base for those of each vendor, and a worker that sends to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from sqlalchemy import Engine, select
from tests.acceptance.worker.test_worker import working
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.delivery.dispatch import Sender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.store.database.tables import attempt, message

OpenSender = Callable[[HttpRequests], Sender]


@asynccontextmanager
async def listening(answer: Callable[[web.Request], Any]) -> AsyncIterator[str]:
    """Serve ``answer`` for every path on loopback, and give the address."""
    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def delivering(
    engine: Engine, destination: dict[str, Any], sender: OpenSender, *, changes: int = 1, poll_interval_s: int = 0
) -> AsyncIterator[None]:
    """Run a worker over an alert with this destination and so many changes, gathered within an interval if given."""
    company = SmallCompany(engine)
    async with HttpRequests(egress_of(("127.0.0.0/8",))) as requests:
        company.alert("chat", [destination], poll_interval_s=poll_interval_s)
        for number in range(changes):
            company.describe("orders", f"text {number}")
        assert notify_all(engine) == changes
        async with working(engine, senders={destination["type"]: sender(requests)}):
            yield


def statuses(engine: Engine) -> Counter[tuple[str, int]]:
    """Return how many messages have each status and number of attempts."""
    with engine.connect() as connection:
        message_rows = connection.execute(select(message.c.status, message.c.attempt_count)).all()
    return Counter((row.status, row.attempt_count) for row in message_rows)


def reasons(engine: Engine) -> set[str]:
    """Return the reasons of all attempts."""
    with engine.connect() as connection:
        return set(connection.execute(select(attempt.c.reason)).scalars())
