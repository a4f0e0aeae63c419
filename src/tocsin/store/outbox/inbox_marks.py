"""Marks of notifications by their person: read, done, saved, snoozed, and back, with what each was before.

A mark is for all notifications of an entry. All of them are locked in one order, after the row that says that the
person's inbox has changed, so that two tabs mark one after the other. Next: ``server/inbox/state_changes.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, case, func, literal, null, select

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.inbox import (
    MOST_MARKED,
    MOST_RESTORED,
    MOST_STATES,
    EarlierState,
    EntryState,
    Mark,
    Marked,
    Snooze,
    SnoozeEnd,
)
from tocsin.model.mute import FOR_GOOD_MS
from tocsin.store.database.engine import insert_into
from tocsin.store.database.keys import is_one_of, rows_by_key
from tocsin.store.database.people_tables import inbox_change
from tocsin.store.database.tables import notification
from tocsin.store.outbox.firings import note_opened
from tocsin.store.outbox.inbox_counts import unseen_ids
from tocsin.store.outbox.inbox_groups import GROUP, is_shown_to, places_of
from tocsin.store.outbox.inbox_waking import due_rows, newest_of_asset, open_incident

_ROW = notification.c
OPENED_AT: ColumnElement[int | None] = case(
    (_ROW.snoozed_until_ms.is_(None), func.coalesce(_ROW.opened_at_ms, _ROW.read_at_ms)), else_=_ROW.opened_at_ms
)
"""When a notification was first read, even if it is unread again."""

SNOOZED_UNREAD_MS = 0
"""``read_at_ms`` of what was unread when it was snoozed, and is still; it may have been read before."""

READ_AT: ColumnElement[int | None] = case(
    (_ROW.snoozed_until_ms.is_(None), _ROW.read_at_ms),
    (_ROW.read_at_ms == SNOOZED_UNREAD_MS, None),
    else_=_ROW.opened_at_ms,
)
"""When a notification was read, if it counts as read: a snoozed one may be unread."""

STATE_COLUMNS = (
    READ_AT.label("state_read_at"),
    *(_ROW[name] for name in ("seen_at_ms", "done_at_ms", "saved_at_ms", "snoozed_until_ms", "snoozed_after")),
)
Values = Mapping[str, Any]  # Any: a value or an expression of SQL
_AWAKE: Values = {"snoozed_until_ms": None, "snoozed_after": None}
_WOKEN: Values = {"read_at_ms": None, "seen_at_ms": None, "done_at_ms": None, **_AWAKE}


def state_of(row: Row[Any]) -> EntryState:
    """Return the state of a row with ``STATE_COLUMNS``."""
    snooze = None
    if row.snoozed_until_ms is not None:
        end = SnoozeEnd.RESOLVED if row.snoozed_after is None else SnoozeEnd.CHANGED
        snooze = Snooze(row.snoozed_until_ms, end if row.snoozed_until_ms == FOR_GOOD_MS else None)
    is_read = row.state_read_at is not None
    return EntryState(
        is_read=is_read,
        is_seen=is_read or row.seen_at_ms is not None,
        is_done=row.done_at_ms is not None,
        is_saved=row.saved_at_ms is not None,
        snooze=snooze,
    )


def note_change(connection: Connection, user_id: str) -> None:
    """Record that a person's inbox has changed; other transactions that change it wait for this one."""
    following = select(func.coalesce(func.max(inbox_change.c.sequence), 0) + 1).scalar_subquery()
    insert = insert_into(connection, inbox_change).values(user_id=user_id, sequence=following)
    own_next, next_of_all = inbox_change.c.sequence + 1, insert.excluded.sequence
    higher = case((own_next > next_of_all, own_next), else_=next_of_all)
    connection.execute(insert.on_conflict_do_update(index_elements=["user_id"], set_={"sequence": higher}))


