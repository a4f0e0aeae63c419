"""Tests of dead letters and replays on both stores: what is listed, collected, claimed, counted and taken back."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Engine, select, update
from tests.store.rows import SUBSCRIPTION, add_messages, finish_of, some_id, states
from tests.store.test_subscriptions import counted_statements
from tests.unit.delivery.events import NOW_MS

from tocsin.errors import Conflict
from tocsin.model.message import Delivered, Message, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.replay import Replay, ReplayState, Selection
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import attempt, message, replay
from tocsin.store.outbox.dead_letters import SHOWN_ENTRIES, DeadLetterPlace, DeadLetters
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.replays import MOST_OPEN, Replays
from tocsin.store.outbox.sessions import Sessions

LATER_MS = NOW_MS + 5_000
BROKEN = Retry(OutcomeReason.SERVER_ERROR, 500, "oops")
REFUSED = Rejected(OutcomeReason.BAD_URL)
MUTED = Rejected(OutcomeReason.MUTED)


@pytest.fixture
def messages(store_engine: Engine) -> Messages:
    for name in ("a", "b"):
        Sessions(store_engine).begin(name, lease_ms=90_000, now_ms=NOW_MS)
    return Messages(store_engine)


def give_up(
    messages: Messages, count: int, outcome: Outcome = BROKEN, *, at_ms: int = LATER_MS, **to: Any
) -> list[str]:
    """Add messages and give them up for ``outcome``; return their ids."""
    ids = add_messages(messages._engine, count, **to)
    claimed = messages.claim("a", count, now_ms=LATER_MS)
    assert {one.id for one in claimed} == set(ids)
    messages.record("a", [finish_of(one, outcome, retries=0) for one in claimed], now_ms=at_ms)
    return ids


def start_replay(engine: Engine, name: str = "r", *, by: str = "ana", **selection: object) -> str:
    """Start a replay and let it collect; return its id."""
    replay_id = some_id(f"replay {name}")
    selected = Selection(**selection)  # type: ignore[arg-type]
    Replays(engine).add(Replay(replay_id, by, LATER_MS, selected, ReplayState.COLLECTING))
    while Replays(engine).advance(replay_id, now_ms=LATER_MS):
        pass
    return replay_id


def claim_replayed(
    messages: Messages, *, now_ms: int = LATER_MS, share: int = 100, session: str = "b"
) -> list[Message]:
    shares = dict.fromkeys(messages.due_destinations(now_ms, replayed=True), share)
    return messages.claim_replayed(session, shares, now_ms=now_ms)


def counts(engine: Engine, replay_id: str) -> tuple[str, int, int, int, int]:
    replay = Replays(engine).find(replay_id)
    assert replay is not None
    return replay.state.value, replay.total_count, replay.waiting_count, replay.delivered_count, replay.failed_count


def test_dead_letters_are_listed_by_what_is_asked(messages: Messages, store_engine: Engine) -> None:
    broken_ids = give_up(messages, 2, destination_id="d")
    refused_ids = give_up(messages, 1, REFUSED, at_ms=LATER_MS + 50, destination_id="e")
    muted_ids = give_up(messages, 1, MUTED, destination_id="f")
    add_messages(store_engine, 1, name="waits")
    letters = DeadLetters(store_engine)

    def letter_ids(**selection: object) -> list[str]:
        return [one.id for one in letters.page(Selection(**selection), None, 10)]  # type: ignore[arg-type]

    assert letter_ids() == [*refused_ids, *sorted(broken_ids, reverse=True)], (
        "newest first, without what nobody was to get"
    )
    assert letter_ids(reason="muted") == muted_ids
    assert letter_ids(reason="serverError", destination_ids=["d"]) == sorted(broken_ids, reverse=True)
    assert letter_ids(since_ms=LATER_MS + 1) == refused_ids
    assert letter_ids(until_ms=LATER_MS) == sorted(broken_ids, reverse=True)
    assert letter_ids(subscription_ids=frozenset([SUBSCRIPTION])) == [*refused_ids, *sorted(broken_ids, reverse=True)]
    assert letter_ids(subscription_ids=frozenset(["other"])) == letter_ids(subscription_ids=frozenset()) == []
    first = letters.page(Selection(), None, 1)[0]
    next_page = letters.page(Selection(), DeadLetterPlace(first.updated_at_ms, first.id), 10)
    assert [first.id, *(one.id for one in next_page)] == letter_ids()
    assert (first.reason, first.notification_count, len(first.entries)) == ("badUrl", 1, 1)
    assert len(first.entries) <= SHOWN_ENTRIES


def test_messages_are_forgotten_in_the_order_of_their_ids(messages: Messages, store_engine: Engine) -> None:
    ids = give_up(messages, 3)
    with counted_statements(store_engine) as statements:
        DeadLetters(store_engine).forget([*reversed(ids)], because="ana: old", now_ms=LATER_MS)
    assert any("ORDER BY message.id" in one for one in statements), "two who forget the same lock them in one order"
    letters = DeadLetters(store_engine).find_many([*ids, some_id("other")])
    assert {one: letter.reason for one, letter in letters.items()} == dict.fromkeys(ids, "forgotten")


def test_a_replay_waits_behind_what_is_live_and_keeps_its_ids(messages: Messages, store_engine: Engine) -> None:
    ids = give_up(messages, 2)
    replay_id = start_replay(store_engine)
    assert counts(store_engine, replay_id) == ("sending", 2, 2, 0, 0)
    add_messages(store_engine, 3, name="live", due_at_ms=NOW_MS + 500)
    live = messages.claim("b", 2, now_ms=LATER_MS)
    assert not {one.id for one in live} & set(ids), "what was due long before a live message still waits behind it"
    claimed = claim_replayed(messages)
    assert {one.id for one in claimed} == set(ids)
    assert {(one.attempt_count, one.attempts_before, one.replay_id) for one in claimed} == {(1, 1, replay_id)}
    messages.record("b", [finish_of(one) for one in claimed], now_ms=LATER_MS)
    assert counts(store_engine, replay_id) == ("done", 2, 0, 2, 0)
    assert {states(store_engine)[one] for one in ids} == {("delivered", 2)}


def test_a_failed_replay_awaits_its_retry_behind_what_is_live(messages: Messages, store_engine: Engine) -> None:
    (message_id,) = give_up(messages, 1)
    replay_id = start_replay(store_engine)
    (claimed_message,) = claim_replayed(messages)
    messages.record("b", [finish_of(claimed_message, BROKEN, retries=3)], now_ms=LATER_MS)
    assert states(store_engine)[message_id] == ("awaitingReplay", 2)
    assert counts(store_engine, replay_id)[:3] == ("sending", 1, 1)
    later_ms = LATER_MS + 61_000
    assert messages.claim("b", 10, now_ms=later_ms) == []
    (claimed_message,) = claim_replayed(messages, now_ms=later_ms)
    messages.record("b", [finish_of(claimed_message, BROKEN, retries=0)], now_ms=later_ms)
    assert counts(store_engine, replay_id) == ("done", 1, 0, 0, 1)
    assert states(store_engine)[message_id] == ("retryLimitReached", 3)
    assert [one.id for one in DeadLetters(store_engine).page(Selection(), None, 10)] == [message_id]


def test_replays_at_the_same_time_send_once(messages: Messages, store_engine: Engine) -> None:
    ids = give_up(messages, 40)
    with ThreadPoolExecutor(4) as pool:
        replay_ids = list(pool.map(lambda n: start_replay(store_engine, f"r{n}", by=f"p{n}"), range(4)))
    assert sum(counts(store_engine, one)[1] for one in replay_ids) == len(ids)
    claimed = [*claim_replayed(messages, session="a"), *claim_replayed(messages)]
    assert sorted(one.id for one in claimed) == sorted(ids)
    for session in ("a", "b"):
        messages.record(session, [finish_of(one) for one in claimed], now_ms=LATER_MS)
    with reading(store_engine) as connection:
        delivered = list(connection.execute(select(attempt.c.message_id).where(attempt.c.outcome == "delivered")))
    assert sorted(row.message_id for row in delivered) == sorted(ids)
    assert {counts(store_engine, one)[0] for one in replay_ids} == {"done"}


def test_large_selections_are_collected_in_portions(messages: Messages, store_engine: Engine) -> None:
    give_up(messages, 1_201)
    replay_id = some_id("large")
    Replays(store_engine).add(Replay(replay_id, "ana", LATER_MS, Selection(), ReplayState.COLLECTING))
    assert Replays(store_engine).advance_collecting(LATER_MS)
    assert counts(store_engine, replay_id)[:2] == ("collecting", 500)
    while Replays(store_engine).advance_collecting(LATER_MS):
        pass
    assert counts(store_engine, replay_id)[:3] == ("sending", 1_201, 1_201)


def test_nothing_to_replay_is_done_at_once(store_engine: Engine) -> None:
    assert counts(store_engine, start_replay(store_engine)) == ("done", 0, 0, 0, 0)


def test_a_cancelled_replay_takes_back_what_waits(messages: Messages, store_engine: Engine) -> None:
    broken_ids = give_up(messages, 3)
    refused_ids = give_up(messages, 1, REFUSED, destination_id="e")
    replay_id = start_replay(store_engine)
    (sent_message,) = messages.claim_replayed("b", {"d": 1}, now_ms=LATER_MS)
    replays = Replays(store_engine)
    replays.cancel(replay_id)
    assert claim_replayed(messages) == [], "nothing more is claimed from that moment on"
    assert not replays.advance(replay_id, now_ms=LATER_MS)
    assert counts(store_engine, replay_id)[:3] == ("cancelling", 4, 1)
    messages.record("b", [finish_of(sent_message, BROKEN, retries=3)], now_ms=LATER_MS)
    assert counts(store_engine, replay_id) == ("cancelled", 4, 0, 0, 0)
    assert {states(store_engine)[one][0] for one in broken_ids} == {"retryLimitReached"}
    assert states(store_engine)[refused_ids[0]] == ("failed", 1)
    assert messages.claim("b", 10, now_ms=LATER_MS + 10**9) == []


def test_what_was_delivered_is_sent_again_only_if_that_is_said(messages: Messages, store_engine: Engine) -> None:
    (message_id,) = give_up(messages, 1, Delivered(200))
    replays = Replays(store_engine)
    replay = Replay(some_id("one"), "ana", LATER_MS, Selection(), ReplayState.COLLECTING)
    with pytest.raises(Conflict, match="delivered: true"):
        replays.add_of_one(replay, message_id, delivered=False)
    assert counts(store_engine, start_replay(store_engine)) == ("done", 0, 0, 0, 0), "no selection covers it"
    replays.add_of_one(replay, message_id, delivered=True)
    with pytest.raises(Conflict, match="awaitingReplay"):
        replays.add_of_one(
            Replay(some_id("two"), "bob", LATER_MS, Selection(), ReplayState.COLLECTING), message_id, delivered=True
        )
    (claimed_message,) = claim_replayed(messages)
    messages.record("b", [finish_of(claimed_message)], now_ms=LATER_MS)
    assert counts(store_engine, replay.id) == ("done", 1, 0, 1, 0)
    assert states(store_engine)[message_id] == ("delivered", 2)


def test_replays_of_one_person_are_limited(messages: Messages, store_engine: Engine) -> None:
    ids = give_up(messages, MOST_OPEN + 1)
    replays = Replays(store_engine)
    for number, message_id in enumerate(ids[:MOST_OPEN]):
        replay = Replay(some_id(f"{number}"), "ana", LATER_MS, Selection(), ReplayState.COLLECTING)
        replays.add_of_one(replay, message_id, delivered=False)
    surplus_replay = Replay(some_id("more"), "ana", LATER_MS, Selection(), ReplayState.COLLECTING)
    with pytest.raises(Conflict, match="running replays"):
        replays.add_of_one(surplus_replay, ids[-1], delivered=False)
    assert states(store_engine)[ids[-1]][0] == "retryLimitReached", "nothing was begun"
    assert replays.newest("bob", limit=10) == []


def test_what_a_dead_worker_had_claimed_is_replayed_by_another(messages: Messages, store_engine: Engine) -> None:
    give_up(messages, 2)
    start_replay(store_engine)
    assert len(claim_replayed(messages, session="a")) == 2
    assert claim_replayed(messages) == []
    assert messages.keep_only("a", []) == 2
    assert len(claim_replayed(messages)) == 2
    with reading(store_engine) as connection:
        assert set(connection.execute(select(message.c.lease_owner)).scalars()) == {"b"}


def test_a_replay_stored_with_a_single_destination_goes_on(messages: Messages, store_engine: Engine) -> None:
    give_up(messages, 2, destination_id="d")
    give_up(messages, 1, destination_id="e")
    replay_id = some_id("replay of an earlier version")
    Replays(store_engine).add(Replay(replay_id, "ana", LATER_MS, Selection(), ReplayState.COLLECTING))
    earlier = {"subscription_ids": None, "destination_id": "d", "reason": None, "since_ms": None, "until_ms": None}
    with writing(store_engine) as connection:
        connection.execute(update(replay).where(replay.c.id == replay_id).values(selection=json.dumps(earlier)))
    while Replays(store_engine).advance(replay_id, now_ms=LATER_MS):
        pass
    assert counts(store_engine, replay_id) == ("sending", 2, 2, 0, 0)
