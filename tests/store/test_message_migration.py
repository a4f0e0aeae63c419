"""Tests of the migration from deliveries to messages: a store of revision 0003 with rows in every state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, MetaData, Table, insert, select
from tests.drafts import draft
from tests.postgres import Cluster
from tests.unit.delivery.events import NOW_MS, change_event

from tocsin.flow.schedule.decide import Slot
from tocsin.flow.schedule.messages import ScheduledNotification
from tocsin.model.message import MessageStatus
from tocsin.model.notification import NotificationIdScheme, Reason, message_id
from tocsin.model.notification_draft import EventHead
from tocsin.model.subscription import Channel
from tocsin.store.database.engine import open_engine, writing
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import attempt, message, notification
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.upkeep.fsck.dangling import follow_pointers

BEFORE = "0003_notified"
SINCE = {MessageStatus.AWAITING_REPLAY.value, MessageStatus.QUEUED.value}
"""Statuses that stores of before do not have."""

TRIES = {"pending": 0, "awaitingRetry": 1, "delivered": 1, "failed": 2, "retryLimitReached": 4}
"""How often what is in each state was tried."""

EVENT = change_event()
REASON = {"kind": "external", "subscriptionId": "s", "subscriptionName": "alert", "destinationId": "d"}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def old_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Engine of a store of the version before, with one notification in every state and one in the inbox."""
    url = f"sqlite:///{tmp_path / 'old.db'}"
    if request.param == "postgres":
        cluster: Cluster = request.getfixturevalue("postgres")
        cluster.run("DROP DATABASE IF EXISTS old")
        cluster.run("CREATE DATABASE old")
        url = cluster.url("old")
    engine = open_engine(url)
    migrate(engine, BEFORE)
    Sessions(engine).begin("busy", lease_ms=90_000, now_ms=NOW_MS)
    _fill(engine)
    yield engine
    engine.dispose()


def _fill(engine: Engine) -> None:
    old = MetaData()
    old.reflect(engine, only=["change_event", "notification", "delivery", "attempt"])
    event = {"log_offset": 1, "id": EVENT.id, "event_type": EVENT.event_type, "entity_type": EVENT.entity_type}
    event |= {"entity_id": EVENT.entity_id, "timestamp_ms": NOW_MS, "derived": "{}"}
    with writing(engine) as connection:
        connection.execute(insert(old.tables["change_event"]).values(document=json.dumps(EVENT.to_wire()), **event))
        connection.execute(insert(old.tables["notification"]), [_note("bell", Channel.ACTIVITY_FEED)])
        for place, (status, tries) in enumerate(TRIES.items()):
            connection.execute(insert(old.tables["notification"]), [_note(status, Channel.EMAIL)])
            connection.execute(insert(old.tables["delivery"]), [_delivery(status, tries, place)])
            _add_attempts(connection, old.tables["attempt"], status, tries)


def _add_attempts(connection: object, table: Table, status: str, tries: int) -> None:
    row = {"delivery_id": _message_id(status), "started_at_ms": NOW_MS, "duration_ms": 5, "outcome": "retry"}
    row |= {"reason": "timeout", "detail": ""}
    for number in range(1, tries + 1):
        connection.execute(insert(table).values(number=number, **row))  # type: ignore[attr-defined]


def _notification_id(status: str, channel: str = Channel.EMAIL) -> str:
    return NotificationIdScheme(hashed_through=1).of(1, EVENT.id, channel, f"{status}@example.org")


def _message_id(status: str) -> str:
    return message_id(_notification_id(status))


def _note(status: str, channel: str) -> dict[str, object]:
    return {
        "id": _notification_id(status, channel),
        "event_id": EVENT.id,
        "log_offset": 1,
        "channel": channel,
        "recipient": f"{status}@example.org",
        "recipient_id": "ann" if status == "pending" else None,
        "reasons": json.dumps([REASON]),
        "due_at_ms": NOW_MS,
        "created_at_ms": NOW_MS,
    }


