"""Tests of a worker of several processes: limits of a destination hold over all, and kills lose nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from aiohttp import web
from sqlalchemy import Engine
from tests.acceptance.worker.receivers import receiver
from tests.acceptance.worker.test_worker import ON_ONE_STORE, statuses, until
from tests.store.rows import add_alert, add_messages

MOST = 8
_PROGRAM = """
import sys
from tocsin.delivery.worker.deliver import main
from tocsin.settings import Settings

main(
    Settings(
        database_url=sys.argv[1],
        worker_processes=2,
        worker_claim_limit=40,
        worker_lease_s=2.0,
        worker_poll_s=0.05,
        sqlite_synchronous="NORMAL",
        egress_allow=("127.0.0.0/8",),
    )
)
"""


class Answers:
    """Answers after a moment; counts what arrived, and how many requests to an address ran at once."""

    def __init__(self) -> None:
        self.arrived: Counter[str] = Counter()
        self.posted_s: list[float] = []
        self.now, self.most = 0, 0
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        if request.path == "/chat":
            self.posted_s.append(time.monotonic())
            return web.Response(text="ok")
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.02)
        self.now -= 1
        self.arrived[request.headers["webhook-id"]] += 1
        return web.Response()


@asynccontextmanager
async def answering() -> AsyncIterator[Answers]:
    answers = Answers()
    async with receiver(answers.answer) as answers.url:
        yield answers


@contextmanager
def worker(url: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, url], stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": "src"}
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@ON_ONE_STORE
async def test_two_processes_keep_the_limits_of_a_destination_and_lose_nothing_when_killed(
    store_engine: Engine, store_url: str
) -> None:
    async with answering() as answers:
        hook: dict[str, object] = {"id": "d", "config": {"endpoint": f"{answers.url}/hook"}}
        chat: dict[str, object] = {"id": "chat", "type": "Slack", "config": {"endpoint": f"{answers.url}/chat"}}
        add_alert(store_engine, [hook, chat])
        hooks = add_messages(store_engine, 800)
        add_messages(store_engine, 3, destination_id="chat", channel="Slack", target="chat")
        with worker(store_url) as process:
            await until(lambda: len(answers.arrived) > 200 and len(children(process.pid)) == 2)
            await until(lambda: len(answers.arrived) > 300)
            assert answers.most <= MOST
            first, second = children(process.pid)
            os.kill(second, signal.SIGKILL)
            await until(lambda: len(answers.arrived) > 400 and len(answers.posted_s) >= 3)
            os.kill(first, signal.SIGKILL)
            await until(lambda: statuses(store_engine) == {"delivered": 803}, within_s=90)
    assert set(answers.arrived) == set(hooks)
    copies = answers.arrived.total() - len(hooks)
    assert copies <= 2 * 40  # of each killed process what it sent and had not recorded
    assert 3 <= len(answers.posted_s) <= 3 + 2  # of each killed process the one it sent and had not recorded
    pauses_s = [after - before for before, after in zip(answers.posted_s, answers.posted_s[1:], strict=False)]
    assert min(pauses_s) > 0.5  # a second, less what arrivals are late on a busy machine
