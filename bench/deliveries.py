"""Benchmark of deliveries to many receivers: one that hangs, a chat with a rate limit, and two workers.

Real ``tocsin deliver`` processes and receivers on loopback; every message must arrive exactly once, by its id.
Next: ``bench/mails.py``.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from aiohttp import web
from sqlalchemy import Engine
from tests.postgres import binaries, running_cluster

from bench.estate import Size, build_estate
from bench.measured import Measurement, Report, p95, scale_count
from bench.running import open_store, running, settings_in, tocsin_command
from bench.traffic import append_events
from tocsin.catalogue.writes import Writes
from tocsin.cli.ports import LOOPBACK
from tocsin.clock import SystemClock
from tocsin.flow.resolve.merge import Recipient
from tocsin.flow.schedule.messages import Timings, scheduled_notifications
from tocsin.model.entity import Document
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.notification_draft import NotificationDraft, head_of
from tocsin.model.people import SYSTEM
from tocsin.model.subscription import Channel
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications

RECEIVER_COUNT, EACH_COUNT = 500, 10
CHANNEL_COUNT, POST_COUNT = 100, 20
_DAY_MS = 86_400_000
_AT_ONCE: Timings = {}
WORKER_COUNT = 10_000
_WITHIN_S = 600.0
_LOOK_EVERY_S = 0.05
_HANGS_S = 30.0
_FAR_S = 0.1
_SLACK_LIMIT_S = 1.0
_BURST = 3.0


@dataclass
class Receivers:
    """Takes webhooks and chat messages, and keeps the id and time of each.

    Paths that begin with ``hang`` hang; those that begin with ``far`` answer as late as one on another continent.
    """

    url: str = ""
    arrived: Counter[str] = field(default_factory=Counter)
    times_s: list[float] = field(default_factory=list)
    refused_count: int = 0
    allowances: dict[str, tuple[float, float]] = field(default_factory=dict)

    def keep(self, message_id: str) -> None:
        """Keep the id and time of an arrival."""
        self.arrived[message_id] += 1
        self.times_s.append(time.perf_counter())

    def per_s(self) -> float:
        """Return how many came a second, from the first to the last."""
        return (len(self.times_s) - 1) / (self.times_s[-1] - self.times_s[0])

    async def take(self, request: web.Request) -> web.Response:
        """Take a webhook, unless it is one that hangs."""
        await request.read()
        if request.path.startswith("/hang"):
            await asyncio.sleep(_HANGS_S)
            return web.Response()
        if request.path.startswith("/far"):
            await asyncio.sleep(_FAR_S)
        self.keep(request.headers["webhook-id"])
        return web.Response(text="ok")

    async def take_post(self, request: web.Request) -> web.Response:
        """Take a chat message as Slack does: one a second to each address, but for short bursts."""
        text, now_s = await request.text(), time.perf_counter()
        allowance, at_s = self.allowances.get(request.path, (_BURST, now_s))
        allowance = min(_BURST, allowance + (now_s - at_s) / _SLACK_LIMIT_S)
        if allowance < 1:
            self.refused_count += 1
            return web.Response(status=429, headers={"Retry-After": "1"})
        self.allowances[request.path] = (allowance - 1, now_s)
        self.keep(f"{request.path} {hash(text)}")
        return web.Response(text="ok")


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure workers that work off messages which are all due."""
    measurements = []
    measurements += [_latency_beside_hanging_receiver(scale)]
    report(1, 3)
    measurements += [_chats(scale_count(CHANNEL_COUNT, scale, least=5), scale_count(POST_COUNT, scale, least=3))]
    report(2, 3)
    return measurements + _two_workers(scale_count(WORKER_COUNT, scale, least=100))


def _latency_beside_hanging_receiver(scale: float) -> Measurement:
    """Return how long the others wait where one of many receivers hangs; the floor is without it."""
    receivers = scale_count(RECEIVER_COUNT, scale, least=10)
    times_ms = [_webhooks(receivers, EACH_COUNT, hangs=hangs) for hangs in (False, True)]
    name = f"webhooks to {receivers - 1:,} receivers beside one that hangs, p95 until arrival"
    return Measurement("deliveries", name, times_ms[1], "ms", times_ms[0], (receivers - 1) * EACH_COUNT, "1.2 x floor")


def _webhooks(receivers: int, count: int, *, hangs: bool) -> float:
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, ExitStack() as stack:
        settings = settings_in(Path(folder))
        engine, _ = stack.enter_context(open_store(settings))
        return asyncio.run(_until_arrived(engine, settings, receivers, count, hangs=hangs))


async def _until_arrived(engine: Engine, settings: Settings, receivers: int, count: int, *, hangs: bool) -> float:
    async with _receiving() as received:
        paths = [f"{received.url}/{'hang' if hangs and not at else 'hook'}/{at}" for at in range(receivers)]
        alerts = make_alerts(engine, [destination_at(Channel.WEBHOOK, endpoint=path) for path in paths])
        ids = add_messages(engine, alerts, count)
        expected = {one for path, many in ids.items() if "/hang/" not in path for one in many}
        with running(tocsin_command("deliver"), settings, "deliver"):
            await until_all_arrived(received, expected)
        times_s = received.times_s[: len(expected)]
        return p95([(one - received.times_s[0]) * 1000 for one in times_s])


def _chats(channels: int, posts: int) -> Measurement:
    """Return how many messages a second reach chats that take one a second each; the floor is that limit."""
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, ExitStack() as stack:
        settings = settings_in(Path(folder))
        engine, _ = stack.enter_context(open_store(settings))
        per_s = asyncio.run(_post_all(engine, settings, channels, posts))
    name = f"Slack: {channels} channels at one message a second each"
    return Measurement("deliveries", name, per_s, "messages/s", channels / _SLACK_LIMIT_S, channels * posts)


