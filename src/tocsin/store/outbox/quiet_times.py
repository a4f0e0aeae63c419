"""Quiet times at the moment of sending: what falls into them by then waits for their end.

A retry at night, a message that waited for a worker, and one that was written before its reader chose quiet hours were
due at another time than they are sent (docs/decisions/0203-quiet-times-hold-when-sending.md). So does what is more
than its reader wants in an hour (``store/outbox/hourly_limits.py``). Next: ``delivery/worker/attempt.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, select, update

from tocsin.clock import Steady, steady_s
from tocsin.delivery.dispatch import Dispatch
from tocsin.flow.schedule.preferences import NO_PREFERENCES, OVER_LIMIT, Preferred, QuietTimes, quiet_times_of
from tocsin.flow.track.attempts import Finished
from tocsin.model.message import Entry, MessageStatus
from tocsin.model.preferences import PREFERRED_CHANNELS, times_of
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import message
from tocsin.store.outbox.hourly_limits import limits_of, next_hour_ms, take_place
from tocsin.store.outbox.preferences import (
    RETRY,
    RETRY_STATES,
    RecentPreferences,
    WaitingFor,
    find_preferences,
    gather_into,
)

_SURE_FOR_S = 1.0


_ReadEntry = tuple[float, QuietTimes | None, bool]
"""Until when something is sure of a person (steady seconds): their quiet times, and whether they limit messages."""


class SqlQuietTimes:
    """The quiet times of one store's people, as its workers ask for them; what was read is sure for a second."""

    def __init__(self, engine: Engine, *, steady: Steady = steady_s) -> None:
        self._engine, self._steady = engine, steady
        self._subscriptions = Subscriptions(engine)
        self._read: dict[str, _ReadEntry] = {}

    def look_ahead(self, dispatches: Sequence[Dispatch]) -> RecentPreferences:
        """Ask for the readers of all of these messages together; they will be sent soon.

        Returns
        -------
        the preferences of all people whom the messages are for, which permissions depend on as well
        """
        now_s = self._steady()
        recent = RecentPreferences(NO_PREFERENCES, now_s)
        readers = set[str]().union(*map(_readers, dispatches))
        fresh = {one: entry for one, entry in self._read.items() if now_s < entry[0] and one not in readers}
        people = {entry.recipient_id for dispatch in dispatches for entry in dispatch.entries if entry.recipient_id}
        if people:
            with reading(self._engine) as connection:
                recent = recent._replace(preferred=find_preferences(connection, people))
            quiet_times, limits = _quiet_times(recent.preferred, readers), limits_of(recent.preferred, readers)
            fresh |= {one: (now_s + _SURE_FOR_S, quiet_times.get(one), one in limits) for one in readers}
        self._read = fresh
        return recent

    def are_known(self, dispatches: Sequence[Dispatch]) -> bool:
        """Return whether the quiet times of all readers of these messages were read a moment ago."""
        return all(self._recent_entry(one) is not None for dispatch in dispatches for one in _readers(dispatch))

    def are_surely_over(self, dispatch: Dispatch, *, now_ms: int) -> bool:
        """Return whether a message is in nobody's quiet times, and nobody limits their number, as read a moment ago."""
        known_entries = [self._recent_entry(one) for one in _readers(dispatch)]
        return all(
            entry is not None and not entry[2] and _end_ms(entry[1], now_ms) == now_ms for entry in known_entries
        )

    def held_until_ms(self, dispatch: Dispatch, *, now_ms: int) -> int | None:
        """Return when the quiet times of a message's readers end (epoch milliseconds); None if it may go out now.

        One that a critical alert sends as well may. So may one that has a place among those of the hour, if its readers
        limit them; the others are for the next.
        """
        readers = _readers(dispatch)
        if not readers:
            return None
        with reading(self._engine) as connection:
            choices = find_preferences(connection, readers)
        quiet_times = _quiet_times(choices, readers).values()
        end_ms = max(_end_ms(one, now_ms) for one in quiet_times)
        limits = {} if dispatch.message.attempt_count else limits_of(choices, readers)
        if end_ms == now_ms and not limits:
            return None
        alerts = {reason.subscription_id for entry in dispatch.entries for reason in entry.reasons}
        if self._subscriptions.critical_among(alerts):
            return None
        if end_ms != now_ms:
            return end_ms
        with writing(self._engine) as connection:
            if take_place(connection, dispatch.message, limits, now_ms=now_ms):
                return None
        return max(_end_ms(one, next_hour_ms(now_ms)) for one in quiet_times)

    def _recent_entry(self, person_id: str) -> _ReadEntry | None:
        entry = self._read.get(person_id)
        return entry if entry is not None and self._steady() < entry[0] else None


