"""Tests of message claims and records on both stores: once each, nothing lost."""

from __future__ import annotations

import json
import multiprocessing
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select, text, update
from tests.store.rows import SUBSCRIPTION, add_alert, add_messages, finish_of, some_id, states
from tests.unit.delivery.events import NOW_MS

from tocsin.model.message import Delivered, Message, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.subscription import SubscriptionState
from tocsin.store.database.engine import open_engine, reading, writing
from tocsin.store.database.tables import attempt, destination_status, entity, message, notification
from tocsin.store.outbox.addresses import Routes
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Session, Sessions
from tocsin.store.outbox.status import DestinationStatuses

LEASE_MS = 90_000
LATER_MS = NOW_MS + 10_000


def claim(
    messages: Messages, session_id: str = "a", limit: int = 64, *, now_ms: int = LATER_MS, **options: Any
) -> list[Message]:
    """Claim under a session, which is begun where there is none."""
    Sessions(messages._engine).begin(session_id, lease_ms=LEASE_MS, now_ms=now_ms)
    return messages.claim(session_id, limit, now_ms=now_ms, **options)


def test_what_is_due_is_claimed_longest_due_first(store_engine: Engine) -> None:
    ids = add_messages(store_engine, 5)
    assert [one.id for one in claim(Messages(store_engine), limit=3)] == ids[:3]


def test_nothing_is_claimed_before_it_is_due(store_engine: Engine) -> None:
    add_messages(store_engine, 1, due_at_ms=LATER_MS + 1)
    assert claim(Messages(store_engine)) == []
    assert len(claim(Messages(store_engine), now_ms=LATER_MS + 1)) == 1


FAR_AWAY_MS = (-(10**12), -1, 0, 1, 10**12)


@pytest.mark.parametrize("set_by_ms", FAR_AWAY_MS)
def test_what_is_claimed_is_nobody_elses_while_the_session_lasts(store_engine: Engine, set_by_ms: int) -> None:
    ids = add_messages(store_engine, 1)
    messages = Messages(store_engine)
    assert len(claim(messages, "a")) == 1
    assert claim(messages, "b", now_ms=LATER_MS + set_by_ms) == []
    Sessions(store_engine).end("a")
    assert [one.id for one in claim(messages, "b")] == ids


def test_a_lost_workers_rows_come_back_with_the_same_id_and_count(store_engine: Engine) -> None:
    add_messages(store_engine, 3)
    messages = Messages(store_engine)
    before = claim(messages, "killed")
    Sessions(store_engine).end("killed")
    assert claim(messages, "next") == before


def test_a_session_that_has_ended_claims_nothing(store_engine: Engine) -> None:
    add_messages(store_engine, 1)
    messages = Messages(store_engine)
    assert messages.claim("never begun", 64, now_ms=LATER_MS) == []
    assert len(claim(messages, "b")) == 1


def test_only_a_session_that_is_there_is_renewed_and_only_a_silent_one_ended(store_engine: Engine) -> None:
    sessions = Sessions(store_engine)
    for name in ("a", "b"):
        sessions.begin(name, lease_ms=LEASE_MS, now_ms=1)
    silent = sessions.all()
    assert silent == [Session("a", LEASE_MS, 0), Session("b", LEASE_MS, 0)]
    assert sessions.renew("a", now_ms=2)
    assert sessions.end_silent(silent) == ["b"]  # a was renewed since it was seen
    assert sessions.all() == [Session("a", LEASE_MS, 1)]
    assert not sessions.renew("b", now_ms=3)
    sessions.begin("a", lease_ms=1, now_ms=4)
    assert sessions.all() == [Session("a", LEASE_MS, 1)]


def test_what_a_session_does_not_know_that_it_claimed_is_freed(store_engine: Engine) -> None:
    ids = add_messages(store_engine, 3)
    messages = Messages(store_engine)
    claim(messages, "a")
    assert messages.keep_only("b", []) == 0
    assert messages.keep_only("a", ids[1:]) == 1
    assert [one.id for one in claim(messages, "b")] == ids[:1]


