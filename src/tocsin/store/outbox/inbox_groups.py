"""Groups of an inbox: the notifications of a whole and of its parts are one entry, led by one of them.

A group is unread while one of its notifications is. Its lead is, of the unread ones if any, that of the whole, else the
newest. So a group is at one place of the inbox, and pages need no more than the place of the last lead. All statements
are of one person's rows. Next: ``store/outbox/inbox.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, FromClause, Select, and_, func, literal, or_, select

from tocsin.model.subscription import Channel
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import change_event, notification

GROUP: ColumnElement[str] = func.coalesce(notification.c.whole_id, notification.c.event_id)
"""The id of the group of a notification: that of the event of the whole, or of its columns."""

_OF_EVENT = change_event.c.log_offset == notification.c.log_offset


@dataclass(frozen=True)
class GroupedNotification:
    """A notification of a group, as far as one must know it to decide whether a person may see it."""

    id: str
    log_offset: int
    entity_type: str
    entity_id: str
    is_whole: bool
    read: bool

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Return the sort key of who leads the group."""
        return self.read, not self.is_whole, -self.log_offset


def is_shown_to(user_id: str, now_ms: int, table: FromClause = notification) -> ColumnElement[bool]:
    """Return whether a row is in this person's inbox by now.

    One that was due when it was written is, by the clock of the machine that wrote it, which may be ahead of ours.
    """
    is_due = or_(table.c.due_at_ms <= now_ms, is_at_once(table))
    return and_(table.c.recipient_id == user_id, table.c.channel == Channel.ACTIVITY_FEED.value, is_due)


def is_at_once(table: FromClause = notification) -> ColumnElement[bool]:
    """Return whether a row was due when it was written."""
    return table.c.due_at_ms <= table.c.created_at_ms


def leads(user_id: str, now_ms: int, *, read: bool) -> ColumnElement[bool]:
    """Return whether a row that is shown, and ``read`` or not, leads its group."""
    columns, part, whole_row = notification.c, notification.alias("part"), notification.alias("whole")
    is_no_part = columns.whole_id.is_(None)
    unread_part, newer_part = part.c.read_at_ms.is_(None), part.c.log_offset > columns.log_offset
    parts = select(part.c.id).where(is_shown_to(user_id, now_ms, part)).correlate(notification)
    of_same_whole = parts.where(part.c.whole_id == columns.whole_id)
    offset_of_whole = select(change_event.c.log_offset).where(change_event.c.id == columns.whole_id)
    wholes = select(whole_row.c.id).where(
        is_shown_to(user_id, now_ms, whole_row),
        whole_row.c.log_offset == offset_of_whole.correlate(notification).scalar_subquery(),
    )
    wholes = wholes.correlate(notification)
    if not read:
        before = or_(
            of_same_whole.where(unread_part, newer_part).exists(),
            wholes.where(whole_row.c.read_at_ms.is_(None)).exists(),
        )
        return or_(is_no_part, ~before)
    before = or_(of_same_whole.where(or_(unread_part, newer_part)).exists(), wholes.exists())
    return and_(
        or_(is_no_part, ~before),
        ~parts.where(part.c.whole_id == columns.event_id, part.c.read_at_ms.is_(None)).exists(),
    )


def is_of(group: str) -> ColumnElement[bool]:
    """Return whether a row belongs to a group."""
    offset = select(change_event.c.log_offset).where(change_event.c.id == group).scalar_subquery()
    return or_(notification.c.whole_id == group, notification.c.log_offset == offset)


def member_counts(connection: Connection, user_id: str, now_ms: int, groups: Collection[str]) -> Counter[str]:
    """Return how many notifications are shown of each of these groups."""
    is_shown, counts = is_shown_to(user_id, now_ms), Counter[str]()
    parts = select(notification.c.whole_id, func.count()).where(is_shown).group_by(notification.c.whole_id)
    wholes = select(notification.c.event_id, literal(1)).join(change_event, _OF_EVENT).where(is_shown)
    for query, column in ((parts, notification.c.whole_id), (wholes, change_event.c.id)):
        for group, count in rows_by_key(connection, query, column, groups):
            counts[group] += count
    return counts


def members_of(
    connection: Connection, user_id: str, now_ms: int, groups: Collection[str]
) -> dict[str, list[GroupedNotification]]:
    """Return the notifications of each of these groups, the lead first."""
    by_group: dict[str, list[GroupedNotification]] = {group: [] for group in groups}
    for column in (notification.c.whole_id, change_event.c.id):
        for row in rows_by_key(connection, _select_members(user_id, now_ms), column, groups):
            member = GroupedNotification(
                row.id, row.log_offset, row.entity_type, row.entity_id, row.whole_id is None, row.read_at_ms is not None
            )
            by_group[row.whole_id or row.event_id].append(member)
    return {group: sorted(members, key=lambda member: member.rank) for group, members in by_group.items()}


def _select_members(user_id: str, now_ms: int) -> Select[tuple[str, int, str | None, str, int | None, str, str]]:
    row, event = notification.c, change_event.c
    columns = (row.id, row.log_offset, row.whole_id, row.event_id, row.read_at_ms, event.entity_type, event.entity_id)
    return select(*columns).join(change_event, _OF_EVENT).where(is_shown_to(user_id, now_ms))
