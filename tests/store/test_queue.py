"""Tests of queues on both stores: one holder at a time, expiry, acknowledgement, and no worker."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from sqlalchemy import Engine, delete, select, update
from tests.store.rows import SUBSCRIPTION, add_messages, finish_of, some_id, states
from tests.unit.delivery.events import NOW_MS

from tocsin.model.subscription import Channel
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import change_event, message
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.queue import EventQueue, Lease
from tocsin.store.outbox.sessions import Sessions

LEASE_MS = 60_000
LATER_MS = NOW_MS + 10_000
QUEUE = Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT.value


def add_queued(engine: Engine, count: int) -> list[str]:
    return add_messages(engine, count, status="queued", channel=QUEUE)


def claim(
    engine: Engine, lease: str, limit: int = 100, *, now_ms: int = LATER_MS, entity_type: str | None = None
) -> list[str]:
    new_lease = Lease(lease, now_ms, now_ms + LEASE_MS)
    return [one.id for one in EventQueue(engine).claim(SUBSCRIPTION, new_lease, limit, entity_type=entity_type)]


def test_events_are_claimed_in_log_order_whatever_their_due_times(store_engine: Engine) -> None:
    ids = add_queued(store_engine, 4)
    with writing(store_engine) as connection:
        connection.execute(update(message).where(message.c.id == ids[0]).values(due_at_ms=LATER_MS - 1))
    assert claim(store_engine, "a", 3) == ids[:3]
    assert claim(store_engine, "b", 3) == ids[3:]


def test_events_of_one_entity_type_are_claimed_apart(store_engine: Engine) -> None:
    ids = add_queued(store_engine, 5)
    queue = EventQueue(store_engine)
    with writing(store_engine) as connection:
        offsets = connection.execute(select(change_event.c.log_offset).order_by(change_event.c.log_offset)).scalars()
        topics = [offset for number, offset in enumerate(offsets) if number in (1, 3)]
        update_type = update(change_event).where(change_event.c.log_offset.in_(topics))
        connection.execute(update_type.values(entity_type="topic"))
    assert queue.first_entity_type(SUBSCRIPTION, now_ms=LATER_MS) == "table"
    assert claim(store_engine, "a", 2, entity_type="table") == [ids[0], ids[2]]
    assert queue.first_entity_type(SUBSCRIPTION, now_ms=LATER_MS) == "topic"
    assert claim(store_engine, "b", entity_type="topic") == [ids[1], ids[3]]
    with writing(store_engine) as connection:
        connection.execute(delete(change_event))
    assert queue.first_entity_type(SUBSCRIPTION, now_ms=LATER_MS) == ""
    assert claim(store_engine, "c", entity_type="") == [ids[4]]
    assert queue.first_entity_type(SUBSCRIPTION, now_ms=LATER_MS) is None


def test_a_lease_holds_until_its_end_and_not_longer(store_engine: Engine) -> None:
    ids = add_queued(store_engine, 1)
    assert claim(store_engine, "a") == ids
    assert claim(store_engine, "b", now_ms=LATER_MS + LEASE_MS - 1) == []
    assert claim(store_engine, "b", now_ms=LATER_MS + LEASE_MS) == ids
    late = EventQueue(store_engine).release(SUBSCRIPTION, "a", ids, now_ms=LATER_MS)
    assert (late, claim(store_engine, "c", now_ms=LATER_MS + LEASE_MS)) == (set(), [])


def test_racing_consumers_share_the_queue_without_overlap(store_engine: Engine) -> None:
    ids = add_queued(store_engine, 60)

    def consume(lease: str) -> list[str]:
        return [*chain.from_iterable(claim(store_engine, lease, 5) for _ in range(15))]

    with ThreadPoolExecutor(4) as pool:
        got = list(chain.from_iterable(pool.map(consume, "abcd")))
    assert sorted(got) == sorted(ids)


def test_racing_consumers_by_entity_type_share_the_queue_without_overlap(store_engine: Engine) -> None:
    ids = add_queued(store_engine, 40)
    with writing(store_engine) as connection:
        offsets = list(connection.execute(select(change_event.c.log_offset)).scalars())
        update_type = update(change_event).where(change_event.c.log_offset.in_(offsets[::2]))
        connection.execute(update_type.values(entity_type="topic"))

    def consume(lease: str) -> list[str]:
        claimed_ids: list[str] = []
        while (kind := EventQueue(store_engine).first_entity_type(SUBSCRIPTION, now_ms=LATER_MS)) is not None:
            claimed_ids += claim(store_engine, lease, 5, entity_type=kind)
        return claimed_ids

    with ThreadPoolExecutor(4) as pool:
        got = list(chain.from_iterable(pool.map(consume, "abcd")))
    assert sorted(got) == sorted(ids)


def test_what_is_released_is_free_and_what_is_extended_is_not(store_engine: Engine) -> None:
    first, second = add_queued(store_engine, 2)
    assert len(claim(store_engine, "a")) == 2
    queue = EventQueue(store_engine)
    assert queue.release(SUBSCRIPTION, "b", [first], now_ms=LATER_MS) == set()
    assert queue.release(some_id("another alert"), "a", [first], now_ms=LATER_MS) == set()
    assert queue.release(SUBSCRIPTION, "a", [first], now_ms=LATER_MS) == {first}
    extended = queue.extend(SUBSCRIPTION, "a", [first, second], now_ms=LATER_MS, lease_ms=2 * LEASE_MS)
    assert extended == {second}
    assert claim(store_engine, "b", now_ms=LATER_MS + LEASE_MS) == [first]


def test_only_the_holder_ends_a_message(store_engine: Engine) -> None:
    ids = add_queued(store_engine, 1)
    queue, messages = EventQueue(store_engine), Messages(store_engine)
    claim(store_engine, "a")
    claim(store_engine, "b", now_ms=LATER_MS + LEASE_MS)
    queued_message = queue.find(SUBSCRIPTION, ids)[ids[0]]
    assert (queued_message.lease, queued_message.updated_at_ms) == ("b", LATER_MS + LEASE_MS)
    assert messages.record("a", [finish_of(queued_message.message)], now_ms=LATER_MS) == set()
    assert messages.record("b", [finish_of(queued_message.message)], now_ms=LATER_MS) == set(ids)
    assert states(store_engine) == {ids[0]: ("delivered", 1)}
    assert claim(store_engine, "c", now_ms=LATER_MS + 10 * LEASE_MS) == []


def test_workers_neither_see_nor_claim_a_queue(store_engine: Engine) -> None:
    ids = add_queued(store_engine, 2)
    messages = Messages(store_engine)
    Sessions(store_engine).begin("worker", lease_ms=LEASE_MS, now_ms=LATER_MS)
    assert messages.due_destinations(LATER_MS) == messages.due_destinations(LATER_MS, replayed=True) == []
    assert messages.claim("worker", 10, now_ms=LATER_MS, shares={"d": 10}) == []
    assert claim(store_engine, "a") == ids
    with reading(store_engine) as connection:
        assert set(connection.execute(select(message.c.lease_owner)).scalars()) == {"a"}
