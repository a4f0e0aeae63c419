"""Tests of a real worker with a real store and receivers: messages, their number, and the records."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import pytest
from aiohttp import web
from pydantic import SecretStr
from sqlalchemy import Engine, select, update
from tests.acceptance.worker.senders import webhook_sender
from tests.postgres import binaries
from tests.store.rows import SUBSCRIPTION, add_alert, add_messages, states
from tests.suspended import suspend
from tests.unit.delivery.events import NOW_MS
from tests.workers import with_parts, worker_parts

from tocsin.clock import SystemClock
from tocsin.delivery.dispatch import Dispatch, Route
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.worker.deliver import Worker
from tocsin.delivery.worker.parts import Limits
from tocsin.flow.track.attempts import Finished
from tocsin.model.message import DroppedReason, Message, Outcome, OutcomeReason
from tocsin.model.replay import Replay, ReplayState, Selection
from tocsin.model.subscription import Channel
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import open_engine, reading, writing
from tocsin.store.database.tables import attempt, entity, message
from tocsin.store.database.vault import new_key, use_vault
from tocsin.store.outbox.addresses import Routes
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.preferences import RecentPreferences
from tocsin.store.outbox.records import Records
from tocsin.store.outbox.replays import Replays
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.outbox.status import DestinationStatuses

PATIENCE_S = 30.0
ON_ONE_STORE = pytest.mark.parametrize(
    "store_url",
    [
        pytest.param("sqlite", marks=[pytest.mark.soak] if binaries() else []),
        pytest.param("postgresql", marks=pytest.mark.postgres),
    ],
    indirect=True,
)
"""For what takes seconds; ``tests/store`` asks both stores about sessions, leases and claims."""

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Receiver:
    """Counts what arrives by webhook-id and path."""

    def __init__(self) -> None:
        self.arrived: list[tuple[str, str]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        self.arrived.append((request.path, request.headers["webhook-id"]))
        if request.path.startswith("/slow"):
            await asyncio.sleep(PATIENCE_S)
        if request.path.startswith("/held"):
            await self.open.wait()
        if request.path == "/echo":
            return web.Response(text="\n".join(f"{name}: {value}" for name, value in request.headers.items()))
        status = int(request.path.rpartition("/")[2]) if request.path.startswith("/status/") else 200
        return web.Response(status=status)

    def ids(self, path: str) -> list[str]:
        return [one for at, one in self.arrived if at == path]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    new_receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", new_receiver.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    new_receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield new_receiver
    await runner.cleanup()


LIMITS = Limits(lease_s=60.0, poll_s=0.02, grace_s=5.0)


@contextlib.asynccontextmanager
async def working(engine: Engine, limits: Limits = LIMITS, **replaced_parts: Any) -> AsyncIterator[None]:
    """Run a worker on ``engine`` while the context lasts."""
    stop = asyncio.Event()
    async with webhook_sender(egress_of(("127.0.0.0/8",))) as webhook:
        parts = with_parts(worker_parts(engine, {Channel.WEBHOOK: webhook}), limits=limits, **replaced_parts)
        task = asyncio.create_task(Worker(parts).run(stop))
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait_for(task, PATIENCE_S)


async def until(holds: Callable[[], bool], *, within_s: float = PATIENCE_S) -> None:
    """Return once ``holds``; fail when it does not within the time."""
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.02)


def statuses(engine: Engine) -> Counter[str]:
    return Counter(status for status, _ in states(engine).values())


def destination_at(receiver: Receiver, path: str, name: str = "d", **fields: Any) -> dict[str, object]:
    return {"id": name, "config": {"endpoint": receiver.url + path}, **fields}


async def test_every_message_arrives_once_and_is_recorded(store_engine: Engine, receiver: Receiver) -> None:
    add_alert(store_engine, [destination_at(receiver, "/hook")])
    ids = add_messages(store_engine, 200)
    async with working(store_engine):
        await until(lambda: statuses(store_engine) == {"delivered": 200})
    assert sorted(receiver.ids("/hook")) == sorted(ids)
    assert DestinationStatuses(store_engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"].delivered_count == 200


async def test_outcomes_are_recorded_in_groups(sqlite_engine: Engine, receiver: Receiver) -> None:
    class Counting(Messages):
        groups: ClassVar[list[int]] = []

        def record(self, session_id: str, finished: Sequence[Finished], *, now_ms: int) -> set[str]:
            self.groups.append(len(finished))
            return super().record(session_id, finished, now_ms=now_ms)

    add_alert(sqlite_engine, [destination_at(receiver, "/hook")])
    add_messages(sqlite_engine, 50)
    async with working(sqlite_engine, replace(LIMITS, per_destination=1), messages=Counting(sqlite_engine)):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 50})
    assert sum(Counting.groups) == 50
    assert Counting.groups[0] > 1, "the first waits for those that follow"


async def test_two_workers_share_the_work_and_send_nothing_twice(store_engine: Engine, receiver: Receiver) -> None:
    add_alert(store_engine, [destination_at(receiver, "/a", "a"), destination_at(receiver, "/b", "b")])
    ids = [one for name in "ab" for one in add_messages(store_engine, 150, destination_id=name)]
    async with working(store_engine, owner="one"), working(store_engine, owner="two"):
        await until(lambda: statuses(store_engine) == {"delivered": 300})
    assert Counter(one for _, one in receiver.arrived) == Counter(ids)


async def test_one_slow_receiver_delays_nobody_else(sqlite_engine: Engine, receiver: Receiver) -> None:
    """Fault scenario 17."""
    add_alert(
        sqlite_engine, [destination_at(receiver, "/slow", "a-slow"), destination_at(receiver, "/hook", "b-swift")]
    )
    add_messages(sqlite_engine, 500, destination_id="a-slow")
    swift = add_messages(sqlite_engine, 200, destination_id="b-swift")
    limits = replace(LIMITS, grace_s=0.1)
    async with working(sqlite_engine, limits):
        await until(lambda: len(receiver.ids("/slow")) == limits.per_destination)
        await until(lambda: statuses(sqlite_engine)["delivered"] == 200, within_s=10.0)
    assert sorted(receiver.ids("/hook")) == sorted(swift)
    assert len(receiver.ids("/slow")) == limits.per_destination


async def test_no_destination_gets_more_requests_at_once_than_allowed(
    sqlite_engine: Engine, receiver: Receiver
) -> None:
    add_alert(sqlite_engine, [destination_at(receiver, "/held")])
    add_messages(sqlite_engine, 40)
    receiver.open.clear()
    async with working(sqlite_engine, replace(LIMITS, per_destination=3)):
        await until(lambda: len(receiver.arrived) == 3)
        await asyncio.sleep(0.2)  # time enough for a fourth, were there one
        assert len(receiver.arrived) == 3
        receiver.open.set()
        await until(lambda: statuses(sqlite_engine) == {"delivered": 40})


async def test_a_replay_goes_out_behind_what_is_live_with_the_same_ids(
    store_engine: Engine, receiver: Receiver
) -> None:
    add_alert(store_engine, [destination_at(receiver, "/held")])
    dead = add_messages(store_engine, 20, name="dead", status="failed", attempt_count=1)
    with writing(store_engine) as connection:
        attempt_row = {"number": 1, "started_at_ms": 1, "duration_ms": 1, "outcome": "rejected", "reason": "badUrl"}
        connection.execute(attempt.insert(), [{**attempt_row, "message_id": one, "detail": ""} for one in dead])
    live = add_messages(store_engine, 60, name="live")
    replays = Replays(store_engine)
    replays.add(Replay("r", "ana", NOW_MS + 1_000, Selection(), ReplayState.COLLECTING))
    async with working(store_engine, replace(LIMITS, per_destination=4, claim=16)):
        await until(lambda: statuses(store_engine) == {"delivered": 80})
    arrived_ids = receiver.ids("/held")
    assert sorted(arrived_ids) == sorted([*dead, *live])
    assert set(arrived_ids[:48]) <= set(live), "a claim takes replays only when nothing live is left for it"
    replay = replays.find("r")
    assert replay is not None
    assert (replay.state, replay.total_count, replay.delivered_count) == (ReplayState.DONE, 20, 20)


async def test_a_receivers_answer_is_kept_without_the_secrets_that_it_repeats(
    sqlite_engine: Engine, receiver: Receiver
) -> None:
    headers = {"X-Api-Key": "canary-secret"}
    add_alert(
        sqlite_engine,
        [destination_at(receiver, "/echo", config={"endpoint": f"{receiver.url}/echo", "headers": headers})],
    )
    (message_id,) = add_messages(sqlite_engine, 1)
    async with working(sqlite_engine):
        await until(lambda: states(sqlite_engine)[message_id][0] == "delivered")
    (tried,) = Records(sqlite_engine).attempts(message_id)
    assert "canary-secret" not in tried.detail
    assert "X-Api-Key: *********" in tried.detail


async def test_stopping_finishes_what_is_in_flight_and_gives_back_the_rest(
    sqlite_engine: Engine, receiver: Receiver
) -> None:
    add_alert(sqlite_engine, [destination_at(receiver, "/held")])
    add_messages(sqlite_engine, 40)
    receiver.open.clear()
    async with working(sqlite_engine):
        await until(lambda: len(receiver.arrived) == 8)
        asyncio.get_running_loop().call_later(0.2, receiver.open.set)
    assert statuses(sqlite_engine) == {"delivered": 8, "pending": 32}
    Sessions(sqlite_engine).begin("next", lease_ms=1_000, now_ms=0)
    assert len(Messages(sqlite_engine).claim("next", 64, now_ms=NOW_MS + 1_000)) == 32


def _is_to_be_retried(engine: Engine, message_id: str, tried: int) -> bool:
    return states(engine)[message_id] == ("awaitingRetry", tried)


async def test_a_failure_is_tried_again_until_the_limit(sqlite_engine: Engine, receiver: Receiver) -> None:
    add_alert(sqlite_engine, [destination_at(receiver, "/status/503")], retries=2)
    (message_id,) = add_messages(sqlite_engine, 1)
    async with working(sqlite_engine):
        for tried in (1, 2):
            await until(partial(_is_to_be_retried, sqlite_engine, message_id, tried))
            with writing(sqlite_engine) as connection:  # the wait is over
                connection.execute(update(message).values(due_at_ms=0))
        await until(lambda: states(sqlite_engine)[message_id] == ("retryLimitReached", 3))
    assert receiver.ids("/status/503") == [message_id] * 3
    assert DestinationStatuses(sqlite_engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"].status == "retryLimitReached"


@pytest.mark.parametrize("path", ["/status/503", None])
async def test_without_retries_one_attempt_is_all(sqlite_engine: Engine, receiver: Receiver, path: str | None) -> None:
    away: dict[str, object] = {"id": "d", "config": {"endpoint": "http://127.0.0.1:1/hook"}}
    add_alert(sqlite_engine, [destination_at(receiver, path) if path else away], retries=0)
    (message_id,) = add_messages(sqlite_engine, 1)
    async with working(sqlite_engine):
        await until(lambda: states(sqlite_engine)[message_id] == ("retryLimitReached", 1))
    standing = DestinationStatuses(sqlite_engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"]
    assert (standing.status, standing.next_attempt_ms) == ("retryLimitReached", None)


async def test_a_receiver_that_restarts_loses_nothing(sqlite_engine: Engine, receiver: Receiver) -> None:
    with socket.socket() as down:
        down.bind(("127.0.0.1", 0))
        add_alert(
            sqlite_engine, [{"id": "d", "config": {"endpoint": f"http://127.0.0.1:{down.getsockname()[1]}/hook"}}]
        )
        (message_id,) = add_messages(sqlite_engine, 1)
        async with working(sqlite_engine):
            await until(lambda: states(sqlite_engine)[message_id] == ("awaitingRetry", 1))
            standing = DestinationStatuses(sqlite_engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"]
            assert (standing.status, standing.last_failed_reason) == ("failed", "connectionFailed")
            assert standing.next_attempt_ms is not None
    add_alert(sqlite_engine, [destination_at(receiver, "/hook")])  # it is back
    with writing(sqlite_engine) as connection:
        connection.execute(update(message).values(due_at_ms=0))  # its wait is over
    async with working(sqlite_engine):
        await until(lambda: states(sqlite_engine)[message_id] == ("delivered", 2))
    assert receiver.ids("/hook") == [message_id]


async def test_with_a_wrong_key_nothing_is_sent_and_what_is_due_waits(
    store_engine: Engine, store_url: str, receiver: Receiver
) -> None:
    add_alert(store_engine, [destination_at(receiver, "/hook")])
    Subscriptions(store_engine).keep_secrets(SUBSCRIPTION, {"d": {"secretKey": "k"}})
    (message_id,) = add_messages(store_engine, 1)
    elsewhere = open_engine(store_url)
    use_vault(elsewhere, Settings(secrets_key=SecretStr(new_key())))
    async with working(elsewhere):
        await until(lambda: states(store_engine)[message_id] == ("awaitingRetry", 1))
    # What a thread of the worker still holds would come back to no pool, and stay open.
    await until(lambda: elsewhere.pool.checkedout() == 0)  # type: ignore[attr-defined]
    elsewhere.dispose()
    assert receiver.arrived == []
    with writing(store_engine) as connection:
        assert "secrets_key" in connection.execute(select(attempt.c.detail)).scalar_one()
        connection.execute(update(message).values(due_at_ms=0))
    async with working(store_engine):
        await until(lambda: states(store_engine)[message_id] == ("delivered", 2))


@pytest.mark.parametrize("how", ["alert changed", "resumed"])
async def test_gone_stops_a_destination_and_what_waits_goes_out_when_it_is_resumed(
    store_engine: Engine, receiver: Receiver, how: str
) -> None:
    add_alert(store_engine, [destination_at(receiver, "/status/410")], retries=0)
    ids = add_messages(store_engine, 30)
    limits = replace(LIMITS, per_destination=1, claim=1)
    async with working(store_engine, limits):
        await until(lambda: statuses(store_engine) == {"awaitingRetry": 1, "pending": 29})
    async with working(store_engine, limits):
        await asyncio.sleep(0.2)  # time enough for another, were there one
    assert len(receiver.arrived) == 1
    standing = DestinationStatuses(store_engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"]
    assert (standing.status, standing.last_failed_status_code, standing.next_attempt_ms) == ("awaitingRetry", 410, None)
    add_alert(store_engine, [destination_at(receiver, "/hook")], retries=0)
    if how == "resumed":
        DestinationStatuses(store_engine).resume(SUBSCRIPTION, "d", now_ms=SystemClock().now_ms())
    else:
        with writing(store_engine) as connection:
            connection.execute(update(entity).values(updated_at_ms=NOW_MS + 1))
            connection.execute(update(message).values(due_at_ms=0))  # the wait is over
    async with working(store_engine):
        await until(lambda: statuses(store_engine) == {"delivered": 30})
    assert sorted(receiver.ids("/hook")) == sorted(ids)


@pytest.mark.parametrize("how", ["alert deleted", "alert off", "destination off", "destination removed"])
async def test_what_was_switched_off_meanwhile_gets_nothing(
    sqlite_engine: Engine, receiver: Receiver, how: str
) -> None:
    """Fault scenario 14."""
    if how != "alert deleted":
        name = "other" if how == "destination removed" else "d"
        enabled = how != "destination off"
        add_alert(sqlite_engine, [destination_at(receiver, "/hook", name, enabled=enabled)], enabled=how != "alert off")
    add_messages(sqlite_engine, 3)
    async with working(sqlite_engine):
        await until(lambda: statuses(sqlite_engine) == {"failed": 3})
    assert receiver.arrived == []
    assert DestinationStatuses(sqlite_engine).of([SUBSCRIPTION]) == {}
    with reading(sqlite_engine) as connection:
        assert set(connection.execute(select(attempt.c.reason)).scalars()) == {"disabled"}


async def test_a_fault_of_our_own_counts_as_a_failed_try(sqlite_engine: Engine, receiver: Receiver) -> None:
    class Broken:
        async def send(self, *_: Any, **__: Any) -> Outcome:
            raise KeyError("a bug")

    add_alert(sqlite_engine, [destination_at(receiver, "/hook")])
    (message_id,) = add_messages(sqlite_engine, 1)
    async with working(sqlite_engine, senders={Channel.WEBHOOK: Broken()}):
        await until(lambda: states(sqlite_engine)[message_id] == ("awaitingRetry", 1))


@ON_ONE_STORE
async def test_a_slow_answer_keeps_its_lease_and_is_not_asked_for_twice(
    store_engine: Engine, receiver: Receiver
) -> None:
    """Fault scenario 13."""
    add_alert(store_engine, [destination_at(receiver, "/held", readTimeout=30)])
    (message_id,) = add_messages(store_engine, 1)
    receiver.open.clear()
    limits = replace(LIMITS, lease_s=1.5)
    async with working(store_engine, limits, owner="one"), working(store_engine, limits, owner="two"):
        await until(lambda: len(receiver.arrived) == 1)
        await asyncio.sleep(2 * limits.lease_s)  # without a heartbeat the other worker would have it by now
        receiver.open.set()
        await until(lambda: states(store_engine)[message_id] == ("delivered", 1))
    assert receiver.ids("/held") == [message_id]


async def test_a_store_that_is_away_between_claim_and_sending_costs_no_try(
    sqlite_engine: Engine, receiver: Receiver
) -> None:
    calls: Counter[str] = Counter()

    def away_once(method: str) -> None:
        calls[method] += 1
        if calls[method] == 1:
            raise ConnectionRefusedError("[Errno 111] Connection refused")

    class AwayRoutes(Routes):
        def of(self, subscription_id: str) -> dict[str, Route]:
            away_once("route")
            return super().of(subscription_id)

    class AwayPermitted(Permitted):
        def permitted_part(
            self, dispatch: Dispatch, *, now_ms: int
        ) -> tuple[Dispatch | None, tuple[DroppedReason, ...]]:
            away_once("permitted")
            return super().permitted_part(dispatch, now_ms=now_ms)

    add_alert(sqlite_engine, [destination_at(receiver, "/hook")], retries=0)
    ids = add_messages(sqlite_engine, 3)
    async with working(sqlite_engine, routes=AwayRoutes(sqlite_engine), permitted=AwayPermitted(sqlite_engine)):
        await until(lambda: sum(statuses(sqlite_engine).values()) - statuses(sqlite_engine)["pending"] == 3)
    assert set(states(sqlite_engine).values()) == {("delivered", 1)}
    assert sorted(receiver.ids("/hook")) == sorted(ids)


async def test_a_store_that_is_away_for_a_moment_loses_no_outcome(sqlite_engine: Engine, receiver: Receiver) -> None:
    class Away(Messages):
        failures = 1

        def record(self, *args: Any, **options: Any) -> set[str]:
            if self.failures:
                self.failures -= 1
                raise ConnectionError("the store is away")
            return super().record(*args, **options)

    add_alert(sqlite_engine, [destination_at(receiver, "/hook")])
    (message_id,) = add_messages(sqlite_engine, 1)
    async with working(sqlite_engine, messages=Away(sqlite_engine)):
        await until(lambda: states(sqlite_engine)[message_id] == ("delivered", 1))
    assert receiver.ids("/hook") == [message_id]


VICTIMS_LEASE_S = 1.0
_VICTIM = """
import sys
from tocsin.settings import Settings
from tocsin.delivery.worker.deliver import main

