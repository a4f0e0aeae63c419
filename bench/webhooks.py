"""Benchmark of webhook throughput: a real ``tocsin deliver`` and a receiver on loopback.

Every ``webhook-id`` must arrive exactly once. The floor is a bare aiohttp client in a separate process that posts
the same signed bodies, with the concurrency that the worker has for one destination. Next: ``bench/startup.py``.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import aiohttp
from aiohttp import web
from sqlalchemy import Engine, func, select

from bench.alerts import destination_id
from bench.estate import Size, build_estate
from bench.measured import Measurement, Report, scale_count
from bench.running import open_store, running, settings_in, tocsin_command
from bench.traffic import append_events
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.flow.resolve.merge import Recipient
from tocsin.flow.schedule.messages import scheduled_notifications
from tocsin.model.message import MessageStatus
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.notification_draft import head_of
from tocsin.model.people import SYSTEM
from tocsin.model.subscription import Channel
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import message
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications

DELIVERY_COUNT = 20_000
HOOK = destination_id("hook")
Post = tuple[bytes, dict[str, str]]
"""The body of a request, and its headers."""

_OF_EACH_CLIENT = frozenset({"host", "accept", "accept-encoding", "user-agent", "content-length"})
_WITHIN_S = 120.0
_LOOK_EVERY_S = 0.1


@dataclass
class Receiver:
    """Answers 200 to everything, and keeps what came and when."""

    url: str = ""
    ids: Counter[str] = field(default_factory=Counter)
    posts: list[Post] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        """Take one message."""
        body = await request.read()
        self.ids[request.headers.get("webhook-id", "")] += 1
        own_headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_EACH_CLIENT}
        self.posts.append((body, own_headers))
        self.times_s.append(time.perf_counter())
        return web.Response()

    def per_s(self) -> float:
        """Return how many came a second, from the first to the last."""
        return (len(self.times_s) - 1) / (self.times_s[-1] - self.times_s[0])


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure a worker that works off messages which are all due."""
    count = scale_count(DELIVERY_COUNT, scale, least=50)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        settings = settings_in(Path(folder))
        with open_store(settings) as (engine, _password):
            return asyncio.run(_measure_deliveries(engine, settings, count, report))


async def _measure_deliveries(engine: Engine, settings: Settings, count: int, report: Report) -> list[Measurement]:
    async with _receiving() as receiver, _receiving() as bare:
        expected_ids = _add_messages(engine, receiver.url, count)
        with running(tocsin_command("deliver"), settings, "deliver"):
            recorded_s = await _all_recorded(engine, count, report)
        if receiver.ids != Counter(expected_ids):
            raise AssertionError(f"{len(receiver.ids)} ids arrived, {receiver.ids.total()} times, of {count}")
        await _post_bare(bare.url, receiver.posts, settings.destination_concurrency)
    recorded_per_s = count / (recorded_s - receiver.times_s[0])
    return [
        Measurement(
            "webhooks", "received, each id once", receiver.per_s(), "deliveries/s", bare.per_s(), count, "5,000"
        ),
        Measurement("webhooks", "recorded as delivered", recorded_per_s, "deliveries/s", bare.per_s(), count),
    ]


@asynccontextmanager
async def _receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/hook", receiver.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
        yield receiver
    finally:
        await runner.cleanup()


def _add_messages(engine: Engine, url: str, count: int) -> list[str]:
    """Make so many due messages of real events to one destination; return their ids."""
    build_estate(engine, Size(tables=10, tested=4, pipelines=4), follows=100)
    config = {"endpoint": url, "secretKey": "a-secret-of-the-benchmark"}
    destination = {"id": HOOK, "category": "External", "type": "Webhook", "config": config}
    request = {"name": "hook", "alertType": "Notification", "destinations": [destination]}
    writes = Writes(SqlCatalogue(engine), SystemClock())
    alert = writes.create("eventsubscription", request, actor=SYSTEM).document["id"]
    Subscriptions(engine).keep_secrets(alert, {HOOK: {"secretKey": config["secretKey"]}})
    reason = Reason(kind=ReasonKind.EXTERNAL, subscription_id=alert, subscription_name="hook", destination_id=HOOK)
    offsets = append_events(engine, count, lambda _done, _total: None)
    recipient = Recipient(Channel.WEBHOOK, f"{alert}:{url}", url, None, (reason,))
    events = EventLog(engine).read(offsets.start - 1, count)
    drafts = [recipient.draft(head_of(logged)) for logged in events]
    notifications = list(scheduled_notifications(drafts, {}, now_ms=SystemClock().now_ms()))
    Notifications(engine).add(notifications)
    return [str(notification.message_id) for notification in notifications]


async def _all_recorded(engine: Engine, count: int, report: Report) -> float:
    """Return when (perf_counter) every message is recorded as delivered."""
    deadline_s = time.perf_counter() + _WITHIN_S
    done_count = 0
    while done_count < count:
        if time.perf_counter() > deadline_s:
            raise TimeoutError(f"{done_count} of {count} messages after {_WITHIN_S:g} s")
        await asyncio.sleep(_LOOK_EVERY_S)
        done_count = await asyncio.to_thread(_delivered_count, engine)
        report(done_count, count)
    return time.perf_counter()


def _delivered_count(engine: Engine) -> int:
    query = select(func.count()).select_from(message).where(message.c.status == MessageStatus.DELIVERED.value)
    with reading(engine) as connection:
        return int(connection.scalar(query) or 0)


async def _post_bare(url: str, posts: Sequence[Post], at_once: int) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        await asyncio.get_running_loop().run_in_executor(process, post_all, url, posts, at_once)


def post_all(url: str, posts: Sequence[Post], at_once: int) -> None:
    """Post every body once, ``at_once`` at a time; runs in a process of its own."""
    asyncio.run(_post_all(url, posts, at_once))


async def _post_all(url: str, posts: Sequence[Post], at_once: int) -> None:
    remaining = iter(posts)

    async def lane(session: aiohttp.ClientSession) -> None:
        for body, headers in remaining:
            async with session.post(url, data=body, headers=headers) as answer:
                await answer.read()

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(lane(session) for _ in range(at_once)))