def mark_entries(
    connection: Connection,
    user_id: str,
    ids: Collection[str],
    mark: Mark,
    *,
    now_ms: int,
    snooze: Snooze | None = None,
    among: Collection[str] | None = None,
) -> Marked:
    """Mark the entries of these notifications, in the caller's transaction; each with all that it stands for.

    With ``among``, ids of notifications, only these are marked.

    Raises
    ------
    InvalidInput : they should wait for the end of an incident, and one has none that is open
    """
    note_change(connection, user_id)
    groups = groups_of(connection, user_id, ids, now_ms)
    member_ids = _member_ids(connection, user_id, set(groups.values()), now_ms)
    members = _lock_members(connection, member_ids if among is None else member_ids.intersection(among))
    if snooze is not None and snooze.end is SnoozeEnd.RESOLVED:
        _check_open_incidents(connection, members)
    missing = tuple(one for one in ids if one not in groups)
    return replace(_apply(connection, members, mark, now_ms=now_ms, snooze=snooze), missing=missing)


def _check_open_incidents(connection: Connection, members: Sequence[Row[Any]]) -> None:
    """Refuse what could not end: entries that wait for the end of an incident, and have none that is open."""
    is_among = is_one_of(connection, _ROW.id, {row.id for row in members})
    without_ids = set(connection.scalars(select(_ROW.id).where(is_among, open_incident().is_(None))))
    count = len({row.group_id for row in members if row.id in without_ids})
    if count:
        verb = "has" if count == 1 else "have"
        raise InvalidInput(f"{count} of these {verb} no open incident; choose a time, or changed", field="until")


def mark_portion_read(connection: Connection, user_id: str, now_ms: int, *, through: int) -> tuple[Marked, set[str]]:
    """Mark some of what is shown and unread as read, in the caller's transaction; return also their groups.

    What is beyond the offset ``through`` stays unread.
    """
    note_change(connection, user_id)
    unread = and_(is_shown_to(user_id, now_ms), _ROW.read_at_ms.is_(None), _ROW.log_offset <= through)
    ids = list(connection.execute(select(_ROW.id).where(unread).limit(MOST_MARKED)).scalars())
    members = _lock_members(connection, ids)
    return _apply(connection, members, Mark.READ, now_ms=now_ms), {row.group_id for row in members}


def restore_states(connection: Connection, user_id: str, states: Sequence[EarlierState], now_ms: int) -> Marked:
    """Give notifications states that they had before, in the caller's transaction; no id is in two states."""
    note_change(connection, user_id)
    states_by_id = {one: earlier.state for earlier in states for one in earlier.ids}
    present_ids = groups_of(connection, user_id, states_by_id.keys(), now_ms).keys()
    members = _lock_members(connection, present_ids)
    other_rows = [row for row in members if _is_other(state_of(row), states_by_id[row.id])]
    _restore(connection, {row.id: states_by_id[row.id] for row in other_rows}, now_ms)
    entry_count = len({row.group_id for row in other_rows})
    missing = tuple(sorted(states_by_id.keys() - present_ids))
    return Marked(entry_count, len(other_rows), _earlier_states(other_rows), missing)


def _is_other(state: EntryState, earlier: EntryState) -> bool:
    """Return whether a state is another one; that lists have shown something since is none."""
    return replace(state, is_seen=earlier.is_seen) != earlier


def _restore(connection: Connection, states: Mapping[str, EntryState], now_ms: int) -> None:
    """Give notifications these states: states that differ only in the time of a snooze take one statement together."""
    ids, times = defaultdict[EntryState, set[str]](set), list[Values]()
    for notification_id, state in states.items():
        is_timed = state.snooze is not None and state.snooze.end is None
        ids[replace(state, snooze=Snooze()) if is_timed else state].add(notification_id)
        if state.snooze is not None and is_timed:
            times.append({"timed_id": notification_id, "until_ms": state.snooze.until_ms})
    for state, ids_of_state in ids.items():
        _update(connection, ids_of_state, _restored_values(state, now_ms))
    if times:
        is_it = _ROW.id == bindparam("timed_id")
        connection.execute(notification.update().where(is_it).values(snoozed_until_ms=bindparam("until_ms")), times)