_PLAN = (
    update(message)
    .where(message.c.id == bindparam("held_id"))
    .values(due_at_ms=bindparam("at_ms"), wait_ms=bindparam("length_ms"), grouping_key=bindparam("key"))
)


def _end_ms(quiet_times: QuietTimes | None, now_ms: int) -> int:
    return now_ms if quiet_times is None else quiet_times.ends_after(now_ms)


def _readers(dispatch: Dispatch) -> set[str]:
    """Return the people for whom a message is; none for one that also reaches an address that an alert names."""
    if dispatch.message.channel not in PREFERRED_CHANNELS:
        return set()
    is_for_people = all(entry.recipient_id is not None for entry in dispatch.entries)
    return _people_of(dispatch.entries) if is_for_people else set()


def _people_of(entries: Sequence[Entry]) -> set[str]:
    return {entry.recipient_id for entry in entries if entry.recipient_id}


def _quiet_times(choices: Preferred, people: Collection[str]) -> Mapping[str, QuietTimes | None]:
    return {one: quiet_times_of(times_of(choices.layers.get(one, choices.beneath))) for one in people}


def gather_held(
    connection: Connection, held_attempts: Sequence[Finished], *, now_ms: int
) -> tuple[list[str], dict[str, WaitingFor]]:
    """Let messages wait for the end of quiet times as they are now, or for the next hour if they were too many in this.

    Those never tried are gathered in one per reader and channel.

    Their claims have been given back in this transaction. Preferences may have changed since a message was held: its
    time and its key are of those that are read here. Retries stay messages of their own.

    Returns
    -------
    the ids of all of them that are left, and by which preferences their readers wait; the notifications follow in a
    transaction of their own
    """
    readers = {each.message.id: sorted(_people_of(each.entries)) for each in held_attempts}
    people = set[str]().union(*readers.values())
    choices = find_preferences(connection, people)
    end_by_reader = {one: _end_ms(quiet, now_ms) for one, quiet in _quiet_times(choices, people).items()}
    limits, hour_ms = limits_of(choices, people), next_hour_ms(now_ms)
    until_by_message = {each.message.id: each.step.due_at_ms or now_ms for each in held_attempts}
    groups: dict[tuple[str, str, str, str, int], list[Any]] = defaultdict(list)  # Any: rows of SQLAlchemy's
    planned_rows: list[dict[str, object]] = []
    query = select(message).where(message.c.status.in_((MessageStatus.PENDING.value, *RETRY_STATES)))
    for row in rows_by_key(connection, query.order_by(message.c.id), message.c.id, readers):
        (reader, *_), due_at_ms = readers[row.id], max(end_by_reader[one] for one in readers[row.id])
        is_retry = row.status != MessageStatus.PENDING.value
        key = f"{choices.grouping_key(reader)}{RETRY if is_retry else ''}"
        own_limits = [limits[one] for one in readers[row.id] if one in limits]
        if due_at_ms == now_ms and own_limits and not is_retry and until_by_message[row.id] > now_ms:
            key = f"{key}{OVER_LIMIT}{min(own_limits)}"
            quiet_times = _quiet_times(choices, readers[row.id])
            due_at_ms = max(_end_ms(one, hour_ms) for one in quiet_times.values())
        planned_rows.append({"held_id": row.id, "at_ms": due_at_ms, "length_ms": due_at_ms - now_ms, "key": key})
        if not is_retry:
            groups[reader, row.channel, row.recipient, key, due_at_ms].append(row)
    if planned_rows:
        connection.execute(_PLAN, planned_rows)
    moved_ids = list(readers)
    for (_, _, _, key, due_at_ms), group in groups.items():
        columns = {"grouping_key": key, "updated_at_ms": now_ms}
        columns |= {"due_at_ms": due_at_ms, "wait_ms": due_at_ms - now_ms}
        moved_ids += gather_into(connection, group, columns)
    return moved_ids, {one: (choices.versions.get(one, 0), []) for one in end_by_reader}
