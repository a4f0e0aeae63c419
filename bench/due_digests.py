"""People whose daily digests of twenty notifications are due: rows for the benchmark of digests, made by the database.

Each person has twenty of two thousand changes, so that hundreds or thousands hear of the same one, as in a company.
"""

from __future__ import annotations

from sqlalchemy import Engine, select

from bench.estate import Size, build_estate
from bench.filling import hex_of, hurrying, with_numbers
from bench.traffic import append_events
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.model.entity import Document
from tocsin.model.message import MessageStatus
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.notification_draft import reasons_of
from tocsin.model.people import SYSTEM
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import entity

EVENT_COUNT = 2_000
_PEOPLE_AT_ONCE = 10_000
_DAY_MS = 86_400_000
_DESTINATION: Document = {
    "id": "5a1a72a3-6f0c-4d3c-9a53-0f4d1d4dfd11",
    "category": "Followers",
    "type": Channel.EMAIL.value,
    "config": {},
}
_OF_PERSON = """SELECT n, 'f' || {number} AS name, 'f' || {number} || '@example.com' AS address,
    '00000000-0000-4000-9000-' || {number} AS user_id, '00000000-0000-4000-a000-' || {number} AS message_id
FROM places"""
_PEOPLE = """
INSERT INTO person (user_id, name, email, is_admin, is_bot, deleted)
SELECT user_id, name, address, false, false, false FROM ({of_person}) AS made
"""
_USERS = """
INSERT INTO entity ({columns}, id, fqn, name)
SELECT {columns}, made.user_id, made.name, made.name
FROM ({of_person}) AS made CROSS JOIN (SELECT {columns} FROM entity WHERE id = '{user_id}') AS other
"""
_MESSAGES = """
INSERT INTO message (id, channel, recipient, recipient_id, target, subscription_id, destination_id, grouping_key,
    status, attempt_count, due_at_ms, wait_ms, created_at_ms, updated_at_ms)
SELECT message_id, '{channel}', address, user_id, address, '{alert}', '{destination}', 'scheduled',
    '{status}', 0, {due_ms}, {day_ms}, {due_ms} - {day_ms}, {due_ms} - {day_ms}
FROM ({of_person}) AS made
"""
_NOTIFICATIONS = """
INSERT INTO notification (id, event_id, log_offset, channel, recipient, recipient_id, reasons, due_at_ms,
    created_at_ms, message_id)
SELECT '00000000-0000-5000-8000-' || {notification}, e.id, e.log_offset, '{channel}', made.address, made.user_id,
    '{reasons}', {due_ms}, {due_ms} - {day_ms}, made.message_id
FROM ({of_person}) AS made CROSS JOIN ({turns}) AS turn
JOIN change_event AS e ON e.log_offset = {first_offset} + (made.n * 7919 + turn.k * (10 * (made.n % 90) + 3)) % {events}
"""
"""A step that ends with 3 and the number of events have no common factor: no person has the same event twice."""


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
    due_ms, dialect = SystemClock().now_ms() - 1_000, engine.dialect.name
    values = _values(engine, alert["id"], due_ms, count) | {"first_offset": offsets.start}
    with hurrying(engine) as run:
        for first in range(0, people, _PEOPLE_AT_ONCE):
            last = min(first + _PEOPLE_AT_ONCE, people) - 1
            for statement in (_PEOPLE, _USERS, _MESSAGES, _NOTIFICATIONS):
                run(with_numbers(dialect, statement.format(**values), first, last))
    return due_ms


def _values(engine: Engine, alert: str, due_ms: int, count: int) -> dict[str, object]:
    """Return what the statements are filled with."""
    reason = Reason(
        kind=ReasonKind.FOLLOWER,
        subscription_id=alert,
        subscription_name="digests",
        destination_id=_DESTINATION["id"],
    )
    with reading(engine) as connection:
        user_id = connection.scalars(select(entity.c.id).where(entity.c.entity_type == "user").limit(1)).one()
    return {
        "of_person": _OF_PERSON.format(number=hex_of(engine.dialect.name, "n")),
        "notification": hex_of(engine.dialect.name, f"made.n * {count} + turn.k"),
        "turns": " UNION ALL ".join(f"SELECT {place} AS k" for place in range(count)),
        "columns": ", ".join(name for name in entity.c.keys() if name not in {"id", "fqn", "name"}),  # noqa: SIM118
        "user_id": user_id,
        "reasons": reasons_of((reason,)).text,
        "channel": Channel.EMAIL.value,
        "alert": alert,
        "destination": _DESTINATION["id"],
        "status": MessageStatus.PENDING.value,
        "due_ms": due_ms,
        "day_ms": _DAY_MS,
        "events": EVENT_COUNT,
    }
