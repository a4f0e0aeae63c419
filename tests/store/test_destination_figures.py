"""Tests of how destinations of alerts fare, on both stores: bounded, of shared messages, of replays."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Engine, insert, select, update
from tests.store.rows import SUBSCRIPTION, add_messages, some_id
from tests.store.test_subscriptions import counted_statements
from tests.unit.delivery.events import NOW_MS

from tocsin.store.database.alert_tables import firing
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import attempt, change_event, message, notification
from tocsin.store.outbox.destination_figures import DestinationFigures, FiguresOfDestinations

OTHER = "5a000000-0000-4000-8000-000000000002"


def send(engine: Engine, name: str, *, after_ms: int = 1_000, **columns: object) -> None:
    """Add a message that was sent so long after its event, and the firing of its alert."""
    sent: dict[str, Any] = {"status": "delivered", "attempt_count": 1, **columns}
    (message_id,) = add_messages(engine, 1, name=name, **sent)
    row = {"message_id": message_id, "number": sent["attempt_count"], "duration_ms": 0, "outcome": "delivered"}
    with writing(engine) as connection:
        connection.execute(update(change_event).values(timestamp_ms=NOW_MS))
        connection.execute(insert(attempt), {**row, "started_at_ms": NOW_MS + after_ms, "reason": "delivered"})
        of_it = select(notification.c.log_offset).where(notification.c.message_id == message_id)
        offset = connection.execute(of_it).scalar_one()
        counts = {"notified_count": 1, "person_count": 0, "app_count": 0}
        connection.execute(insert(firing), {"log_offset": offset, "subscription_id": SUBSCRIPTION, **counts})


def figures(engine: Engine, *ids: str, **limits: int) -> list[DestinationFigures]:
    return FiguresOfDestinations(engine, **limits).of(SUBSCRIPTION, ids or ("d",))


def edit(engine: Engine, table: Any, name: str, **values: object) -> None:
    """Give the row of a name in notifications or messages other values."""
    with writing(engine) as connection:
        key = table.c.message_id if table is attempt else table.c.id
        kind = "notification" if table is notification else "message"
        connection.execute(update(table).where(key == some_id(f"{kind} {name}/0")).values(**values))


def reason(subscription_id: str, destination_id: str) -> dict[str, object]:
    names = {"subscriptionId": subscription_id, "subscriptionName": "alert", "destinationId": destination_id}
    return {"kind": "external", **names}


def test_a_message_of_several_alerts_counts_for_the_destinations_of_each(store_engine: Engine) -> None:
    send(store_engine, "shared")
    edit(store_engine, message, "shared", subscription_id=OTHER, destination_id="other")
    reasons = [reason(OTHER, "other"), reason(SUBSCRIPTION, "d"), reason(SUBSCRIPTION, "e"), reason(SUBSCRIPTION, "f")]
    edit(store_engine, notification, "shared", reasons=json.dumps(reasons))
    left_out = {"notificationId": some_id("notification shared/0"), "because": "disabled", "says": "It is off."}
    edit(store_engine, attempt, "shared", dropped=json.dumps([{**left_out, "reason": reasons[3]}]))
    sent_counts = {one.destination_id: one.sent_count for one in figures(store_engine, "d", "e", "f", "other")}
    assert sent_counts == {"d": 1, "e": 1, "f": 0, "other": 0}


def test_a_replay_after_a_week_makes_no_destination_slow(store_engine: Engine) -> None:
    send(store_engine, "quick")
    send(store_engine, "replayed", after_ms=604_800_000, attempt_count=4, attempts_before=3)
    assert figures(store_engine) == [DestinationFigures("d", 2, 0, 1.0)]


def test_figures_read_a_bounded_number_of_notifications(store_engine: Engine) -> None:
    for name in ("old", "middle", "new"):
        send(store_engine, name)
    assert [figures(store_engine, most_read=limit)[0].sent_count for limit in (1, 2, 9)] == [1, 2, 3]
    with writing(store_engine) as connection:
        connection.execute(update(firing).values(notified_count=10_000, app_count=9_999))
    assert figures(store_engine, most_looked_at=20_000)[0].sent_count == 2
    with writing(store_engine) as connection:
        connection.execute(update(firing).values(app_count=10_000))
    assert figures(store_engine)[0].sent_count == 0, "what is in the app alone is not read"


def test_waiting_messages_of_all_destinations_are_counted_by_one_statement(store_engine: Engine) -> None:
    for destination_id, count in (("d", 2), ("e", 3)):
        add_messages(store_engine, count, destination_id=destination_id)
    counts = []
    for ids in (("d",), ("d", "e", "none")):
        with counted_statements(store_engine) as statements:
            waiting_counts = [one.waiting_count for one in figures(store_engine, *ids)]
        counts.append(len(statements))
    assert waiting_counts == [2, 3, 0]
    assert counts[0] == counts[1] <= 2
    assert FiguresOfDestinations(store_engine).of(SUBSCRIPTION, []) == []