def mark_seen(connection: Connection, user_id: str, now_ms: int) -> int:
    """Mark as seen what is unread, the newest that ``unseen_ids`` judges; return how many notifications that were."""
    if not unseen_ids(connection, user_id, now_ms):
        return 0
    note_change(connection, user_id)
    members = _lock_members(connection, unseen_ids(connection, user_id, now_ms))
    ids = {row.id for row in members if row.seen_at_ms is None}
    _update(connection, ids, {"seen_at_ms": now_ms})
    return len(ids)


def groups_of(connection: Connection, user_id: str, ids: Collection[str], now_ms: int) -> dict[str, str]:
    """Return the group of each of these notifications that the person's inbox shows."""
    query = select(_ROW.id, GROUP.label("group_id")).where(is_shown_to(user_id, now_ms))
    return {row.id: row.group_id for row in rows_by_key(connection, query, _ROW.id, set(ids))}


def group_of(connection: Connection, user_id: str, notification_id: str, now_ms: int) -> str:
    """Return the group of a notification.

    Raises
    ------
    NotFound : the person's inbox does not show it
    """
    groups = groups_of(connection, user_id, [notification_id], now_ms)
    if notification_id not in groups:
        raise not_in_inbox(notification_id)
    return groups[notification_id]


def not_in_inbox(notification_id: str) -> NotFound:
    """Return the refusal of a notification that an inbox does not show, be it another's, hidden or unheard of."""
    return NotFound(f"notification {notification_id} not found in this inbox")


def wake_due(connection: Connection, now_ms: int, user_ids: Collection[str] | None = None) -> set[str]:
    """Bring back the snoozed entries that are due, of these people or of all; return whose inbox changed."""
    notification_rows = due_rows(connection, now_ms, user_ids)
    for person in sorted({str(row.recipient_id) for row in notification_rows}):
        note_change(connection, person)
    locked_ids = {row.id for row in _lock_members(connection, {row.id for row in notification_rows})}
    still_due = due_rows(connection, now_ms, user_ids, among=locked_ids)  # another tab may have moved them meanwhile
    _update(connection, {row.id for row in still_due}, _WOKEN)
    return {str(row.recipient_id) for row in still_due}


def newest_changes(connection: Connection, limit: int) -> list[tuple[str, int]]:
    """Return whose inboxes were changed last, newest first, each with a number that grows with its changes."""
    columns = (inbox_change.c.user_id, inbox_change.c.sequence)
    query = select(*columns).order_by(inbox_change.c.sequence.desc()).limit(limit)
    return [(row.user_id, row.sequence) for row in connection.execute(query)]


def _apply(
    connection: Connection, members: Sequence[Row[Any]], mark: Mark, *, now_ms: int, snooze: Snooze | None = None
) -> Marked:
    changed_rows = [row for row in members if _changes(mark, state_of(row))]
    ids = {row.id for row in changed_rows}
    if mark in (Mark.READ, Mark.DONE):
        note_opened(connection, and_(is_one_of(connection, _ROW.id, ids), OPENED_AT.is_(None)))
    _update(connection, ids, _values_of(mark, now_ms, snooze))
    entry_count = len({row.group_id for row in changed_rows})
    return Marked(entry_count, len(changed_rows), _earlier_states(changed_rows))


def _changes(mark: Mark, state: EntryState) -> bool:
    """Return whether a mark changes a notification that is in this state."""
    is_without = {
        Mark.READ: not state.is_read,
        Mark.UNREAD: state.is_read or state.snooze is not None,
        Mark.DONE: not state.is_done,
        Mark.UNDONE: state.is_done,
        Mark.SAVED: not state.is_saved,
        Mark.UNSAVED: state.is_saved,
        Mark.UNSNOOZED: state.snooze is not None,
    }
    return is_without.get(mark, True)