main(
    Settings(
        database_url=sys.argv[1],
        worker_lease_s=1.0,
        worker_poll_s=0.05,
        sqlite_synchronous="NORMAL",
        egress_allow=("127.0.0.0/8",),
    )
)
"""


def victim(url: str) -> subprocess.Popen[bytes]:
    """Start a worker in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", _VICTIM, url], stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": "src"}
    )


@ON_ONE_STORE
async def test_a_killed_workers_messages_come_back_under_the_same_ids(
    store_engine: Engine, store_url: str, receiver: Receiver
) -> None:
    """Fault scenario 10."""
    add_alert(store_engine, [destination_at(receiver, "/held")])
    ids = add_messages(store_engine, 20)
    receiver.open.clear()
    process = victim(store_url)
    try:
        await until(lambda: len(receiver.arrived) == 8)
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)
    kill_s = time.monotonic()
    receiver.open.set()
    async with working(store_engine):
        await until(lambda: statuses(store_engine) == {"delivered": 20})
    assert time.monotonic() - kill_s < 15
    arrival_counts = Counter(receiver.ids("/held"))
    assert set(arrival_counts) == set(ids)
    assert sorted(arrival_counts.values()) == [1] * 12 + [2] * 8
    assert set(states(store_engine).values()) == {("delivered", 1)}