def test_nothing_is_due_later_than_its_wait_from_now(store_engine: Engine) -> None:
    day_ms = 24 * 3_600_000
    (put_off,) = add_messages(store_engine, 1, due_at_ms=LATER_MS + day_ms, wait_ms=5_000, name="put off")
    (right,) = add_messages(store_engine, 1, due_at_ms=LATER_MS + 5_000, wait_ms=5_000, name="right")
    (untried_id,) = add_messages(store_engine, 1, due_at_ms=LATER_MS + day_ms, name="untried")
    add_messages(store_engine, 1, due_at_ms=LATER_MS + day_ms, status="failed", name="ended")
    messages = Messages(store_engine)
    status_row = {"subscription_id": SUBSCRIPTION, "destination_id": "d", "status": "awaitingRetry", "timestamp_ms": 1}
    with writing(store_engine) as connection:
        connection.execute(insert(destination_status).values(next_attempt_ms=LATER_MS + day_ms, **status_row))
    assert messages.plan_again(LATER_MS) == 2
    assert DestinationStatuses(store_engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"].next_attempt_ms == LATER_MS
    with reading(store_engine) as connection:
        due = {row.id: row.due_at_ms for row in connection.execute(select(message.c.id, message.c.due_at_ms))}
    assert (due[put_off], due[right], due[untried_id]) == (LATER_MS + 5_000, LATER_MS + 5_000, LATER_MS)
    assert messages.plan_again(LATER_MS) == 0


def test_an_outcome_is_written_with_its_attempt_and_its_standing(store_engine: Engine) -> None:
    (message_id,) = add_messages(store_engine, 1)
    messages = Messages(store_engine)
    (claimed_message,) = claim(messages)
    assert messages.record("a", [finish_of(claimed_message)], now_ms=LATER_MS) == {message_id}
    assert states(store_engine) == {message_id: ("delivered", 1)}
    standing = DestinationStatuses(store_engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"]
    assert (standing.status, standing.delivered_count) == (SubscriptionState.ACTIVE, 1)
    with reading(store_engine) as connection:
        row = connection.execute(select(attempt)).one()
    assert (row.message_id, row.number, row.outcome, row.reason, row.status_code) == (
        message_id,
        1,
        "delivered",
        "ok",
        200,
    )
    assert (row.duration_ms, row.detail) == (5, "ok")
    assert claim(messages, now_ms=LATER_MS + 10**9) == []


def test_a_retry_is_a_row_that_is_due_later(store_engine: Engine) -> None:
    (message_id,) = add_messages(store_engine, 1)
    messages = Messages(store_engine)
    (claimed,) = claim(messages)
    outcome = Retry(OutcomeReason.SERVER_ERROR, status_code=500)
    messages.record("a", [finish_of(claimed, outcome, at_ms=LATER_MS)], now_ms=LATER_MS)
    assert states(store_engine) == {message_id: ("awaitingRetry", 1)}
    assert claim(messages, "b", now_ms=LATER_MS + 60_004) == []
    (again,) = claim(messages, "b", now_ms=LATER_MS + 60_005)
    assert (again.id, again.attempt_count) == (message_id, 1)
    assert DestinationStatuses(store_engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"].next_attempt_ms == LATER_MS + 60_005


def test_nothing_is_recorded_once_the_lease_is_somebody_elses(store_engine: Engine) -> None:
    (message_id,) = add_messages(store_engine, 1)
    messages = Messages(store_engine)
    (slow,) = claim(messages, "slow")
    Sessions(store_engine).end("slow")
    (quick,) = claim(messages, "quick")
    assert messages.record("slow", [finish_of(slow, Rejected(OutcomeReason.BAD_URL))], now_ms=LATER_MS) == set()
    assert states(store_engine) == {message_id: ("pending", 0)}
    assert messages.record("quick", [finish_of(quick)], now_ms=LATER_MS) == {message_id}
    assert messages.record("quick", [finish_of(quick)], now_ms=LATER_MS) == set()
    assert states(store_engine) == {message_id: ("delivered", 1)}
    assert DestinationStatuses(store_engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"].delivered_count == 1


def test_a_session_that_has_ended_still_records_what_nobody_claimed_since(store_engine: Engine) -> None:
    (message_id,) = add_messages(store_engine, 1)
    messages = Messages(store_engine)
    (claimed,) = claim(messages)
    Sessions(store_engine).end("a")
    assert messages.record("a", [finish_of(claimed)], now_ms=LATER_MS + 10**6) == {message_id}


def test_one_lost_lease_does_not_spoil_its_group(store_engine: Engine) -> None:
    ids = add_messages(store_engine, 3)
    messages = Messages(store_engine)
    claimed = claim(messages, "a")
    with writing(store_engine) as connection:
        connection.execute(update(message).where(message.c.id == ids[1]).values(lease_owner="b"))
    assert messages.record("a", [finish_of(one) for one in claimed], now_ms=LATER_MS) == {ids[0], ids[2]}


def test_standings_of_a_group_add_up_in_its_order(store_engine: Engine) -> None:
    add_messages(store_engine, 3)
    messages = Messages(store_engine)
    outcomes: list[Outcome] = [
        Delivered(200),
        Retry(OutcomeReason.TIMEOUT),
        Rejected(OutcomeReason.REDIRECT, status_code=302),
    ]
    group = [finish_of(one, outcome) for one, outcome in zip(claim(messages), outcomes, strict=True)]
    messages.record("a", group, now_ms=LATER_MS)
    standing = DestinationStatuses(store_engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"]
    assert (standing.status, standing.delivered_count, standing.failed_count) == (SubscriptionState.FAILED, 1, 1)
    assert (standing.last_failed_status_code, standing.last_failed_reason) == (302, "redirect")


def test_destinations_with_something_due_are_found_in_order(store_engine: Engine) -> None:
    for name in ("c", "a", "b"):
        add_messages(store_engine, 3, destination_id=name)
    add_messages(store_engine, 1, destination_id="later", due_at_ms=LATER_MS + 1)
    messages = Messages(store_engine)
    assert messages.due_destinations(LATER_MS) == ["a", "b", "c"]
    claim(messages, shares={"b": 3})
    assert messages.due_destinations(LATER_MS) == ["a", "c"]


def test_each_destination_gets_its_share_of_a_claim(store_engine: Engine) -> None:
    """Fault scenario 16."""
    add_messages(store_engine, 50, destination_id="busy")
    add_messages(store_engine, 2, destination_id="quiet")
    claimed = claim(Messages(store_engine), shares={"busy": 4, "quiet": 4})
    assert Counter(one.destination_id for one in claimed) == {"busy": 4, "quiet": 2}


def test_a_claim_walks_the_index_of_open_messages(store_engine: Engine) -> None:
    """Fault scenario 18."""
    add_messages(store_engine, 400, destination_id="done", status="delivered")
    add_messages(store_engine, 2, destination_id="open")
    query = (
        "SELECT id FROM message WHERE status IN ('pending', 'awaitingRetry') AND due_at_ms <= 9999999999999 "
        "AND lease_owner IS NULL AND destination_id = 'open' ORDER BY due_at_ms LIMIT 64"
    )
    sqlite = store_engine.dialect.name == "sqlite"
    with writing(store_engine) as connection:
        if not sqlite:
            connection.execute(text("SET LOCAL enable_seqscan = off"))
        plan = connection.execute(text(("EXPLAIN QUERY PLAN " if sqlite else "EXPLAIN ") + query)).all()
    assert "ix_message_open" in " ".join(str(row) for row in plan)
    assert Messages(store_engine).due_destinations(LATER_MS) == ["open"]


def test_further_processes_of_a_worker_claim_webhooks_only(store_engine: Engine) -> None:
    add_messages(store_engine, 2, destination_id="hook")
    add_messages(store_engine, 3, destination_id="chat")
    with writing(store_engine) as connection:
        connection.execute(update(message).where(message.c.destination_id == "chat").values(channel="Slack"))
    further = Messages(store_engine, webhooks_only=True)
    assert further.due_destinations(LATER_MS) == ["hook"]
    assert Messages(store_engine).due_destinations(LATER_MS) == ["chat", "hook"]
    assert claim(further, shares={"chat": 8}) == []  # also where a destination has become one of another channel
    assert [one.channel for one in claim(further)] == ["Webhook"] * 2


def test_a_dispatch_carries_its_event_and_reasons(store_engine: Engine) -> None:
    add_messages(store_engine, 2)
    messages = Messages(store_engine)
    claimed = claim(messages)
    dispatches = messages.dispatches(claimed)
    assert [one.message for one in dispatches] == claimed
    assert [one.event.id for one in dispatches] == [some_id(f"event d/{number}") for number in range(2)]
    assert dispatches[0].first.reasons[0].subscription_name == "alert"
    assert not dispatches[0].first.recipient_gone


def test_messages_about_the_same_event_share_it(store_engine: Engine) -> None:
    add_messages(store_engine, 3)
    with writing(store_engine) as connection:
        ids = [some_id(f"event d/{number}") for number in range(2)]
        connection.execute(update(notification).where(notification.c.event_id == ids[1]).values(event_id=ids[0]))
    messages = Messages(store_engine)
    first, second, third = (one.first.carried for one in messages.dispatches(claim(messages)))
    assert first is second
    assert third is not first
    assert [first.as_wire(), third.as_wire()] == [first.event.as_wire(), third.event.as_wire()]


def test_events_for_webhooks_are_not_parsed_by_a_claim(store_engine: Engine) -> None:
    add_messages(store_engine, 2)
    messages = Messages(store_engine)
    dispatches = messages.dispatches(claim(messages))
    assert ["event" in vars(one.first.carried) for one in dispatches] == [False, False]


@pytest.mark.parametrize(("deleted", "is_gone"), [(False, False), (True, True), (None, True)])
def test_a_recipient_who_was_deleted_is_gone(store_engine: Engine, deleted: bool | None, is_gone: bool) -> None:
    add_messages(store_engine, 1)
    add_alert(store_engine, [])  # any entity will do as the recipient
    with writing(store_engine) as connection:
        recipient = SUBSCRIPTION if deleted is not None else "nobody"
        connection.execute(update(notification).values(recipient_id=recipient))
        connection.execute(update(entity).values(deleted=bool(deleted)))
    messages = Messages(store_engine)
    assert messages.dispatches(claim(messages))[0].first.recipient_gone is is_gone


def test_a_route_leads_where_the_alert_says_now(store_engine: Engine) -> None:
    routes = Routes(store_engine)
    assert routes.of(SUBSCRIPTION) == {}
    add_alert(store_engine, [{"id": "d", "config": {"endpoint": "http://e"}}], retries=5)
    route = routes.of(SUBSCRIPTION)["d"]
    assert (route.destination.config.endpoint, route.retries, route.closed_because) == ("http://e", 5, None)
    add_alert(store_engine, [{"id": "d", "enabled": False}])
    assert routes.of(SUBSCRIPTION)["d"].closed_because == "the destination is disabled"
    add_alert(store_engine, [{"id": "d"}], enabled=False)
    assert routes.of(SUBSCRIPTION)["d"].closed_because == "the alert is disabled"


def _claim_all(messages: Messages, owner: str) -> list[str]:
    """Claim and record until nothing is left; return what this worker was given."""
    claimed_ids: list[str] = []
    while claimed := claim(messages, owner, 7):
        claimed_ids += [one.id for one in claimed]
        messages.record(owner, [finish_of(one) for one in claimed], now_ms=LATER_MS)
    return claimed_ids


def test_racing_threads_never_get_one_message_twice(store_engine: Engine) -> None:
    ids = [one for name in "abc" for one in add_messages(store_engine, 70, destination_id=name)]
    messages = Messages(store_engine)
    with ThreadPoolExecutor(4) as pool:
        claimed_ids = [one for got in pool.map(lambda owner: _claim_all(messages, owner), "wxyz") for one in got]
    assert len(claimed_ids) == len(set(claimed_ids))
    # A worker may stop early while the others hold the rest; what is left is left for the next look.
    claimed_ids += _claim_all(messages, "last")
    assert Counter(claimed_ids) == Counter(ids)
    assert set(states(store_engine).values()) == {("delivered", 1)}
    statuses_of_alert = DestinationStatuses(store_engine).of([SUBSCRIPTION])[SUBSCRIPTION]
    counts = [one.delivered_count for one in statuses_of_alert.values()]
    assert counts == [70, 70, 70]


def _claim_all_in_a_process(url: str, owner: str) -> list[str]:
    engine = open_engine(url, synchronous="NORMAL")
    try:
        return _claim_all(Messages(engine), owner)
    finally:
        engine.dispose()


def test_racing_processes_never_get_one_message_twice(store_engine: Engine, store_url: str) -> None:
    ids = [one for name in "ab" for one in add_messages(store_engine, 60, destination_id=name)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        claimed_ids = [one for got in pool.map(_claim_all_in_a_process, [store_url] * 2, "xy") for one in got]
    claimed_ids += _claim_all(Messages(store_engine), "last")
    assert Counter(claimed_ids) == Counter(ids)


def test_an_attempt_counts_for_every_destination_that_asked_for_it(store_engine: Engine) -> None:
    add_messages(store_engine, 1)
    reasons = [
        {"kind": "admin", "subscriptionName": "alert", "subscriptionId": SUBSCRIPTION, "destinationId": "d"},
        {"kind": "admin", "subscriptionName": "other", "subscriptionId": "another-alert", "destinationId": "e"},
    ]
    with writing(store_engine) as connection:
        connection.execute(update(notification).values(reasons=json.dumps(reasons)))
    messages = Messages(store_engine)
    (dispatch,) = messages.dispatches(claim(messages))
    messages.record("a", [replace(finish_of(dispatch.message), entries=dispatch.entries)], now_ms=LATER_MS)
    for subscription, destination in ((SUBSCRIPTION, "d"), ("another-alert", "e")):
        (standing,) = DestinationStatuses(store_engine).of([subscription])[subscription].items()
        assert standing[0] == destination
        assert standing[1].status is SubscriptionState.ACTIVE
        assert standing[1].delivered_count == 1


def test_what_no_store_can_hold_of_an_answer_is_left_out_and_the_outcome_recorded(
    store_engine: Engine,
) -> None:
    add_messages(store_engine, 1)
    messages = Messages(store_engine)
    (claimed_message,) = claim(messages)
    outcome = Delivered(200, "o\x00k\ud800", remote_id="C1/\x00171")
    assert messages.record("a", [finish_of(claimed_message, outcome)], now_ms=NOW_MS) == {claimed_message.id}
    with reading(store_engine) as connection:
        row = connection.execute(select(attempt.c.detail, attempt.c.remote_id)).one()
    assert tuple(row) == ("ok?", "C1/171")