def _values_of(mark: Mark, now_ms: int, snooze: Snooze | None) -> Values:
    """Return what a mark sets."""
    first_opening = func.coalesce(OPENED_AT, literal(now_ms))
    kept_opening = case((_ROW.snoozed_until_ms.is_not(None), first_opening), else_=_ROW.opened_at_ms)
    values: Mapping[Mark, Values] = {
        Mark.READ: {"read_at_ms": func.coalesce(READ_AT, first_opening), "opened_at_ms": kept_opening},
        Mark.UNREAD: {"read_at_ms": None, "opened_at_ms": OPENED_AT, "done_at_ms": None, **_AWAKE},
        Mark.DONE: {"read_at_ms": first_opening, "done_at_ms": now_ms, **_AWAKE},
        Mark.UNDONE: {"done_at_ms": None},
        Mark.SAVED: {"saved_at_ms": now_ms},
        Mark.UNSAVED: {"saved_at_ms": None},
        Mark.UNSNOOZED: {"read_at_ms": None, **_AWAKE},
        Mark.SNOOZED: {"done_at_ms": None, **_snoozed_values(snooze or Snooze(), now_ms)},
    }
    return values[mark]


def _snoozed_values(snooze: Snooze, now_ms: int) -> Values:
    return {
        "opened_at_ms": OPENED_AT,
        "read_at_ms": func.coalesce(READ_AT, SNOOZED_UNREAD_MS),
        "snoozed_until_ms": FOR_GOOD_MS if snooze.end else snooze.until_ms,
        "snoozed_after": newest_of_asset(now_ms) if snooze.end is SnoozeEnd.CHANGED else None,
        "snoozed_incident": open_incident() if snooze.end is SnoozeEnd.RESOLVED else None,
    }


def _restored_values(state: EntryState, now_ms: int) -> Values:
    """Return what gives a notification a state; what was read before has its first time again."""
    first_opening = func.coalesce(OPENED_AT, literal(now_ms))
    values: dict[str, Any] = {  # Any: as ``Values``
        "read_at_ms": first_opening if state.is_read or state.is_done else null(),
        "opened_at_ms": OPENED_AT,
        "seen_at_ms": func.coalesce(_ROW.seen_at_ms, now_ms) if state.is_seen else null(),
        "done_at_ms": func.coalesce(_ROW.done_at_ms, now_ms) if state.is_done else null(),
        "saved_at_ms": func.coalesce(_ROW.saved_at_ms, now_ms) if state.is_saved else null(),
        **_AWAKE,
    }
    if state.snooze is None:
        return values
    opening = first_opening if state.is_read else OPENED_AT
    reading = first_opening if state.is_read else SNOOZED_UNREAD_MS
    return values | {**_snoozed_values(state.snooze, now_ms), "opened_at_ms": opening, "read_at_ms": reading}


def _earlier_states(changed_rows: Sequence[Row[Any]]) -> tuple[EarlierState, ...] | None:
    """Return the states of each notification that was changed, since others may join its entry; None of too many."""
    ids = defaultdict[EntryState, list[str]](list)
    for row in changed_rows:
        ids[state_of(row)].append(row.id)
    if len(changed_rows) > MOST_RESTORED or len(ids) > MOST_STATES:
        return None
    return tuple(EarlierState(state, tuple(sorted(ids_of_state))) for state, ids_of_state in ids.items())


def _member_ids(connection: Connection, user_id: str, groups: Collection[str], now_ms: int) -> set[str]:
    """Return the ids of all notifications of these groups that the person's inbox shows."""
    query = select(_ROW.id).where(is_shown_to(user_id, now_ms))
    offsets = places_of(connection, groups)
    ids = {row.id for row in rows_by_key(connection, query, _ROW.log_offset, offsets)}
    return ids | {row.id for row in rows_by_key(connection, query, _ROW.whole_id, groups)}


def _lock_members(connection: Connection, ids: Collection[str]) -> list[Row[Any]]:
    """Return the rows of these notifications, locked until the transaction ends."""
    query = select(_ROW.id, GROUP.label("group_id"), *STATE_COLUMNS).order_by(_ROW.id).with_for_update()
    return list(rows_by_key(connection, query, _ROW.id, ids))


def _update(connection: Connection, ids: Collection[str], values: Values) -> None:
    if ids:
        connection.execute(notification.update().where(is_one_of(connection, _ROW.id, ids)).values(values))
