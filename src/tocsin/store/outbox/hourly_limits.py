"""At most so many messages per person, channel and hour: places in the hour, taken before a message is sent.

A message without a place waits for the next full hour, with the others that do. A retry has the place of its first
attempt; what a critical alert sends needs none. Next: ``store/outbox/quiet_times.py`` asks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, and_, delete, func, select, text

from tocsin.chunks import chunks_of
from tocsin.flow.schedule.preferences import FullHour, Preferred
from tocsin.model.message import Message
from tocsin.model.preferences import times_of
from tocsin.store.database.engine import insert_into, is_sqlite
from tocsin.store.database.people_tables import hourly_message

_ROW = hourly_message.c
_HOUR_MS = 3_600_000
_KEPT_MS = 24 * _HOUR_MS
_HOLD = text("SELECT pg_advisory_xact_lock(hashtext('tocsin hourly limit'), hashtext(:user_id))")


def limits_of(choices: Preferred, people: Collection[str]) -> dict[str, int]:
    """Return how many messages per hour and channel those of these people want at most who want no more."""
    limits = {one: times_of(choices.layers.get(one, choices.beneath)).most_per_hour for one in people}
    return {person: limit for person, limit in limits.items() if limit is not None}


def next_hour_ms(now_ms: int) -> int:
    """Return when the next hour begins (epoch milliseconds)."""
    return FullHour().next_ms(now_ms)


def take_place(connection: Connection, message: Message, limits: Mapping[str, int], *, now_ms: int) -> bool:
    """Take a place in this hour for a message to these people, all or none of theirs; return whether it has one.

    Asked again within the hour, it has it already: a worker may have died before it sent the message.
    """
    hour_ms = next_hour_ms(now_ms) - _HOUR_MS
    for person in sorted(limits):  # in order, so that two workers never wait for each other
        if not is_sqlite(connection):
            connection.execute(_HOLD, {"user_id": person})
    for person, limit in limits.items():
        is_of_hour = and_(_ROW.user_id == person, _ROW.channel == message.channel, _ROW.hour_ms == hour_ms)
        count_query = select(func.count()).where(is_of_hour, _ROW.message_id != message.id)
        if int(connection.scalar(count_query) or 0) >= limit:
            return False
    for person in limits:
        is_old = and_(_ROW.user_id == person, _ROW.hour_ms < hour_ms - _KEPT_MS)
        connection.execute(delete(hourly_message).where(is_old))
        row = {"message_id": message.id, "user_id": person, "channel": message.channel, "hour_ms": hour_ms}
        insert = insert_into(connection, hourly_message).values(row)
        keys = ["message_id", "user_id"]
        connection.execute(insert.on_conflict_do_update(index_elements=keys, set_={"hour_ms": hour_ms}))
    return True


def give_back(connection: Connection, message_ids: Collection[str]) -> None:
    """Give back the places of messages that were not sent."""
    for chunk in chunks_of(sorted(message_ids)):
        connection.execute(delete(hourly_message).where(_ROW.message_id.in_(chunk)))
