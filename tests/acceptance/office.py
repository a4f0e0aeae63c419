"""A running Tocsin with receivers of mail and requests in threads, for walks through pages of the seeds."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from sqlalchemy import Engine, select
from tests.serving import Json, Served
from tests.workers import with_parts

from tocsin.clock import FixedClock, SystemClock
from tocsin.delivery.worker.build import build
from tocsin.delivery.worker.deliver import Worker
from tocsin.delivery.worker.dev_receiver import Receiver, receiving
from tocsin.delivery.worker.parts import Limits
from tocsin.settings import Settings
from tocsin.store.database.tables import message

_PATCH = {"Content-Type": "application/json-patch+json"}


@dataclass
class Office:
    """A running Tocsin, and what its receivers got."""

    served: Served
    client: httpx.Client
    engine: Engine
    settings: Settings
    receiver: Receiver
    url: str
    alerts: dict[str, Json] = field(default_factory=dict)
    began_ms: int = field(default_factory=SystemClock().now_ms)

    def post(self, path: str, **request: Any) -> Json:
        answer = self.client.post(path, json=request)
        assert answer.status_code in (200, 201), f"{path}: {answer.text}"
        return answer.json()

    def alert(self, request: Json) -> Json:
        created = self.post("/events/subscriptions", **request)
        self.alerts[created["name"]] = created
        return created

    def patch(self, path: str, *operations: Json) -> Json:
        answer = self.client.patch(path, json=list(operations), headers=_PATCH)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def mails(self, alert: str) -> list[tuple[str, str]]:
        """Return the recipients and texts of the mails that name an alert as a reason."""
        mention = re.compile(rf"\(alerts? ([^()]*(, | and ))?{re.escape(alert)}(,| and |[;)])")
        mails: list[Json] = [one for one in self.receiver.arrivals() if one["kind"] == "mail"]
        return [(one["to"][0], one["text"]) for one in mails if mention.search(one["text"])]

    def posts(self, path: str) -> list[Json]:
        """Return what arrived at a path."""
        return [one for one in self.receiver.arrivals() if one["kind"] == "webhook" and one["path"] == path]


@asynccontextmanager
async def _working(settings: Settings, now_ms: int | None = None) -> AsyncIterator[None]:
    async with build(settings) as parts:
        clock = SystemClock() if now_ms is None else FixedClock(now_ms)
        stop = asyncio.Event()
        task = asyncio.create_task(Worker(with_parts(parts, limits=Limits(poll_s=0.05), clock=clock)).run(stop))
        try:
            yield
        finally:
            stop.set()
            await task


@contextmanager
def working(settings: Settings, now_ms: int | None = None) -> Iterator[None]:
    """Run a worker in a thread; at a fixed time if one is given."""
    stop, start = threading.Event(), threading.Event()

    async def work() -> None:
        async with _working(settings, now_ms):
            start.set()
            while not stop.is_set():
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    try:
        assert start.wait(30)
        yield
    finally:
        stop.set()
        thread.join(60)


@contextmanager
def post_room(receiver: Receiver) -> Iterator[tuple[int, int]]:
    """Receive mail and requests in a thread; yield the ports."""
    stop, start = threading.Event(), threading.Event()
    ports: list[tuple[int, int]] = []

    async def receive() -> None:
        async with receiving(receiver, 0, 0) as both:
            ports.append(both)
            start.set()
            while not stop.is_set():
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(receive()))
    thread.start()
    try:
        assert start.wait(30)
        yield ports[0]
    finally:
        stop.set()
        thread.join(30)


def due_times(engine: Engine, now_ms: int | None = None) -> list[int]:
    """Return when what is not sent yet is due, of all messages or of those that are due now."""
    is_open = message.c.status.in_(("pending", "awaitingRetry"))
    with engine.connect() as connection:
        due = list(connection.scalars(select(message.c.due_at_ms).where(is_open)))
    return [one for one in due if now_ms is None or one <= now_ms]