def _delivery(status: str, tries: int, place: int) -> dict[str, object]:
    ids = {
        "id": _message_id(status),
        "notification_id": _notification_id(status),
        "event_id": EVENT.id,
        "log_offset": 1,
    }
    bound = {"subscription_id": "s", "destination_id": "d", "channel": Channel.EMAIL, "target": f"{status}@example.org"}
    state = {"status": status, "attempt_count": tries, "due_at_ms": NOW_MS + place, "wait_ms": place}
    times = {"created_at_ms": NOW_MS, "updated_at_ms": NOW_MS + 1}
    return {**ids, **bound, **state, **times, "lease_owner": "busy" if status == "awaitingRetry" else None}


def test_every_delivery_is_a_message_with_its_id_state_and_attempts(old_engine: Engine) -> None:
    migrate(old_engine)
    with old_engine.connect() as connection:
        messages_by_id = {row.id: row for row in connection.execute(select(message))}
        notes = {row.id: row for row in connection.execute(select(notification))}
        attempted_ids = [row.message_id for row in connection.execute(select(attempt.c.message_id))]
        damage = list(follow_pointers(connection, lambda _count: None))
    assert set(messages_by_id) == {_message_id(status) for status in TRIES}
    for place, (status, tries) in enumerate(TRIES.items()):
        row = messages_by_id[_message_id(status)]
        expected_delivery = _delivery(status, tries, place)
        unchanged_columns = (
            "subscription_id",
            "destination_id",
            "channel",
            "target",
            "status",
            "attempt_count",
            "due_at_ms",
        )
        assert {name: getattr(row, name) for name in unchanged_columns} == {
            name: expected_delivery[name] for name in unchanged_columns
        }
        times = (row.wait_ms, row.lease_owner, row.created_at_ms, row.updated_at_ms)
        assert times == (place, expected_delivery["lease_owner"], NOW_MS, NOW_MS + 1)
        assert (row.recipient, row.recipient_id) == (
            notes[_notification_id(status)].recipient,
            notes[_notification_id(status)].recipient_id,
        )
        assert (row.grouping_key, notes[_notification_id(status)].message_id) == (None, row.id)
        assert attempted_ids.count(row.id) == tries
    assert notes[_notification_id("bell", Channel.ACTIVITY_FEED)].message_id is None
    assert [one for one in damage if one.where.split()[0] in ("notification", "message", "attempt")] == []


def test_only_what_was_open_goes_out_and_what_was_claimed_stays_so(old_engine: Engine) -> None:
    """Fault scenario 8."""
    migrate(old_engine)
    messages, sessions = Messages(old_engine), Sessions(old_engine)
    sessions.begin("next", lease_ms=90_000, now_ms=NOW_MS)
    later_ms = NOW_MS + 10_000
    first = messages.claim("next", 64, now_ms=later_ms)
    sessions.end("busy")
    second = messages.claim("next", 64, now_ms=later_ms)
    assert [one.id for one in (*first, *second)] == [_message_id("pending"), _message_id("awaitingRetry")]
    dispatches = messages.dispatches([*first, *second])
    assert [one.event.id for one in dispatches] == [EVENT.id, EVENT.id]
    assert [one.first.reasons[0].subscription_id for one in dispatches] == ["s", "s"]


def test_a_micro_batch_repeated_after_the_migration_adds_nothing(old_engine: Engine) -> None:
    migrate(old_engine)
    event, slot = EventHead(1, EVENT.id, EVENT.entity_id, None, EVENT.timestamp), Slot(NOW_MS, subscription_id="s")
    drafts = {
        status: draft("Email", Reason.model_validate(REASON), event=event, key=f"{status}@example.org")
        for status in TRIES
    }
    Notifications(old_engine).add(
        [
            ScheduledNotification(
                notification_draft, _notification_id(status), (slot,), slot, _message_id(status), NOW_MS
            )
            for status, notification_draft in drafts.items()
        ]
    )
    with old_engine.connect() as connection:
        states = {row.id: row.status for row in connection.execute(select(message))}
    assert states == {_message_id(status): status for status in TRIES}
    assert set(states.values()) == {one.value for one in MessageStatus} - SINCE
