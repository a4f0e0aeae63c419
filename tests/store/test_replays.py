"""Tests of dead letters and replays on both stores: what is listed, collected, claimed, counted and taken back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, select
from tests.store.rows import SUBSCRIPTION, add_messages, finished, some_id, states
from tests.unit.flow.send.events import NOW_MS

from tocsin.errors import Conflict
from tocsin.model.message import Delivered, Message, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.replay import Replay, ReplayState, Selection
from tocsin.store.engine import reading
from tocsin.store.outbox.dead_letters import SHOWN_ENTRIES, DeadLetterPlace, DeadLetters
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.replays import MOST_OPEN, Replays
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.tables import attempt, message

LATER_MS = NOW_MS + 5_000
BROKEN = Retry(OutcomeReason.SERVER_ERROR, 500, "oops")
REFUSED = Rejected(OutcomeReason.BAD_URL)
MUTED = Rejected(OutcomeReason.MUTED)


@pytest.fixture
def messages(store_engine: Engine) -> Messages:
    for name in ("a", "b"):
        Sessions(store_engine).begin(name, lease_ms=90_000, now_ms=NOW_MS)
    return Messages(store_engine)


def given_up(
    messages: Messages, count: int, outcome: Outcome = BROKEN, *, at_ms: int = LATER_MS, **to: str
) -> list[str]:
    """Add messages and give them up for ``outcome``; return their ids."""
    ids = add_messages(messages._engine, count, **to)
    claimed = messages.claim("a", count, now_ms=LATER_MS)
    assert {one.id for one in claimed} == set(ids)
    messages.record("a", [finished(one, outcome, retries=0) for one in claimed], now_ms=at_ms)
    return ids


def started(engine: Engine, name: str = "r", *, by: str = "ana", **selection: object) -> str:
    """Start a replay and let it collect; return its id."""
    replay_id = some_id(f"replay {name}")
    chosen = Selection(**selection)  # type: ignore[arg-type]
    Replays(engine).add(Replay(replay_id, by, LATER_MS, chosen, ReplayState.COLLECTING))
    while Replays(engine).advance(replay_id, now_ms=LATER_MS):
        pass
    return replay_id


def replayed(messages: Messages, *, now_ms: int = LATER_MS, most: int = 100, session: str = "b") -> list[Message]:
    shares = dict.fromkeys(messages.replayed_destinations(now_ms), most)
    return messages.claim_replayed(session, shares, now_ms=now_ms)


def counts(engine: Engine, replay_id: str) -> tuple[str, int, int, int, int]:
    found = Replays(engine).find(replay_id)
    assert found is not None
    return found.state.value, found.total_count, found.waiting_count, found.delivered_count, found.failed_count


def test_dead_letters_are_listed_by_what_is_asked(messages: Messages, store_engine: Engine) -> None:
    broken = given_up(messages, 2, destination_id="d")
    refused = given_up(messages, 1, REFUSED, at_ms=LATER_MS + 50, destination_id="e")
    muted = given_up(messages, 1, MUTED, destination_id="f")
    add_messages(store_engine, 1, name="waits")
    letters = DeadLetters(store_engine)

    def listed(**selection: object) -> list[str]:
        return [one.id for one in letters.page(Selection(**selection), None, 10)]  # type: ignore[arg-type]

    assert listed() == [*refused, *sorted(broken, reverse=True)], "newest first, without what nobody was to get"
    assert listed(reason="muted") == muted
    assert listed(reason="serverError", destination_id="d") == sorted(broken, reverse=True)
    assert listed(since_ms=LATER_MS + 1) == refused
    assert listed(until_ms=LATER_MS) == sorted(broken, reverse=True)
    assert listed(subscription_ids=frozenset([SUBSCRIPTION])) == [*refused, *sorted(broken, reverse=True)]
    assert listed(subscription_ids=frozenset(["other"])) == listed(subscription_ids=frozenset()) == []
    first = letters.page(Selection(), None, 1)[0]
    rest = letters.page(Selection(), DeadLetterPlace(first.updated_at_ms, first.id), 10)
    assert [first.id, *(one.id for one in rest)] == listed()
    assert (first.reason, first.notification_count, len(first.entries)) == ("badUrl", 1, 1)
    assert len(first.entries) <= SHOWN_ENTRIES


def test_a_replay_waits_behind_what_is_live_and_keeps_its_ids(messages: Messages, store_engine: Engine) -> None:
    ids = given_up(messages, 2)
    replay_id = started(store_engine)
    assert counts(store_engine, replay_id) == ("sending", 2, 2, 0, 0)
    add_messages(store_engine, 3, name="live", due_at_ms=NOW_MS + 500)
    live = messages.claim("b", 2, now_ms=LATER_MS)
    assert not {one.id for one in live} & set(ids), "what was due long before a live message still waits behind it"
    claimed = replayed(messages)
    assert {one.id for one in claimed} == set(ids)
    assert {(one.attempt_count, one.attempts_before, one.replay_id) for one in claimed} == {(1, 1, replay_id)}
    messages.record("b", [finished(one) for one in claimed], now_ms=LATER_MS)
    assert counts(store_engine, replay_id) == ("done", 2, 0, 2, 0)
    assert {states(store_engine)[one] for one in ids} == {("delivered", 2)}


def test_a_failed_replay_awaits_its_retry_behind_what_is_live(messages: Messages, store_engine: Engine) -> None:
    (one,) = given_up(messages, 1)
    replay_id = started(store_engine)
    (claimed,) = replayed(messages)
    messages.record("b", [finished(claimed, BROKEN, retries=3)], now_ms=LATER_MS)
    assert states(store_engine)[one] == ("awaitingReplay", 2)
    assert counts(store_engine, replay_id)[:3] == ("sending", 1, 1)
    later_ms = LATER_MS + 61_000
    assert messages.claim("b", 10, now_ms=later_ms) == []
    (claimed,) = replayed(messages, now_ms=later_ms)
    messages.record("b", [finished(claimed, BROKEN, retries=0)], now_ms=later_ms)
    assert counts(store_engine, replay_id) == ("done", 1, 0, 0, 1)
    assert states(store_engine)[one] == ("retryLimitReached", 3)
    assert [one.id for one in DeadLetters(store_engine).page(Selection(), None, 10)] == [one]


def test_replays_at_the_same_time_send_once(messages: Messages, store_engine: Engine) -> None:
    ids = given_up(messages, 40)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda n: started(store_engine, f"r{n}", by=f"p{n}"), range(4)))
    assert sum(counts(store_engine, one)[1] for one in made) == len(ids)
    claimed = [*replayed(messages, session="a"), *replayed(messages)]
    assert sorted(one.id for one in claimed) == sorted(ids)
    for session in ("a", "b"):
        messages.record(session, [finished(one) for one in claimed], now_ms=LATER_MS)
    with reading(store_engine) as connection:
        delivered = list(connection.execute(select(attempt.c.message_id).where(attempt.c.outcome == "delivered")))
    assert sorted(row.message_id for row in delivered) == sorted(ids)
    assert {counts(store_engine, one)[0] for one in made} == {"done"}


def test_large_selections_are_collected_in_portions(messages: Messages, store_engine: Engine) -> None:
    given_up(messages, 1_201)
    replay_id = some_id("large")
    Replays(store_engine).add(Replay(replay_id, "ana", LATER_MS, Selection(), ReplayState.COLLECTING))
    assert Replays(store_engine).advance_all(LATER_MS)
    assert counts(store_engine, replay_id)[:2] == ("collecting", 500)
    while Replays(store_engine).advance_all(LATER_MS):
        pass
    assert counts(store_engine, replay_id)[:3] == ("sending", 1_201, 1_201)


def test_nothing_to_replay_is_done_at_once(store_engine: Engine) -> None:
    assert counts(store_engine, started(store_engine)) == ("done", 0, 0, 0, 0)


def test_a_cancelled_replay_takes_back_what_waits(messages: Messages, store_engine: Engine) -> None:
    broken = given_up(messages, 3)
    refused = given_up(messages, 1, REFUSED, destination_id="e")
    replay_id = started(store_engine)
    (sent,) = messages.claim_replayed("b", {"d": 1}, now_ms=LATER_MS)
    replays = Replays(store_engine)
    replays.cancel(replay_id)
    assert replayed(messages) == [], "nothing more is claimed from that moment on"
    assert not replays.advance(replay_id, now_ms=LATER_MS)
    assert counts(store_engine, replay_id)[:3] == ("cancelling", 4, 1)
    messages.record("b", [finished(sent, BROKEN, retries=3)], now_ms=LATER_MS)
    assert counts(store_engine, replay_id) == ("cancelled", 4, 0, 0, 0)
    assert {states(store_engine)[one][0] for one in broken} == {"retryLimitReached"}
    assert states(store_engine)[refused[0]] == ("failed", 1)
    assert messages.claim("b", 10, now_ms=LATER_MS + 10**9) == []


def test_what_was_delivered_is_sent_again_only_if_that_is_said(messages: Messages, store_engine: Engine) -> None:
    (one,) = given_up(messages, 1, Delivered(200))
    replays = Replays(store_engine)
    wanted = Replay(some_id("one"), "ana", LATER_MS, Selection(), ReplayState.COLLECTING)
    with pytest.raises(Conflict, match="delivered: true"):
        replays.add_of_one(wanted, one, delivered=False)
    assert counts(store_engine, started(store_engine)) == ("done", 0, 0, 0, 0), "no selection covers it"
    replays.add_of_one(wanted, one, delivered=True)
    with pytest.raises(Conflict, match="awaitingReplay"):
        replays.add_of_one(
            Replay(some_id("two"), "bob", LATER_MS, Selection(), ReplayState.COLLECTING), one, delivered=True
        )
    (claimed,) = replayed(messages)
    messages.record("b", [finished(claimed)], now_ms=LATER_MS)
    assert counts(store_engine, wanted.id) == ("done", 1, 0, 1, 0)
    assert states(store_engine)[one] == ("delivered", 2)


def test_replays_of_one_person_are_limited(messages: Messages, store_engine: Engine) -> None:
    ids = given_up(messages, MOST_OPEN + 1)
    replays = Replays(store_engine)
    for number, one in enumerate(ids[:MOST_OPEN]):
        wanted = Replay(some_id(f"{number}"), "ana", LATER_MS, Selection(), ReplayState.COLLECTING)
        replays.add_of_one(wanted, one, delivered=False)
    more = Replay(some_id("more"), "ana", LATER_MS, Selection(), ReplayState.COLLECTING)
    with pytest.raises(Conflict, match="running replays"):
        replays.add_of_one(more, ids[-1], delivered=False)
    assert states(store_engine)[ids[-1]][0] == "retryLimitReached", "nothing was begun"
    assert replays.newest("bob", limit=10) == []


def test_what_a_dead_worker_had_claimed_is_replayed_by_another(messages: Messages, store_engine: Engine) -> None:
    given_up(messages, 2)
    started(store_engine)
    assert len(replayed(messages, session="a")) == 2
    assert replayed(messages) == []
    assert messages.keep_only("a", []) == 2
    assert len(replayed(messages)) == 2
    with reading(store_engine) as connection:
        assert set(connection.execute(select(message.c.lease_owner)).scalars()) == {"b"}
