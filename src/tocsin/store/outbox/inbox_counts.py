"""Counts of the tabs of an inbox, from indexes alone but for what is of a whole.

A notification counts by itself; those of a group count as one entry, where the group is. Nothing is read of a row that
is of no group: its place in the indexes says where it is. Next: ``store/outbox/inbox_groups.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, select

from tocsin.model.inbox import Standing, Tab, TabCounts
from tocsin.model.subscription import Channel
from tocsin.store.database.inbox_columns import IS_LATER
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import notification
from tocsin.store.outbox.inbox_groups import PARTS, READ_PART, UNREAD_PART, is_shown_to, places_of, standing_of

MOST_UNSEEN = 1_000
"""Unread notifications, the newest, of which those that nobody has seen are counted."""

_ROW = notification.c
_SAVED = -1
"""The place of what is saved, beside that of its standing."""

_PLACES = {
    Standing.UNREAD.value: and_(_ROW.channel == Channel.ACTIVITY_FEED.value, UNREAD_PART.is_in),
    Standing.READ.value: READ_PART.is_in,
    Standing.SNOOZED.value: PARTS[Tab.SNOOZED][0].is_in,
    Standing.DONE.value: PARTS[Tab.DONE][0].is_in,
    _SAVED: PARTS[Tab.SAVED][0].is_in,
}


def tab_counts(connection: Connection, user_id: str, now_ms: int) -> TabCounts:
    """Return how many entries each tab of a person's inbox has; in five statements at most."""
    counts = _row_counts(connection, user_id, now_ms)
    _gather_groups(connection, user_id, now_ms, counts)
    unread = counts[Standing.UNREAD.value]
    return TabCounts(
        unread_count=unread,
        unseen_count=_unseen_count(connection, user_id, now_ms) if unread else 0,
        total_count=unread + counts[Standing.READ.value],
        saved_count=counts[_SAVED],
        snoozed_count=counts[Standing.SNOOZED.value],
        done_count=counts[Standing.DONE.value],
    )


def _row_counts(connection: Connection, user_id: str, now_ms: int) -> Counter[int]:
    """Return how many rows are at each place; what is due later is unread, but not there yet."""
    of_person = _ROW.recipient_id == user_id
    later = select(func.count()).where(of_person, IS_LATER, _ROW.due_at_ms > now_ms).scalar_subquery()
    columns = [select(func.count()).where(of_person, where).scalar_subquery() for where in _PLACES.values()]
    *place_counts, later_count = connection.execute(select(*columns, later)).one()
    counts = Counter[int](dict(zip(_PLACES, map(int, place_counts), strict=True)))
    counts[Standing.UNREAD.value] -= int(later_count)
    return counts


def _gather_groups(connection: Connection, user_id: str, now_ms: int, counts: Counter[int]) -> None:
    """Count the rows of each group as one entry."""
    standing, is_saved = standing_of(), case((_ROW.saved_at_ms.is_not(None), 1), else_=0)
    columns = (
        _ROW.whole_id,
        standing.label("standing"),
        func.count().label("row_count"),
        func.sum(is_saved).label("saved"),
    )
    parts = select(*columns).where(is_shown_to(user_id, now_ms), _ROW.whole_id.is_not(None))
    standings, saved_groups = defaultdict[str, set[int]](set), set[str]()
    for row in connection.execute(parts.group_by(_ROW.whole_id, standing)):
        counts[row.standing] -= row.row_count
        counts[_SAVED] -= row.saved
        standings[row.whole_id].add(row.standing)
        saved_groups |= {row.whole_id} if row.saved else set()
    for group, own_standing, own_saved in _own_rows(connection, user_id, now_ms, standings):
        counts[own_standing] -= 1
        counts[_SAVED] -= own_saved
        standings[group].add(own_standing)
        saved_groups |= {group} if own_saved else set()
    counts.update(min(members) for members in standings.values())
    counts[_SAVED] += len(saved_groups)


def _own_rows(connection: Connection, user_id: str, now_ms: int, groups: Collection[str]) -> list[tuple[str, int, int]]:
    """Return, of each of these wholes whose own event the person was told of, where that is, and whether saved."""
    is_saved, offsets = case((_ROW.saved_at_ms.is_not(None), 1), else_=0), places_of(connection, groups)
    query = select(_ROW.log_offset, standing_of(), is_saved).where(is_shown_to(user_id, now_ms))
    own_rows = rows_by_key(connection, query, _ROW.log_offset, offsets)
    return [(offsets[row[0]], int(row[1]), int(row[2])) for row in own_rows]


def unseen_ids(connection: Connection, user_id: str, now_ms: int) -> set[str]:
    """Return the ids of the unread notifications, of the newest, that no list has shown."""
    newest = _newest_unread(user_id, now_ms, _ROW.id).subquery()
    return set(connection.scalars(select(newest.c.id).where(newest.c.seen_at_ms.is_(None))))


def _unseen_count(connection: Connection, user_id: str, now_ms: int) -> int:
    newest = _newest_unread(user_id, now_ms).subquery()
    query = select(func.count()).where(newest.c.seen_at_ms.is_(None))
    return int(connection.execute(query).scalar_one())


def _newest_unread(user_id: str, now_ms: int, *columns: ColumnElement[Any]) -> Select[Any]:  # Any: of any type
    unread = select(_ROW.seen_at_ms, *columns).where(is_shown_to(user_id, now_ms), UNREAD_PART.is_in)
    return unread.order_by(_ROW.log_offset.desc()).limit(MOST_UNSEEN)
