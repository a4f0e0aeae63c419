"""Tests of paused destinations on both stores: who waits, who may probe, and what is recorded."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from time import sleep

import pytest
from sqlalchemy import Connection, Engine, event, insert, select
from tests.store.rows import SUBSCRIPTION, add_messages, finish_of, states
from tests.unit.delivery.events import NOW_MS, dispatch

from tocsin.flow.track.breaker import PROBE_LIMIT_MS, PROBE_WAIT_MS, as_probe
from tocsin.model.message import Delivered, Message, Outcome, OutcomeReason, Rejected, Retry
from tocsin.store.catalogue.alerts.audit import AuditRows
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import attempt, destination_status, message
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.pauses import Pauses
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.outbox.status import DestinationStatuses

AWAY = Retry(OutcomeReason.CONNECTION_FAILED)
PROBED_MS = NOW_MS + 5 + PROBE_WAIT_MS
"""When the first probe is due after ``break_destination``."""


@pytest.fixture
def messages(store_engine: Engine) -> Messages:
    for name in ("a", "b"):
        Sessions(store_engine).begin(name, lease_ms=90_000, now_ms=NOW_MS)
    return Messages(store_engine)


def break_destination(messages: Messages, destination_id: str = "d", count: int = 10) -> list[str]:
    """Open a destination's breaker with that many failures, retried a minute after; return the messages' ids."""
    ids = add_messages(messages._engine, count, destination_id=destination_id)
    claimed = messages.claim("a", count, now_ms=NOW_MS + count, shares={destination_id: count})
    messages.record("a", [finish_of(one, AWAY) for one in claimed], now_ms=NOW_MS + 10)
    return ids


def probe(messages: Messages, session_id: str = "a", *, now_ms: int) -> list[Message]:
    return messages.claim(session_id, 64, now_ms=now_ms, shares={"d": 1}, pauses=Pauses(probed=frozenset("d")))


def end_probe(messages: Messages, probe: Message, outcome: Outcome, at_ms: int) -> None:
    messages.record("a", [as_probe(finish_of(probe, outcome, at_ms=at_ms))], now_ms=at_ms + 5)


def status(engine: Engine) -> tuple[str, int | None, bool]:
    destination_status = DestinationStatuses(engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"]
    return destination_status.status.value, destination_status.next_attempt_ms, destination_status.breaker.is_open


def test_ten_failures_pause_it_and_all_workers_know(messages: Messages, store_engine: Engine) -> None:
    break_destination(messages, count=9)
    assert messages.pauses(NOW_MS) == Pauses()
    add_messages(store_engine, 1, name="tenth")
    (tenth,) = messages.claim("b", 1, now_ms=NOW_MS + 10)
    messages.record("b", [finish_of(tenth, AWAY)], now_ms=NOW_MS + 10)
    for reader in (messages, Messages(store_engine)):
        assert reader.pauses(NOW_MS + 10) == Pauses(waiting=frozenset("d"))
        assert reader.pauses(PROBED_MS) == Pauses(probed=frozenset("d"))
    assert status(store_engine) == ("failed", PROBED_MS, True)


def test_the_browsers_of_one_person_pause_nothing_for_others(messages: Messages, store_engine: Engine) -> None:
    add_messages(store_engine, 20, channel="Push", target="0199c6f2-7c00-7000-8000-00000000a11e")
    claimed = messages.claim("a", 20, now_ms=NOW_MS + 20)
    messages.record("a", [finish_of(one, AWAY) for one in claimed], now_ms=NOW_MS + 20)
    assert messages.pauses(NOW_MS + 20) == Pauses()


def test_of_many_workers_one_probes(messages: Messages, store_engine: Engine) -> None:
    break_destination(messages)
    add_messages(store_engine, 5, name="new")
    with ThreadPoolExecutor(8) as pool:
        probes = list(pool.map(lambda n: probe(messages, "ab"[n % 2], now_ms=PROBED_MS), range(8)))
    assert sum(map(len, probes)) == 1
    assert messages.pauses(PROBED_MS + PROBE_LIMIT_MS - 1) == Pauses(waiting=frozenset("d"))
    assert messages.pauses(PROBED_MS + PROBE_LIMIT_MS) == Pauses(probed=frozenset("d"))


def test_workers_that_probe_the_same_destinations_in_other_orders_do_not_wait_for_each_other(
    messages: Messages, store_engine: Engine
) -> None:
    names = [f"d{number:02}" for number in range(20)]
    for name in names:
        break_destination(messages, name)
        add_messages(store_engine, 5, name=f"new-{name}", destination_id=name)

    def claim_as(session_id: str) -> list[Message]:
        shares = dict.fromkeys(names if session_id == "a" else reversed(names), 1)
        return messages.claim(session_id, 64, now_ms=PROBED_MS, shares=shares, pauses=Pauses(probed=frozenset(names)))

    with ThreadPoolExecutor(2) as pool:
        destination_ids = [one.destination_id for both in pool.map(claim_as, "ab") for one in both]
    assert sorted(destination_ids) == names


def test_first_outcomes_of_destinations_that_workers_share_are_recorded_in_one_order(
    messages: Messages, store_engine: Engine
) -> None:
    if store_engine.dialect.name == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    for name in ("c", "e"):
        add_messages(store_engine, 3, destination_id=name)
    ends = [finish_of(one) for one in messages.claim("a", 6, now_ms=NOW_MS + 5)]
    first, second, third = (sorted(ends, key=lambda one: one.message.destination_id)[at::3] for at in range(3))
    steps: list[str] = []
    waiting: list[Future[set[str]]] = []

    def make_one(_connection: Connection, _cursor: object, text: str, *_: object) -> None:
        """Let another worker make the row of ``e`` when this one is about to make both."""
        if text.startswith("INSERT INTO destination_status") and not steps:
            steps.append("begun")
            messages.record("a", second[1:], now_ms=NOW_MS)
            steps.append("made")

    def hold_one(_connection: Connection, _cursor: object, text: str, *_: object) -> None:
        """Let another worker record for both when this one has made the row of ``c``."""
        if text.startswith("INSERT INTO destination_status") and "made" in steps and not waiting:
            waiting.append(pool.submit(messages.record, "a", third, now_ms=NOW_MS))
            sleep(0.3)

    event.listen(store_engine, "before_cursor_execute", make_one)
    event.listen(store_engine, "after_cursor_execute", hold_one)
    with ThreadPoolExecutor(1) as pool:
        assert messages.record("a", first, now_ms=NOW_MS) == {one.message.id for one in first}
        assert waiting[0].result() == {one.message.id for one in third}


def test_failed_probes_use_up_no_attempts_and_take_turns(messages: Messages, store_engine: Engine) -> None:
    break_destination(messages)
    new = add_messages(store_engine, 3, name="new")
    at_ms, probed_ids = PROBED_MS, []
    for _ in range(30):
        (probe_message,) = probe(messages, now_ms=at_ms)
        probed_ids.append(probe_message.id)
        end_probe(messages, probe_message, AWAY, at_ms)
        assert status(store_engine) == ("failed", at_ms + 5 + PROBE_WAIT_MS, True)
        at_ms += 5 + PROBE_WAIT_MS
    assert probed_ids[:3] == new
    assert len(set(probed_ids)) == 13
    assert {states(store_engine)[one] for one in new} == {("pending", 0)}
    assert {count for _, count in states(store_engine).values()} == {0, 1}
    with reading(store_engine) as connection:
        assert len(connection.execute(select(attempt)).all()) == 10


def test_what_waits_for_a_paused_destination_is_not_overdue_to_the_audit(
    messages: Messages, store_engine: Engine
) -> None:
    waiting = break_destination(messages)
    (other_id,) = add_messages(store_engine, 1, destination_id="e")
    due = {row[0]: row[2] for row in AuditRows(store_engine).messages(0, 10_000)}
    assert due.pop(other_id) == NOW_MS
    assert set(due) == set(waiting)
    assert min(due.values()) > 10 * NOW_MS


def test_a_probe_that_arrives_frees_the_others(messages: Messages, store_engine: Engine) -> None:
    break_destination(messages)
    new = add_messages(store_engine, 3, name="new")
    (probe_message,) = probe(messages, now_ms=PROBED_MS)
    end_probe(messages, probe_message, Delivered(200), PROBED_MS)
    assert messages.pauses(PROBED_MS) == Pauses()
    assert states(store_engine)[new[0]] == ("delivered", 1)
    assert status(store_engine) == ("active", None, False)
    assert len(messages.claim("b", 64, now_ms=PROBED_MS)) == 2


def test_a_probe_that_was_not_sent_leaves_the_next_one_due(messages: Messages, store_engine: Engine) -> None:
    break_destination(messages)
    new = add_messages(store_engine, 1, name="new")
    (probe_message,) = probe(messages, now_ms=PROBED_MS)
    end_probe(messages, probe_message, Rejected(OutcomeReason.MUTED), PROBED_MS)
    assert messages.pauses(PROBED_MS + 5) == Pauses(probed=frozenset("d"))
    assert states(store_engine)[new[0]] == ("failed", 1)


def test_a_probe_of_a_dead_worker_is_made_by_another(messages: Messages, store_engine: Engine) -> None:
    break_destination(messages)
    add_messages(store_engine, 1, name="new")
    (probe_message,) = probe(messages, "a", now_ms=PROBED_MS)
    Sessions(store_engine).end("a")
    assert probe(messages, "b", now_ms=PROBED_MS + PROBE_LIMIT_MS) == [probe_message]


@pytest.mark.parametrize("set_by_ms", [-(10**12), -PROBE_LIMIT_MS, 10**12])
def test_a_clock_that_is_set_does_not_pause_it_for_longer(messages: Messages, set_by_ms: int) -> None:
    break_destination(messages)
    assert messages.pauses(PROBED_MS + set_by_ms - PROBE_WAIT_MS) == Pauses(probed=frozenset("d"))


def test_nobody_pauses_the_destination_of_somebody_elses_alert(messages: Messages, store_engine: Engine) -> None:
    break_destination(messages)
    status_row = {"subscription_id": "other", "destination_id": "d", "status": "active", "timestamp_ms": 1}
    with writing(store_engine) as connection:
        connection.execute(insert(destination_status).values(**status_row, delivered_count=1, failed_count=0))
    assert messages.pauses(NOW_MS + 10) == Pauses()


def test_claims_are_given_back_and_those_of_others_kept(messages: Messages, store_engine: Engine) -> None:
    ids = add_messages(store_engine, 4)
    messages.claim("a", 3, now_ms=NOW_MS + 10)
    (last,) = messages.claim("b", 1, now_ms=NOW_MS + 10)
    messages.release("a", [*ids[:2], last.id])
    assert [one.id for one in messages.claim("b", 64, now_ms=NOW_MS + 10)] == ids[:2]
    with reading(store_engine) as connection:
        owners = dict(connection.execute(select(message.c.id, message.c.lease_owner)).all())
    assert owners == {ids[0]: "b", ids[1]: "b", ids[2]: "a", ids[3]: "b"}


def test_what_agreeing_alerts_share_pauses_each_of_their_destinations(messages: Messages, store_engine: Engine) -> None:
    add_messages(store_engine, 10)
    claimed = messages.claim("a", 10, now_ms=NOW_MS + 10)
    (entry,) = dispatch().entries
    keys = [{"subscription_id": SUBSCRIPTION, "destination_id": one} for one in ("d", "e")]
    carried = (replace(entry, reasons=tuple(entry.reasons[0].model_copy(update=key) for key in keys)),)
    messages.record("a", [replace(finish_of(one, AWAY), entries=carried) for one in claimed], now_ms=NOW_MS + 10)
    assert messages.pauses(NOW_MS + 10).waiting == {"d", "e"}