async def test_a_worker_ends_well_when_it_is_asked_to(
    sqlite_engine: Engine, sqlite_url: str, receiver: Receiver
) -> None:
    add_alert(sqlite_engine, [destination_at(receiver, "/hook")])
    add_messages(sqlite_engine, 5)
    process = victim(sqlite_url)
    try:
        await until(lambda: statuses(sqlite_engine) == {"delivered": 5})
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()


@contextlib.asynccontextmanager
async def paused_victim(engine: Engine, url: str, receiver: Receiver) -> AsyncIterator[subprocess.Popen[bytes]]:
    """Yield a worker that has 64 messages, eight of them under way, and was stopped for longer than its lease."""
    add_alert(engine, [destination_at(receiver, "/held")])
    receiver.open.clear()
    process = victim(url)
    try:
        await until(lambda: len(receiver.arrived) == 8)
        await asyncio.to_thread(suspend, process, engine)
        receiver.open.set()
        await asyncio.sleep(1.5 * VICTIMS_LEASE_S)  # what is asked about is what so long a pause does
        yield process
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)


@ON_ONE_STORE
async def test_a_worker_that_was_paused_for_longer_than_its_lease_delivers_all_that_it_holds(
    store_engine: Engine, store_url: str, receiver: Receiver
) -> None:
    ids = add_messages(store_engine, 64)
    async with paused_victim(store_engine, store_url, receiver) as process:
        process.send_signal(signal.SIGCONT)
        await until(lambda: statuses(store_engine) == {"delivered": 64})
    assert Counter(receiver.ids("/held")) == Counter(ids)  # nobody else was at it: no copies either


