"""People whose daily digests of twenty notifications are due: rows for the benchmark of digests, written in bulk.

Each person follows twenty tables of a few thousand, so that thousands hear of the same change, as in a company.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from sqlalchemy import Connection, Engine, insert, select

from bench.estate import Size, build_estate
from bench.traffic import append_events
from tocsin.catalogue.writes import Writes
from tocsin.chunks import chunks_of
from tocsin.clock import SystemClock
from tocsin.model.entity import Document
from tocsin.model.message import MessageStatus
from tocsin.model.notification import Reason, ReasonKind, gathered_message_id
from tocsin.model.notification_draft import EventHead, head_of, reasons_of
from tocsin.model.people import SYSTEM
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.tables import entity, message, notification, person
from tocsin.store.eventlog.log import EventLog

EVENT_COUNT = 2_000
_PEOPLE_AT_ONCE = 2_000
_DAY_MS = 86_400_000
_DESTINATION: Document = {
    "id": "5a1a72a3-6f0c-4d3c-9a53-0f4d1d4dfd11",
    "category": "Followers",
    "type": Channel.EMAIL.value,
    "config": {},
}
Row = dict[str, Any]  # Any: a column's value


def add_due_digests(engine: Engine, people: int, count: int) -> int:
    """Give each of so many people a digest of so many notifications that is due; return when (epoch milliseconds)."""
    build_estate(engine, Size(), follows=10)
    request: Document = {
        "name": "digests",
        "alertType": "Notification",
        "destinations": [_DESTINATION],
        "trigger": {"triggerType": "Scheduled", "scheduleInfo": "Daily"},
    }
    alert = Writes(SqlCatalogue(engine), SystemClock()).create("eventsubscription", request, actor=SYSTEM).document
    offsets = append_events(engine, EVENT_COUNT, lambda _done, _total: None)
    heads = [head_of(logged) for logged in EventLog(engine).read(offsets.start - 1, EVENT_COUNT)]
    reason = Reason(
        kind=ReasonKind.FOLLOWER,
        subscription_id=alert["id"],
        subscription_name="digests",
        destination_id=_DESTINATION["id"],
    )
    due_ms, chance = SystemClock().now_ms() - 1_000, Random(5)
    with reading(engine) as connection:
        user = dict(connection.execute(select(entity).where(entity.c.entity_type == "user").limit(1)).mappings().one())
    for numbers in chunks_of(range(people), _PEOPLE_AT_ONCE):
        with writing(engine) as connection:
            _add_people(connection, numbers, user)
            messages = [_message_row(number, alert["id"], due_ms) for number in numbers]
            connection.execute(insert(message), messages)
            rows_of_people = (_notification_rows(one, chance.sample(heads, count), reason) for one in messages)
            connection.execute(insert(notification), [row for some in rows_of_people for row in some])
    return due_ms


def _user_id(number: int) -> str:
    return f"00000000-0000-4000-9000-{number:012}"


def _add_people(connection: Connection, numbers: list[int], user: Row) -> None:
    names = {_user_id(number): f"f{number:07}" for number in numbers}
    people = [{"user_id": key, "name": name, "email": f"{name}@example.com"} for key, name in names.items()]
    connection.execute(insert_into(connection, person), people)
    users = [user | {"id": key, "fqn": name, "name": name} for key, name in names.items()]
    connection.execute(insert(entity), users)


def _message_row(number: int, alert: str, due_ms: int) -> Row:
    user_id, address = _user_id(number), f"f{number:07}@example.com"
    return {
        "id": gathered_message_id("scheduled", Channel.EMAIL.value, address, due_ms),
        "channel": Channel.EMAIL.value,
        "recipient": address,
        "recipient_id": user_id,
        "target": address,
        "subscription_id": alert,
        "destination_id": _DESTINATION["id"],
        "grouping_key": "scheduled",
        "status": MessageStatus.PENDING.value,
        "due_at_ms": due_ms,
        "wait_ms": _DAY_MS,
        "created_at_ms": due_ms - _DAY_MS,
        "updated_at_ms": due_ms - _DAY_MS,
    }


def _notification_rows(of_message: Row, heads: list[EventHead], reason: Reason) -> Iterator[Row]:
    text = reasons_of((reason,)).text
    for place, head in enumerate(heads):
        yield {
            "id": f"{of_message['id'][:23]}-{int(of_message['recipient_id'][-12:]):08x}{place:04x}",
            "event_id": head.event_id,
            "log_offset": head.offset,
            "channel": Channel.EMAIL.value,
            "recipient": of_message["recipient"],
            "recipient_id": of_message["recipient_id"],
            "reasons": text,
            "due_at_ms": of_message["due_at_ms"],
            "created_at_ms": of_message["created_at_ms"],
            "message_id": of_message["id"],
        }
