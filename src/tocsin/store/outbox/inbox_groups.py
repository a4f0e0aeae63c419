"""Groups of an inbox: the notifications of a whole and of its parts are one entry, led by one of them.

A group is where the first of its notifications is: unread while one of them is, done when all are. Its lead is, of
those that are there, that of the whole, else the newest. So a group is at one place of the inbox, and pages need no
more than the place of the last lead. All statements are of one person's rows. Next: ``store/outbox/inbox.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    String,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
)

from tocsin.model.inbox import Standing, Tab
from tocsin.model.subscription import Channel
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import change_event, notification

GROUP: ColumnElement[str] = func.coalesce(notification.c.whole_id, notification.c.event_id)
"""The id of the group of a notification: that of the event of the whole, or of its columns."""

_ROW = notification.c
_OF_EVENT = change_event.c.log_offset == notification.c.log_offset
_PART_ROW, _WHOLE_ROW = notification.alias("part"), notification.alias("whole")
PERSON, NOW = bindparam("person", type_=String), bindparam("now_ms", type_=BigInteger)
"""Whose rows, and when, in statements that are built once: to build one takes longer than to execute some of them."""

Person = str | ColumnElement[str]
Moment = int | ColumnElement[int]


@dataclass(frozen=True)
class GroupedNotification:
    """A notification of a group, as far as one must know it to decide whether a person may see it."""

    id: str
    log_offset: int
    entity_type: str
    entity_id: str
    is_whole: bool
    standing: Standing

    @property
    def rank(self) -> tuple[Standing, bool, int]:
        """Return the sort key of who leads the group."""
        return self.standing, not self.is_whole, -self.log_offset


@dataclass(frozen=True)
class TabPart:
    """A part of a tab that is one list, newest first: which notifications it has, and which lead their groups there.

    ``rank_of`` is lowest for the notifications of a group that may lead it; in this part it is ``rank``. Where all of
    them were marked, they were shown, in the app: an index that has only those finds them.
    """

    is_in: ColumnElement[bool]
    is_marked: bool
    rank_of: Callable[[FromClause], ColumnElement[int]]
    rank: int

    def is_shown_to(self, user_id: Person, now_ms: Moment) -> ColumnElement[bool]:
        """Return whether a row is in this part of a person's inbox."""
        is_shown = _ROW.recipient_id == user_id if self.is_marked else is_shown_to(user_id, now_ms)
        return and_(is_shown, self.is_in)


def is_shown_to(user_id: Person, now_ms: Moment, table: FromClause = notification) -> ColumnElement[bool]:
    """Return whether a row is in this person's inbox by now."""
    return and_(was_shown_to(user_id, now_ms, table), table.c.left_at_ms.is_(None))


def was_shown_to(user_id: Person, now_ms: Moment, table: FromClause = notification) -> ColumnElement[bool]:
    """Return whether a row is in this person's inbox by now, or has been and left it.

    One that was due when it was written is, by the clock of the machine that wrote it, which may be ahead of ours.
    """
    is_of_person = and_(table.c.recipient_id == user_id, table.c.channel == Channel.ACTIVITY_FEED.value)
    return and_(is_of_person, _is_due(now_ms, table))


def _is_due(now_ms: Moment, table: FromClause) -> ColumnElement[bool]:
    return or_(table.c.due_at_ms <= now_ms, is_at_once(table))


def is_at_once(table: FromClause = notification) -> ColumnElement[bool]:
    """Return whether a row was due when it was written."""
    return table.c.due_at_ms <= table.c.created_at_ms


def standing_of(table: FromClause = notification) -> ColumnElement[int]:
    """Return where a row is, as a ``Standing``."""
    return case(
        (table.c.read_at_ms.is_(None), Standing.UNREAD.value),
        (table.c.done_at_ms.is_not(None), Standing.DONE.value),
        (table.c.snoozed_until_ms.is_not(None), Standing.SNOOZED.value),
        else_=Standing.READ.value,
    )


def _saved_rank_of(table: FromClause) -> ColumnElement[int]:
    return case((table.c.saved_at_ms.is_not(None), 0), else_=1)


UNREAD_PART = TabPart(_ROW.read_at_ms.is_(None), False, standing_of, Standing.UNREAD)
_HAS_NOT_LEFT = _ROW.left_at_ms.is_(None)
_IS_READ = and_(_ROW.read_at_ms.is_not(None), _ROW.done_at_ms.is_(None), _ROW.snoozed_until_ms.is_(None), _HAS_NOT_LEFT)
_IS_DONE = and_(_ROW.done_at_ms.is_not(None), _HAS_NOT_LEFT)
READ_PART = TabPart(_IS_READ, True, standing_of, Standing.READ)
PARTS = {
    Tab.UNREAD: (UNREAD_PART,),
    Tab.ALL: (UNREAD_PART, READ_PART),
    Tab.SAVED: (TabPart(_ROW.saved_at_ms.is_not(None), True, _saved_rank_of, 0),),
    Tab.SNOOZED: (TabPart(_ROW.snoozed_until_ms.is_not(None), True, standing_of, Standing.SNOOZED),),
    Tab.DONE: (TabPart(_IS_DONE, True, standing_of, Standing.DONE),),
}
"""The parts of each tab, in their order."""