@ON_ONE_STORE
async def test_what_a_paused_worker_held_is_delivered_by_another_and_it_goes_on_with_what_is_new(
    store_engine: Engine, store_url: str, receiver: Receiver
) -> None:
    ids = add_messages(store_engine, 64)
    async with paused_victim(store_engine, store_url, receiver) as process:
        async with working(store_engine):
            await until(lambda: statuses(store_engine) == {"delivered": 64})
            sent_count = len(receiver.arrived)
            process.send_signal(signal.SIGCONT)
        later_ids = add_messages(store_engine, 5, destination_id="d", name="more")
        await until(lambda: statuses(store_engine) == {"delivered": 69})
    assert len(receiver.arrived) == sent_count + 5
    arrived = Counter(receiver.ids("/held"))
    assert set(arrived) == {*ids, *later_ids}
    assert sum(arrived.values()) <= 69 + 8  # copies of nothing but what was under way


class SetClock:
    """The machine's clock, set forward or back while it runs."""

    def __init__(self) -> None:
        self.set_by_ms = 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.set_by_ms


@ON_ONE_STORE
async def test_a_clock_that_is_set_sends_no_copies(store_engine: Engine, receiver: Receiver) -> None:
    """Fault scenario 6."""
    add_alert(store_engine, [destination_at(receiver, "/held", readTimeout=30)])
    ids = add_messages(store_engine, 40)
    receiver.open.clear()
    clock = SetClock()
    async with working(store_engine, owner="one", clock=clock), working(store_engine, owner="two"):
        await until(lambda: len(receiver.arrived) >= 8)
        for set_by_ms in (3_600_000, -3_600_000, 0):
            clock.set_by_ms = set_by_ms
            await asyncio.sleep(0.3)  # looks for what is due, each 20 ms
        receiver.open.set()
        await until(lambda: statuses(store_engine) == {"delivered": 40})
    assert Counter(receiver.ids("/held")) == Counter(ids)


