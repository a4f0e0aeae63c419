"""Tests of real workers with receivers that fail or hang: they are paused and probed, and delay nobody else."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from sqlalchemy import Engine, select, update
from tests.acceptance.worker.test_worker import LIMITS, Receiver, receiver, statuses, to, until, working
from tests.store.rows import SUBSCRIPTION, add_alert, add_messages, states

from tocsin.flow.track.breaker import Breaker
from tocsin.store.engine import reading, writing
from tocsin.store.outbox.status import DestinationStatuses
from tocsin.store.tables import destination_status, message, worker_session

__all__ = ["receiver"]
OTHERS = 60
EACH = 10


def breaker(engine: Engine, destination_id: str = "d") -> Breaker:
    found = DestinationStatuses(engine).of(SUBSCRIPTION).get(destination_id)
    return found.breaker if found else Breaker()


def let_probe(engine: Engine) -> None:
    with writing(engine) as connection:
        connection.execute(update(destination_status).values(probe_at_ms=1))


async def test_a_failing_destination_is_paused_and_resumes_after_a_restart(
    store_engine: Engine, receiver: Receiver
) -> None:
    add_alert(store_engine, [to(receiver, "/status/503")], retries=1)
    ids = add_messages(store_engine, 100)
    limits = replace(LIMITS, per_destination=2)
    async with working(store_engine, limits, owner="one"), working(store_engine, limits, owner="two"):
        await until(lambda: breaker(store_engine).is_open)
    arrived = len(receiver.arrived)
    assert 10 <= arrived < 100
    assert statuses(store_engine) == {"awaitingRetry": arrived, "pending": 100 - arrived}
    async with working(store_engine, limits):
        for number in (1, 2, 3):
            let_probe(store_engine)
            await until(lambda number=number: len(receiver.arrived) == arrived + number)
            await until(lambda: held(store_engine) == 0)  # it is recorded
    assert statuses(store_engine) == {"awaitingRetry": arrived, "pending": 100 - arrived}
    add_alert(store_engine, [to(receiver, "/hook")], retries=1)
    with writing(store_engine) as connection:  # the waits are over
        connection.execute(update(message).values(due_at_ms=0))
    let_probe(store_engine)
    async with working(store_engine, limits):
        await until(lambda: statuses(store_engine) == {"delivered": 100})
    assert sorted(receiver.ids("/hook")) == sorted(ids)
    assert {count for _, count in states(store_engine).values()} == {1, 2}


async def test_what_waits_in_a_worker_is_given_back_when_its_destination_is_paused(
    sqlite_engine: Engine, receiver: Receiver
) -> None:
    add_alert(sqlite_engine, [to(receiver, "/status/503")])
    add_messages(sqlite_engine, 200)
    async with working(sqlite_engine, replace(LIMITS, claim=200, per_destination=1)):
        await until(lambda: breaker(sqlite_engine).is_open)
        await until(lambda: held(sqlite_engine) == 0)
    assert len(receiver.arrived) < 100


def held(engine: Engine) -> int:
    with reading(engine) as connection:
        query = select(message.c.id).where(message.c.lease_owner.in_(select(worker_session.c.id)))
        return len(connection.execute(query).all())


async def test_a_hanging_receiver_slows_none_of_the_others(
    sqlite_engine: Engine, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fault scenario 17."""
    names = [f"d{number:02}" for number in range(OTHERS)]
    hanging = to(receiver, "/slow", "hanging", timeout=1, readTimeout=1)
    add_alert(sqlite_engine, [hanging, *(to(receiver, f"/{name}", name) for name in names)])

    async def sent_s(turn: str) -> float:
        before, began_s = statuses(sqlite_engine)["delivered"], time.monotonic()
        for name in names:
            add_messages(sqlite_engine, EACH, destination_id=name, name=f"{turn}/{name}")
        await until(lambda: statuses(sqlite_engine)["delivered"] == before + OTHERS * EACH)
        return time.monotonic() - began_s

    async with working(sqlite_engine, replace(LIMITS, in_flight=64)):  # the hanging one could hold all of them
        alone_s = min([await sent_s("warm"), await sent_s("alone")])
        waiting = add_messages(sqlite_engine, 300, destination_id="hanging")
        await until(lambda: breaker(sqlite_engine, "hanging").is_open)
        beside_s = await sent_s("beside")
    with capsys.disabled():
        print(f"\n{OTHERS * EACH} messages: {alone_s:.2f} s alone, {beside_s:.2f} s beside a hanging receiver")  # noqa: T201
    assert beside_s < 1.5 * alone_s + 0.2
    assert sum(count for one, (_, count) in states(sqlite_engine).items() if one in set(waiting)) < 100
