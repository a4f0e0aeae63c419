"""Counts of the tabs of an inbox, from indexes alone but for what is of a whole; each ends at ``MOST_COUNTED``.

A notification counts by itself; those of a group count as one entry, where the group is. Nothing is read of a row that
is of no group: its place in the indexes says where it is. Next: ``store/outbox/inbox_groups.py``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
)

from tocsin.model.inbox import MOST_COUNTED, Standing, Tab, TabCounts
from tocsin.model.subscription import Channel
from tocsin.store.database.inbox_columns import IS_LATER
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox.inbox_groups import NOW, PARTS, PERSON, READ_PART, UNREAD_PART, is_shown_to, standing_of

MOST_UNSEEN = 1_000
"""Unread notifications, the newest, of which those that nobody has seen are counted."""

_ROW = notification.c
_OWN = notification.alias("own_row")
_STANDINGS = tuple(one.value for one in Standing)
_SAVED, _NOWHERE = -1, 9
"""The place of what is saved, beside that of its standing; and of a whole that the person was not told of."""

_PLACES = {
    Standing.UNREAD.value: and_(_ROW.channel == Channel.ACTIVITY_FEED.value, UNREAD_PART.is_in),
    Standing.READ.value: READ_PART.is_in,
    Standing.SNOOZED.value: PARTS[Tab.SNOOZED][0].is_in,
    Standing.DONE.value: PARTS[Tab.DONE][0].is_in,
    _SAVED: PARTS[Tab.SAVED][0].is_in,
}


def tab_counts(connection: Connection, user_id: str, now_ms: int) -> TabCounts:
    """Return how many entries each tab of a person's inbox has; in four statements."""
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
    of_person: dict[str, str | int] = {PERSON.key: user_id, NOW.key: now_ms}
    grouped_counts = Counter(grouping.row_counts)
    grouped_counts[Standing.UNREAD.value] += int(connection.execute(_select_later(), of_person).scalar_one())
    limits = {_limit_name(place): MOST_COUNTED + grouped_counts[place] for place in _PLACES}
    row_counts = zip(_PLACES, connection.execute(_select_row_counts(), of_person | limits).one(), strict=True)
    return Counter(
        {
            place: min(int(count) - grouped_counts[place] + grouping.group_counts[place], MOST_COUNTED)
            for place, count in row_counts
        }
    )


@cache
def _select_later() -> Select[Any]:  # Any: one count
    return select(func.count()).where(_ROW.recipient_id == PERSON, IS_LATER, _ROW.due_at_ms > NOW)


@cache
def _select_row_counts() -> Select[Any]:  # Any: a count of each place
    columns = [
        select(func.count())
        .select_from(
            select(_ROW.log_offset)
            .where(_ROW.recipient_id == PERSON, where)
            .limit(bindparam(_limit_name(place), type_=Integer))
            .subquery()
        )
        .scalar_subquery()
        for place, where in _PLACES.items()
    ]
    return select(*columns)


def _limit_name(place: int) -> str:
    return f"most_{place}" if place >= 0 else "most_saved"


def _group_counts(connection: Connection, user_id: str, now_ms: int) -> _GroupCounts:
    """Count the rows of each group as one entry; in one statement, which looks up the whole of each group of parts."""
    totals = connection.execute(_select_totals(), {PERSON.key: user_id, NOW.key: now_ms}).one()._mapping
    places = (*_STANDINGS, _SAVED)
    return _GroupCounts(
        Counter({place: int(totals[_row_label(place)] or 0) for place in places}),
        Counter({place: int(totals[_group_label(place)] or 0) for place in places}),
    )


def _row_label(place: int) -> str:
    return f"rows_{place}" if place >= 0 else "rows_saved"


def _group_label(place: int) -> str:
    return f"groups_{place}" if place >= 0 else "groups_saved"


@cache
def _select_totals() -> Select[Any]:  # Any: two counts of each place
    """Return the query of how many rows of groups are at each place, and how many groups.

    The row of the whole itself is looked up by its event: a join might read all that the person was told.
    """
    standing, is_saved = standing_of(), _one_if(_ROW.saved_at_ms.is_not(None))
    parts = (
        select(
            _ROW.whole_id,
            func.min(standing).label("first"),
            func.max(is_saved).label("any_saved"),
            func.sum(is_saved).label(_row_label(_SAVED)),
            *(func.sum(_one_if(standing == place)).label(_row_label(place)) for place in _STANDINGS),
        )
        .where(is_shown_to(PERSON, NOW), _ROW.whole_id.is_not(None))
        .group_by(_ROW.whole_id)
        .cte("part")
        .prefix_with("MATERIALIZED")
    )
    is_whole = change_event.c.id == parts.c.whole_id
    whole_offset = select(change_event.c.log_offset).where(is_whole).correlate(parts).scalar_subquery()
    of_whole = (is_shown_to(PERSON, NOW, _OWN), _OWN.c.log_offset == whole_offset)
    own_standing, own_saved = (
        select(column).where(*of_whole).correlate(parts).scalar_subquery()
        for column in (standing_of(_OWN), _one_if(_OWN.c.saved_at_ms.is_not(None)))
    )
    group_columns = select(parts, own_standing.label("whole_standing"), own_saved.label("whole_saved"))
    groups = group_columns.cte("inbox_group").prefix_with("MATERIALIZED")  # or each sum looks them up again
    whole_standing, whole_saved = (
        func.coalesce(groups.c.whole_standing, _NOWHERE),
        func.coalesce(groups.c.whole_saved, 0),
    )
    first = case((whole_standing < groups.c.first, whole_standing), else_=groups.c.first)
    rows_at = {place: groups.c[_row_label(place)] + _one_if(whole_standing == place) for place in _STANDINGS}
    groups_at = {place: _one_if(first == place) for place in _STANDINGS}
    rows_at[_SAVED] = groups.c[_row_label(_SAVED)] + whole_saved
    groups_at[_SAVED] = _one_if(or_(groups.c.any_saved == 1, whole_saved == 1))
    return select(
        *(func.sum(count).label(_row_label(place)) for place, count in rows_at.items()),
        *(func.sum(count).label(_group_label(place)) for place, count in groups_at.items()),
    )


def _one_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)


def unseen_ids(connection: Connection, user_id: str, now_ms: int) -> set[str]:
    """Return the ids of the unread notifications, of the newest, that no list has shown."""
    newest = _newest_unread(_ROW.id).subquery()
    query = select(newest.c.id).where(newest.c.seen_at_ms.is_(None))
    return set(connection.scalars(query, {PERSON.key: user_id, NOW.key: now_ms}))


def _unseen_count(connection: Connection, user_id: str, now_ms: int) -> int:
    return int(connection.execute(_select_unseen(), {PERSON.key: user_id, NOW.key: now_ms}).scalar_one())


@cache
def _select_unseen() -> Select[Any]:  # Any: one count
    newest = _newest_unread().subquery()
    return select(func.count()).where(newest.c.seen_at_ms.is_(None))


def _newest_unread(*columns: ColumnElement[Any]) -> Select[Any]:  # Any: of any type
    unread = select(_ROW.seen_at_ms, *columns).where(is_shown_to(PERSON, NOW), UNREAD_PART.is_in)
    return unread.order_by(_ROW.log_offset.desc()).limit(MOST_UNSEEN)