async def test_a_retry_that_a_wrong_clock_put_off_is_tried_after_its_wait(
    sqlite_engine: Engine, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tocsin.delivery.transport.retry.WAITS_S", (1.0, 300.0))
    add_alert(sqlite_engine, [destination_at(receiver, "/status/503")])
    (message_id,) = add_messages(sqlite_engine, 1)
    clock = SetClock()
    clock.set_by_ms = 24 * 3_600_000
    limits = replace(LIMITS, lease_s=0.6)
    async with working(sqlite_engine, limits, clock=clock):
        await until(lambda: states(sqlite_engine)[message_id] == ("awaitingRetry", 1))
        clock.set_by_ms = 0
        await until(lambda: states(sqlite_engine)[message_id] == ("awaitingRetry", 2))


async def test_what_was_claimed_by_a_claim_whose_answer_got_lost_is_delivered(
    sqlite_engine: Engine, receiver: Receiver
) -> None:
    """Fault scenario 5."""

    class Forgetful(Messages):
        failures = 1

        def claim(self, *args: Any, **options: Any) -> list[Message]:
            claimed = super().claim(*args, **options)
            if self.failures:
                self.failures -= 1
                raise ConnectionError("the answer is lost")
            return claimed

    add_alert(sqlite_engine, [destination_at(receiver, "/hook")])
    ids = add_messages(sqlite_engine, 20)
    async with working(sqlite_engine, messages=Forgetful(sqlite_engine)):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 20})
    assert Counter(receiver.ids("/hook")) == Counter(ids)