def leads(user_id: Person, now_ms: Moment, of_part: TabPart) -> ColumnElement[bool]:
    """Return whether a row that is shown in a part leads its group there."""
    columns, part, whole_row = notification.c, _PART_ROW, _WHOLE_ROW
    is_no_part = columns.whole_id.is_(None)
    is_in_app = func.coalesce(part.c.channel, "") == Channel.ACTIVITY_FEED.value  # found by the index of parts
    is_shown = and_(part.c.recipient_id == user_id, is_in_app, _is_due(now_ms, part), part.c.left_at_ms.is_(None))
    parts = select(part.c.id).where(is_shown).correlate(notification)
    offset_of_whole = select(change_event.c.log_offset).where(change_event.c.id == columns.whole_id)
    wholes = select(whole_row.c.id).where(
        is_shown_to(user_id, now_ms, whole_row),
        whole_row.c.log_offset == offset_of_whole.correlate(notification).scalar_subquery(),
        of_part.rank_of(whole_row) <= of_part.rank,
    )
    rank = of_part.rank_of(part)
    is_before = or_(rank < of_part.rank, and_(rank == of_part.rank, part.c.log_offset > columns.log_offset))
    before = or_(
        parts.where(part.c.whole_id == columns.whole_id, is_before).exists(), wholes.correlate(notification).exists()
    )
    if of_part.rank == 0:  # nothing comes before the whole
        return or_(is_no_part, ~before)
    return and_(
        or_(is_no_part, ~before), ~parts.where(part.c.whole_id == columns.event_id, rank < of_part.rank).exists()
    )


def is_of(group: str) -> ColumnElement[bool]:
    """Return whether a row belongs to a group."""
    offset = select(change_event.c.log_offset).where(change_event.c.id == group).scalar_subquery()
    return or_(notification.c.whole_id == group, notification.c.log_offset == offset)


def member_counts(connection: Connection, user_id: str, now_ms: int, groups: Collection[str]) -> Counter[str]:
    """Return how many notifications are shown of each of these groups."""
    is_shown, counts = is_shown_to(user_id, now_ms), Counter[str]()
    parts = select(notification.c.whole_id, func.count()).where(is_shown).group_by(notification.c.whole_id)
    for group, count in rows_by_key(connection, parts, notification.c.whole_id, groups):
        counts[group] += count
    offsets = places_of(connection, groups)
    wholes = select(notification.c.log_offset).where(is_shown)
    for (offset,) in rows_by_key(connection, wholes, notification.c.log_offset, offsets):
        counts[offsets[offset]] += 1
    return counts


def members_of(
    connection: Connection, user_id: str, now_ms: int, groups: Collection[str]
) -> dict[str, list[GroupedNotification]]:
    """Return the notifications of each of these groups, the lead first."""
    by_group: dict[str, list[GroupedNotification]] = {group: [] for group in groups}
    query, offsets = _select_members(user_id, now_ms), places_of(connection, groups)
    for column, keys in ((notification.c.whole_id, groups), (notification.c.log_offset, offsets)):
        for row in rows_by_key(connection, query, column, keys):
            standing = Standing(row.standing)
            member = GroupedNotification(
                row.id, row.log_offset, row.entity_type, row.entity_id, row.whole_id is None, standing
            )
            by_group[row.whole_id or row.event_id].append(member)
    return {group: sorted(members, key=lambda member: member.rank) for group, members in by_group.items()}


def places_of(connection: Connection, event_ids: Collection[str]) -> dict[int, str]:
    """Return these events by their offsets in the log.

    Two look-ups, by id and by place, are fast however much a person was told: one that joins them may read all of it.
    """
    query = select(change_event.c.log_offset, change_event.c.id)
    return {row.log_offset: row.id for row in rows_by_key(connection, query, change_event.c.id, event_ids)}


def _select_members(user_id: str, now_ms: int) -> Select[tuple[str, int, str | None, str, str, str, int]]:
    row, event = notification.c, change_event.c
    columns = (row.id, row.log_offset, row.whole_id, row.event_id, event.entity_type, event.entity_id)
    query = select(*columns, standing_of().label("standing")).join(change_event, _OF_EVENT)
    return query.where(is_shown_to(user_id, now_ms))
