"""Rows for message tests: an alert with a destination, events, and due messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import NAMESPACE_URL, uuid5

from sqlalchemy import Engine, insert, select
from tests.unit.delivery.events import NOW_MS, change_event

from tocsin.flow.track.attempts import Finished, next_step
from tocsin.model.message import Attempt, Delivered, Message, Outcome
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import change_event as change_event_table
from tocsin.store.database.tables import entity, message, notification

SUBSCRIPTION = "5a000000-0000-4000-8000-000000000001"


def some_id(text: str) -> str:
    """Return a fixed id for ``text``."""
    return str(uuid5(NAMESPACE_URL, text))


def add_alert(engine: Engine, destinations: Sequence[dict[str, object]], **columns: object) -> None:
    document = {
        "id": SUBSCRIPTION,
        "name": "alert",
        "fullyQualifiedName": "alert",
        "alertType": "Notification",
        "destinations": [{"category": "External", "type": "Webhook", **destination} for destination in destinations],
        **columns,
    }
    with writing(engine) as connection:
        connection.execute(entity.delete().where(entity.c.id == SUBSCRIPTION))
        connection.execute(
            insert(entity).values(
                id=SUBSCRIPTION,
                entity_type="eventsubscription",
                fqn="alert",
                name="alert",
                version_tenths=1,
                updated_at_ms=NOW_MS,
                updated_by="admin",
                deleted=False,
                document=json.dumps(document),
            )
        )


def add_messages(
    engine: Engine, count: int, *, destination_id: str = "d", due_at_ms: int = NOW_MS, name: str = "", **columns: object
) -> list[str]:
    """Add that many due messages to a destination, each with its event, and return their ids in due order."""
    names = [f"{name or destination_id}/{number}" for number in range(count)]
    with writing(engine) as connection:
        connection.execute(insert(change_event_table), [_event_row(name) for name in names])
        events = connection.execute(select(change_event_table.c.id, change_event_table.c.log_offset)).all()
        offsets = {row.id: row.log_offset for row in events}
        notes = [_notification_row(name, offsets[some_id(f"event {name}")], destination_id) for name in names]
        connection.execute(insert(notification), notes)
        message_rows = [
            _message_row(name, destination_id=destination_id, due_at_ms=due_at_ms + n, **columns)
            for n, name in enumerate(names)
        ]
        connection.execute(insert(message), message_rows)
    return [some_id(f"message {name}") for name in names]


def finish_of(claimed: Message, outcome: Outcome | None = None, *, retries: int = 3, at_ms: int = NOW_MS) -> Finished:
    """Return the end of an attempt at ``claimed``; a success unless said otherwise."""
    attempt = Attempt(claimed.id, claimed.attempt_count + 1, at_ms, 5, outcome or Delivered(200, "ok"))
    return Finished(claimed, attempt, next_step(attempt, retries=retries, wait_s=60.0))


def states(engine: Engine) -> dict[str, tuple[str, int]]:
    """Return the status and the count of attempts of every message by its id."""
    with reading(engine) as connection:
        message_rows = connection.execute(select(message.c.id, message.c.status, message.c.attempt_count))
        return {row.id: (row.status, row.attempt_count) for row in message_rows}


def _event_row(name: str) -> dict[str, object]:
    event = change_event(id=some_id(f"event {name}"))
    return {
        "id": event.id,
        "event_type": event.event_type,
        "entity_type": event.entity_type,
        "entity_id": event.entity_id,
        "entity_fqn": event.entity_fully_qualified_name,
        "user_name": event.user_name,
        "timestamp_ms": event.timestamp,
        "document": json.dumps(event.to_wire()),
        "derived": "{}",
    }


def _notification_row(name: str, offset: int, destination_id: str) -> dict[str, object]:
    reason = {
        "kind": "external",
        "subscriptionId": SUBSCRIPTION,
        "subscriptionName": "alert",
        "destinationId": destination_id,
    }
    return {
        "id": some_id(f"notification {name}"),
        "event_id": some_id(f"event {name}"),
        "log_offset": offset,
        "channel": "Webhook",
        "recipient": f"{SUBSCRIPTION}:{name}",
        "reasons": json.dumps([reason]),
        "message_id": some_id(f"message {name}"),
        "due_at_ms": NOW_MS,
        "created_at_ms": NOW_MS,
    }


def _message_row(name: str, **columns: object) -> dict[str, object]:
    return {
        "id": some_id(f"message {name}"),
        "recipient": f"{SUBSCRIPTION}:{name}",
        "subscription_id": SUBSCRIPTION,
        "channel": "Webhook",
        "target": "http://127.0.0.1:1/hook",
        "status": "pending",
        "attempt_count": 0,
        "wait_ms": 0,
        "created_at_ms": NOW_MS,
        "updated_at_ms": NOW_MS,
        **columns,
    }