async def test_what_a_policy_hides_meanwhile_is_never_sent_and_says_so(
    sqlite_engine: Engine, receiver: Receiver
) -> None:
    """Fault scenario 31."""

    class Hidden:
        def is_certain(self, dispatch: Dispatch) -> bool:
            return False

        def look_ahead(self, dispatches: Sequence[Dispatch], recent: RecentPreferences) -> None:
            """Fail, which keeps nothing from being looked at."""
            raise OSError("the store is away")

        def permitted_part(self, dispatch: Dispatch, **_now: int) -> tuple[None, tuple[DroppedReason, ...]]:
            """Return nothing, as for somebody who may see nothing of it."""
            because, says = OutcomeReason.MAY_NOT_VIEW, "a policy hides it"
            return None, tuple(
                DroppedReason(notification_id="n", reason=reason, because=because, says=says)
                for reason in dispatch.first.reasons
            )

    add_alert(sqlite_engine, [destination_at(receiver, "/hook")])
    (message_id,) = add_messages(sqlite_engine, 1)
    async with working(sqlite_engine, permitted=Hidden()):
        await until(lambda: states(sqlite_engine)[message_id] == ("failed", 1))
    assert receiver.arrived == []
    with reading(sqlite_engine) as connection:
        (attempt_row,) = connection.execute(select(attempt)).all()
    assert (attempt_row.outcome, attempt_row.reason, attempt_row.detail) == (
        "rejected",
        "mayNotView",
        "not sent: a policy hides it",
    )
    assert "d" not in DestinationStatuses(sqlite_engine).of([SUBSCRIPTION]).get(SUBSCRIPTION, {}), (
        "it says nothing of the destination"
    )