async def _post_all(engine: Engine, settings: Settings, channels: int, posts: int) -> float:
    async with _receiving() as received:
        paths = [f"{received.url}/services/{at}" for at in range(channels)]
        alerts = make_alerts(engine, [destination_at(Channel.SLACK, endpoint=path) for path in paths])
        add_messages(engine, alerts, posts)
        with running(tocsin_command("deliver"), settings, "deliver"):
            await _until(lambda: len(received.times_s) >= channels * posts)
        if received.refused_count or max(received.arrived.values()) > 1:
            raise AssertionError(f"{received.refused_count} messages were refused as too many")
        return received.per_s()


def _two_workers(count: int) -> list[Measurement]:
    """Return how much faster two workers are than one, on PostgreSQL if its programs are here."""
    programs = binaries()
    if programs is None:
        return []
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, ExitStack() as stack:
        cluster = stack.enter_context(running_cluster(programs))
        rates = {}
        for path, workers in product(("far", "hook"), (1, 2)):
            name = f"{path}{workers}"
            cluster.run(f"CREATE DATABASE {name}")
            (Path(folder) / name).mkdir()
            settings = settings_in(Path(folder) / name, database_url=cluster.url(name))
            engine, _ = stack.enter_context(open_store(settings))
            rates[path, workers] = asyncio.run(_work_off(engine, settings, count, path, workers=workers))
    name = "webhooks of two workers on PostgreSQL, against one"
    far, near = ((rates[path, 2], "deliveries/s", rates[path, 1], count) for path in ("far", "hook"))
    return [
        Measurement("deliveries", f"{name}: receivers that take 100 ms", *far, "1.7 x floor"),
        Measurement("deliveries", f"{name}: receivers at once, on the same two cores", *near),
    ]


async def _work_off(engine: Engine, settings: Settings, count: int, path: str, *, workers: int) -> float:
    async with _receiving() as received:
        paths = [f"{received.url}/{path}/{at}" for at in range(10)]
        alerts = make_alerts(engine, [destination_at(Channel.WEBHOOK, endpoint=path) for path in paths])
        ids = add_messages(engine, alerts, count // len(paths))
        with ExitStack() as stack:
            for number in range(workers):
                stack.enter_context(running(tocsin_command("deliver"), settings, f"deliver{number}"))
            await until_all_arrived(received, {one for many in ids.values() for one in many})
        return received.per_s()


def destination_at(channel: Channel, **config: object) -> Document:
    """Return a destination with this configuration."""
    place = str(config.get("endpoint") or config.get("receivers"))
    return {"id": str(uuid5(NAMESPACE_URL, place)), "category": "External", "type": channel.value, "config": config}


def make_alerts(
    engine: Engine, destinations: Sequence[Document], *, trigger: Document | None = None
) -> list[tuple[str, Document]]:
    """Make an alert for each destination; return their ids with the destinations."""
    build_estate(engine, Size(tables=10, tested=4, pipelines=4), follows=10)
    writes, alerts = Writes(SqlCatalogue(engine), SystemClock()), []
    for number, destination in enumerate(destinations):
        request: Document = {"name": f"alert{number}", "alertType": "Notification", "destinations": [destination]}
        request |= {"trigger": trigger} if trigger else {}
        alerts.append((writes.create("eventsubscription", request, actor=SYSTEM).document["id"], destination))
    return alerts


def add_messages(
    engine: Engine, alerts: Sequence[tuple[str, Document]], count: int, timings: Timings = _AT_ONCE
) -> dict[str, list[str]]:
    """Make so many due notifications for each destination; return the ids of messages by what the destination names.

    Those of scheduled alerts are of yesterday, so that their digests are due by now.
    """
    offsets = append_events(engine, count, lambda _done, _total: None)
    events = EventLog(engine).read(offsets.start - 1, count)
    drafts: list[NotificationDraft] = []
    for alert, destination in alerts:
        config = destination["config"]
        target = config.get("endpoint") or config["receivers"][0]
        reason = Reason(
            kind=ReasonKind.EXTERNAL,
            subscription_id=alert,
            subscription_name="bench",
            destination_id=destination["id"],
        )
        recipient = Recipient(Channel(destination["type"]), f"{alert}:{target}", target, None, (reason,))
        drafts += [recipient.draft(head_of(logged)) for logged in events]
    now_ms = SystemClock().now_ms() - (_DAY_MS if timings else 0)
    notifications = list(scheduled_notifications(drafts, timings, now_ms=now_ms))
    Notifications(engine).add(notifications)
    ids: dict[str, dict[str, None]] = defaultdict(dict)
    for notification in notifications:
        ids[notification.draft.target][str(notification.message_id)] = None
    return {target: list(many) for target, many in ids.items()}


async def until_all_arrived(received: Receivers, expected: set[str]) -> None:
    """Return once every message has arrived; raise where one came twice or another one came."""
    await _until(lambda: len(received.arrived) >= len(expected))
    if received.arrived != Counter(expected):
        raise AssertionError(f"{len(received.arrived)} ids arrived, {received.arrived.total()} times")


async def _until(holds: Any) -> None:  # Any: a question
    async with asyncio.timeout(_WITHIN_S):
        while not holds():
            await asyncio.sleep(_LOOK_EVERY_S)


@asynccontextmanager
async def _receiving() -> AsyncIterator[Receivers]:
    received = Receivers()
    app = web.Application()
    app.router.add_post("/services/{channel}", received.take_post)
    app.router.add_post("/{kind}/{number}", received.take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, 0).start()
        received.url = f"http://{LOOPBACK}:{runner.addresses[0][1]}"
        yield received
    finally:
        await runner.cleanup()
