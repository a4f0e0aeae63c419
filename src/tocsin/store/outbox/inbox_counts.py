"""Counts of the tabs of an inbox, from indexes alone but for what is of a whole; each ends at ``MOST_COUNTED``.

A notification counts by itself; those of a group count as one entry, where the group is. Nothing is read of a row that
is of no group: its place in the indexes says where it is. Next: ``store/outbox/inbox_groups.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, select

from tocsin.model.inbox import MOST_COUNTED, Standing, Tab, TabCounts
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
    """Return how many entries each tab of a person's inbox has; in six statements at most."""
    grouping = _group_counts(connection, user_id, now_ms)
    counts = _row_counts(connection, user_id, now_ms, grouping)
    unread = counts[Standing.UNREAD.value]
    return TabCounts(
        unread_count=unread,
        unseen_count=_unseen_count(connection, user_id, now_ms) if unread else 0,
        total_count=min(unread + counts[Standing.READ.value], MOST_COUNTED),
        saved_count=counts[_SAVED],
        snoozed_count=counts[Standing.SNOOZED.value],
        done_count=counts[Standing.DONE.value],
    )


@dataclass(frozen=True)
class _GroupCounts:
    """How many rows of groups are at each place, and how many groups."""

    row_counts: Counter[int]
    group_counts: Counter[int]


def _row_counts(connection: Connection, user_id: str, now_ms: int, grouping: _GroupCounts) -> Counter[int]:
    """Return how many entries are at each place; what is due later is unread, but not there yet.

    No more rows are counted than say whether there are ``MOST_COUNTED`` entries: those of groups and what comes later
    are among them.
    """
    of_person = _ROW.recipient_id == user_id
    later_rows = select(func.count()).where(of_person, IS_LATER, _ROW.due_at_ms > now_ms)
    grouped_counts = Counter(grouping.row_counts)
    grouped_counts[Standing.UNREAD.value] += int(connection.execute(later_rows).scalar_one())
    columns = [
        select(func.count())
        .select_from(
            select(_ROW.log_offset).where(of_person, where).limit(MOST_COUNTED + grouped_counts[place]).subquery()
        )
        .scalar_subquery()
        for place, where in _PLACES.items()
    ]
    row_counts = zip(_PLACES, connection.execute(select(*columns)).one(), strict=True)
    return Counter(
        {
            place: min(int(count) - grouped_counts[place] + grouping.group_counts[place], MOST_COUNTED)
            for place, count in row_counts
        }
    )


def _group_counts(connection: Connection, user_id: str, now_ms: int) -> _GroupCounts:
    """Count the rows of each group as one entry."""
    standing, is_saved = standing_of(), case((_ROW.saved_at_ms.is_not(None), 1), else_=0)
    columns = (
        _ROW.whole_id,
        standing.label("standing"),
        func.count().label("row_count"),
        func.sum(is_saved).label("saved"),
    )
    parts = select(*columns).where(is_shown_to(user_id, now_ms), _ROW.whole_id.is_not(None))
    standings, saved_groups, counts = defaultdict[str, set[int]](set), set[str](), Counter[int]()
    for row in connection.execute(parts.group_by(_ROW.whole_id, standing)):
        counts[row.standing] += row.row_count
        counts[_SAVED] += row.saved
        standings[row.whole_id].add(row.standing)
        saved_groups |= {row.whole_id} if row.saved else set()
    for group, own_standing, own_saved in _own_rows(connection, user_id, now_ms, standings):
        counts[own_standing] += 1
        counts[_SAVED] += own_saved
        standings[group].add(own_standing)
        saved_groups |= {group} if own_saved else set()
    groups = Counter(min(members) for members in standings.values())
    groups[_SAVED] = len(saved_groups)
    return _GroupCounts(counts, groups)


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
