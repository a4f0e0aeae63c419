"""Tests of real workers with receivers that fail or hang: they are paused and probed, and delay nobody else."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from sqlalchemy import Engine, select, update
from tests.acceptance.worker.test_worker import (
    LIMITS,
    ON_ONE_STORE,
    Receiver,
    destination_at,
    receiver,
    statuses,
    until,
    working,
)
from tests.store.rows import SUBSCRIPTION, add_alert, add_messages, states

from tocsin.clock import SystemClock
from tocsin.flow.track.breaker import Breaker
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import destination_status, message, worker_session
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.status import DestinationStatuses

__all__ = ["receiver"]
OTHERS = 60
EACH = 10


def breaker(engine: Engine, destination_id: str = "d") -> Breaker:
    status = DestinationStatuses(engine).of([SUBSCRIPTION]).get(SUBSCRIPTION, {}).get(destination_id)
    return status.breaker if status else Breaker()


def let_probe(engine: Engine) -> None:
    with writing(engine) as connection:
        connection.execute(update(destination_status).values(probe_at_ms=1))


def _has_arrived(receiver: Receiver, count: int) -> bool:
    return len(receiver.arrived) == count


async def test_a_failing_destination_is_paused_and_resumes_after_a_restart(
    store_engine: Engine, receiver: Receiver
) -> None:
    add_alert(store_engine, [destination_at(receiver, "/status/503")], retries=1)
    ids = add_messages(store_engine, 100)
    limits = replace(LIMITS, per_destination=2)
    async with working(store_engine, limits, owner="one"), working(store_engine, limits, owner="two"):
        await until(lambda: breaker(store_engine).is_open)
    arrival_count = len(receiver.arrived)
    assert 10 <= arrival_count < 100
    assert statuses(store_engine) == {"awaitingRetry": arrival_count, "pending": 100 - arrival_count}
    async with working(store_engine, limits):
        for number in (1, 2, 3):
            let_probe(store_engine)
            await until(partial(_has_arrived, receiver, arrival_count + number))
            await until(lambda: count_in_hand(store_engine) == 0)  # it is recorded
    assert statuses(store_engine) == {"awaitingRetry": arrival_count, "pending": 100 - arrival_count}
    add_alert(store_engine, [destination_at(receiver, "/hook")], retries=1)
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
    add_alert(sqlite_engine, [destination_at(receiver, "/status/503")])
    add_messages(sqlite_engine, 200)
    async with working(sqlite_engine, replace(LIMITS, claim=200, per_destination=1)):
        await until(lambda: breaker(sqlite_engine).is_open)
        await until(lambda: count_in_hand(sqlite_engine) == 0)
    assert len(receiver.arrived) < 100


def count_in_hand(engine: Engine, destination_id: str | None = None) -> int:
    """Return how many messages workers have in hand, of all destinations or of one."""
    with reading(engine) as connection:
        query = select(message.c.id).where(message.c.lease_owner.in_(select(worker_session.c.id)))
        query = query.where(message.c.destination_id == destination_id) if destination_id else query
        return len(connection.execute(query).all())


async def test_a_hanging_receiver_takes_no_room_from_the_others(sqlite_engine: Engine, receiver: Receiver) -> None:
    """Fault scenario 17. ``bench/webhooks.py`` measures the delay; here nothing of what hangs is in hand."""
    names = [f"d{number:02}" for number in range(OTHERS)]
    hanging = destination_at(receiver, "/slow", "hanging", timeout=1, readTimeout=1)
    add_alert(sqlite_engine, [hanging, *(destination_at(receiver, f"/{name}", name) for name in names)])
    async with working(sqlite_engine, replace(LIMITS, in_flight=64)):  # the hanging one could hold all of them
        waiting = add_messages(sqlite_engine, 300, destination_id="hanging")
        await until(lambda: breaker(sqlite_engine, "hanging").is_open)
        await until(lambda: count_in_hand(sqlite_engine) == 0)
        for name in names:
            add_messages(sqlite_engine, EACH, destination_id=name, name=name)
        most_held = 0
        while statuses(sqlite_engine)["delivered"] < OTHERS * EACH:
            most_held = max(most_held, count_in_hand(sqlite_engine, "hanging"))
            await asyncio.sleep(0.02)
    assert most_held <= 1, "only a probe"
    assert sum(count for one, (_, count) in states(sqlite_engine).items() if one in set(waiting)) < 100


async def test_receivers_that_hang_leave_room_before_they_are_paused(sqlite_engine: Engine, receiver: Receiver) -> None:
    """Twelve of them could hold all that this worker takes at once, and would for as long as their timeouts last."""
    names = [f"hanging{number:02}" for number in range(12)]
    slow = [destination_at(receiver, "/slow", name, timeout=1, readTimeout=20) for name in names]
    add_alert(sqlite_engine, [*slow, destination_at(receiver, "/hook", "last")])
    for name in names:
        add_messages(sqlite_engine, 20, destination_id=name, name=name)
    async with working(sqlite_engine, replace(LIMITS, claim=16, per_destination=2, in_flight=64, grace_s=0.2)):
        await until(lambda: count_in_hand(sqlite_engine) >= 24)
        await asyncio.sleep(0.4)  # it takes what it wants of the rest
        add_messages(sqlite_engine, 20, destination_id="last", name="last")
        await until(lambda: statuses(sqlite_engine).get("delivered") == 20)
        assert count_in_hand(sqlite_engine) >= 24, "all others hang"


@ON_ONE_STORE
async def test_events_that_find_no_room_are_given_back_and_delivered_later(
    store_engine: Engine, receiver: Receiver
) -> None:
    add_alert(
        store_engine,
        [
            destination_at(receiver, "/slow", "hanging", timeout=1, readTimeout=2),
            destination_at(receiver, "/hook", "other"),
        ],
    )
    add_messages(store_engine, 5, destination_id="hanging", name="hanging")
    ids = add_messages(store_engine, 20, destination_id="other", name="other")
    async with working(store_engine, replace(LIMITS, event_bytes=4_000, grace_s=0.2)):  # a few events
        await until(lambda: count_in_hand(store_engine, "hanging") == 1)
        await until(lambda: statuses(store_engine).get("delivered") == 20)
    assert sorted(receiver.ids("/hook")) == sorted(ids)


async def test_a_probe_that_finds_no_room_is_made_as_soon_as_there_is_some(
    store_engine: Engine, receiver: Receiver
) -> None:
    add_alert(store_engine, [destination_at(receiver, "/status/503"), destination_at(receiver, "/held", "other")])
    add_messages(store_engine, 20)
    async with working(store_engine):
        await until(lambda: breaker(store_engine).is_open)
    arrival_count = len(receiver.arrived)
    receiver.open.clear()
    add_messages(store_engine, 1, destination_id="other", name="other")
    with writing(store_engine) as connection:
        connection.execute(update(message).where(message.c.destination_id == "d").values(due_at_ms=2**42))
    async with working(store_engine, replace(LIMITS, event_bytes=1)):
        await until(lambda: len(receiver.arrived) == arrival_count + 1)
        with writing(store_engine) as connection:
            connection.execute(update(message).where(message.c.destination_id == "d").values(due_at_ms=0))
        let_probe(store_engine)
        await asyncio.sleep(0.5)  # it claims the probe, and has no room for it
        assert len(receiver.arrived) == arrival_count + 1
        receiver.open.set()
        await until(lambda: len(receiver.arrived) == arrival_count + 2, within_s=5)


async def test_a_probe_that_a_stopping_worker_breaks_off_is_due_at_once(
    store_engine: Engine, receiver: Receiver
) -> None:
    add_alert(store_engine, [destination_at(receiver, "/status/503")])
    add_messages(store_engine, 20)
    async with working(store_engine):
        await until(lambda: breaker(store_engine).is_open)
    arrival_count = len(receiver.arrived)
    add_alert(store_engine, [destination_at(receiver, "/held")])
    receiver.open.clear()
    with writing(store_engine) as connection:
        connection.execute(update(message).values(due_at_ms=0))
    let_probe(store_engine)
    async with working(store_engine, replace(LIMITS, grace_s=0.2)):
        await until(lambda: len(receiver.arrived) == arrival_count + 1)
    receiver.open.set()
    assert breaker(store_engine).is_open
    assert Messages(store_engine).pauses(SystemClock().now_ms()).probed == {"d"}
