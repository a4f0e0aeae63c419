"""Messages that gather several notifications: which ones can take another, and when the last one of a group was sent.

A message that a worker has claimed takes no more: later notifications get the next due time. Why this is decided here,
in the transaction that writes: docs/decisions/0053-real-time-alerts-gather-where-they-are-written.md. Next:
``store/outbox/notifications.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Row, Select, and_, cast, select, true

from tocsin.chunks import chunks_of
from tocsin.flow.schedule.decide import Slot
from tocsin.flow.schedule.messages import ScheduledNotification, in_slot, next_slot, slot_order, waiting_slot
from tocsin.model.message import MessageStatus
from tocsin.model.notification_draft import EventHead
from tocsin.model.subscription import Channel
from tocsin.store.database.bulk import BulkInsert
from tocsin.store.database.bulk import Row as ValueRow
from tocsin.store.database.engine import insert_into
from tocsin.store.database.keys import KEYS_PER_STATEMENT, listed_tuples, rows_by_key
from tocsin.store.database.tables import change_event, message, paced_time

Group = tuple[str, str, str]
"""Channel, recipient and grouping key."""

MESSAGES = BulkInsert(
    message,
    (
        *("id", "channel", "recipient", "recipient_id", "target", "subscription_id", "destination_id"),
        *("grouping_key", "due_at_ms", "wait_ms", "created_at_ms", "updated_at_ms", "status", "attempt_count"),
    ),
)

_PARTS_WAIT_MS = 5_000
"""How long parts of a whole, or of a bot's run, wait for each other, from the time of the first one's event."""

_REPORTS = ('"quality"', '"run"')
"""How categories of changes by which assets report stand in derived fields: failures wait for nothing."""

_LOOK_BACK_MS = 86_400_000
"""How long an unsent message of a real-time alert accepts further notifications."""


class Gathered(NamedTuple):
    """Notifications by what carries them: messages of their own, or one that is stored and locked."""

    alone: list[ScheduledNotification]
    placed: list[ScheduledNotification]


def gather(connection: Connection, notifications: Sequence[ScheduledNotification]) -> Gathered:
    """Return notifications that are not stored yet, those with a grouping key in messages that still take them.

    These messages are stored, and locked until the transaction ends: no worker claims one before the notifications are
    in it.
    """
    alone: list[ScheduledNotification] = []
    grouped_notifications: list[ScheduledNotification] = []
    for notification in notifications:
        (grouped_notifications if notification.gathers else alone).append(notification)
    waiting_notifications: list[ScheduledNotification] = []
    for notification in _pace(connection, grouped_notifications):
        is_alone = notification.slot.grouping_key is None or notification.slot.is_first
        (alone if is_alone else waiting_notifications).append(notification)
    placed_notifications: list[ScheduledNotification] = []
    while waiting_notifications:
        open_ids = _open(connection, waiting_notifications)
        placed_notifications += [
            notification for notification in waiting_notifications if notification.message_id in open_ids
        ]
        waiting_notifications = [
            in_slot(notification, next_slot(notification.slot))
            for notification in waiting_notifications
            if notification.message_id not in open_ids
        ]
    return Gathered(alone, placed_notifications)


class _Latest(NamedTuple):
    """The latest message of a group: the one that takes more, or when the last one went out.

    ``is_planned``: its notifications so far go out in messages of other alerts.
    """

    open_id: str | None
    at_ms: int
    is_planned: bool = False


class _Turn(NamedTuple):
    """When an alert would send a notification, and in which message; None for the one that its slot determines."""

    slot: Slot
    message_id: str | None = None


def _pace(connection: Connection, notifications: Sequence[ScheduledNotification]) -> list[ScheduledNotification]:
    """Return the notifications, those of paced alerts in the slot of the alert that sends them first.

    When the others would have sent them is kept (``paced_time``): an alert keeps its pace with any participants.
    """
    groups = [_groups_of(notification) for notification in notifications]
    counts = Counter(group for theirs in groups for group in theirs if group is not None)
    if not counts:
        return list(notifications)
    latest = _latest(connection, counts, notifications, groups)
    first_offsets = {
        notification.draft.event.offset
        for notification, theirs in zip(notifications, groups, strict=True)
        if any(group is not None and group not in latest for group in theirs)
    }
    pace = _Pace(counts, latest, _offsets_of_runs(connection, first_offsets))
    paced_notifications = [pace.in_first_turn(*both) for both in zip(notifications, groups, strict=True)]
    _keep_planned(connection, pace.planned)
    return paced_notifications


class _Pace:
    """The turns of some notifications: their groups with how many are of each, and the latest message of a group.

    ``run_offsets`` are the places in the log of what bots say to be of a run.
    """

    def __init__(
        self, counts: Mapping[Group, int], latest: Mapping[Group, _Latest], run_offsets: Collection[int]
    ) -> None:
        self._counts, self._latest, self._run_offsets = counts, latest, run_offsets
        self._waits_until: dict[Group, int] = {}
        self.planned: dict[Group, int] = {}

    def in_first_turn(
        self, notification: ScheduledNotification, groups: Sequence[Group | None]
    ) -> ScheduledNotification:
        """Return a notification in the slot of the alert that sends it first; turns of the others are ``planned``."""
        turns = [
            self._turn(slot, group, notification.draft.event)
            for slot, group in zip(notification.slots, groups, strict=True)
        ]
        first = turns[0]
        if len(turns) > 1:
            first = min(turns, key=lambda turn: slot_order(turn.slot, now_ms=notification.created_at_ms))
            for turn, group in zip(turns, groups, strict=True):
                if group is not None and turn is not first:
                    self.planned[group] = max(self.planned.get(group, 0), turn.slot.due_at_ms)
        if first.message_id is not None:
            return notification._replace(slot=first.slot, message_id=first.message_id)
        return notification if first.slot is notification.slot else in_slot(notification, first.slot)

    def _turn(self, slot: Slot, group: Group | None, event: EventHead) -> _Turn:
        """Return when an alert would send a notification, after the last message of its group.

        A part of a whole, or of a bot's run, waits for the others, which may be in later micro-batches: all as long as
        the first of them.
        """
        if group is None:
            return _Turn(slot)
        last = self._latest.get(group)
        if last is None and (event.part_of is not None or event.offset in self._run_offsets):
            latest_ms = slot.due_at_ms + _PARTS_WAIT_MS  # a writer's clock may be ahead
            due_at_ms = min(max(slot.due_at_ms, event.timestamp_ms + _PARTS_WAIT_MS), latest_ms)
            return _Turn(waiting_slot(slot, self._waits_until.setdefault(group, due_at_ms)))
        if last is None:
            is_alone = self._counts[group] == 1
            return _Turn(slot if is_alone else waiting_slot(slot, slot.due_at_ms))
        if last.open_id is not None:
            return _Turn(waiting_slot(slot, last.at_ms), last.open_id)
        is_ahead = last.is_planned and last.at_ms > slot.due_at_ms
        return _Turn(waiting_slot(slot, last.at_ms if is_ahead else last.at_ms + slot.window_ms))


def _offsets_of_runs(connection: Connection, offsets: Collection[int]) -> set[int]:
    """Return those of these places in the log at which a bot says of which run it has changed something."""
    if not offsets:
        return set()
    event = change_event.c
    of_bots = select(event.log_offset).where(event.reason.is_not(None), event.derived.contains('"isBot":true'))
    changes = of_bots.where(*(~event.derived.contains(text) for text in _REPORTS))
    return {row.log_offset for row in rows_by_key(connection, changes, event.log_offset, offsets)}


def _groups_of(notification: ScheduledNotification) -> list[Group | None]:
    """Return the groups of a notification's slots; None for a slot that is not paced."""
    channel, key = notification.draft.channel.value, notification.draft.key
    return [(channel, key, str(slot.grouping_key)) if slot.window_ms else None for slot in notification.slots]


def _latest(
    connection: Connection,
    counts: Collection[Group],
    notifications: Sequence[ScheduledNotification],
    groups: Sequence[Sequence[Group | None]],
) -> dict[Group, _Latest]:
    """Return, of the groups that have one, the message that takes more, or else the last one within the window."""
    since_ms = min(notification.created_at_ms for notification in notifications) - _LOOK_BACK_MS
    group_messages = [*_sent_messages(connection, counts, since_ms), *_planned_turns(connection, counts)]
    if not group_messages:
        return {}
    windows_ms: dict[Group, int] = {}
    for notification, own_groups in zip(notifications, groups, strict=True):
        for slot, group in zip(notification.slots, own_groups, strict=True):
            if group is not None:
                windows_ms.setdefault(group, notification.created_at_ms - slot.window_ms)
    latest_by_group: dict[Group, _Latest] = {}
    for group, latest in group_messages:
        if latest.open_id is not None or latest.at_ms > windows_ms[group]:
            latest_by_group[group] = max(latest_by_group.get(group, latest), latest, key=_preference)
    return latest_by_group


def _preference(latest: _Latest) -> tuple[bool, int]:
    """Return the place of a message among those of its group: the first open one, or else the last that went out."""
    return (False, latest.at_ms) if latest.open_id is None else (True, -latest.at_ms)


def _sent_messages(connection: Connection, groups: Collection[Group], since_ms: int) -> Iterator[tuple[Group, _Latest]]:
    """Yield the messages of these groups that became due later than ``since_ms``."""
    column = message.c
    query = select(
        *(column.id, column.channel, column.recipient, column.grouping_key, column.due_at_ms, column.updated_at_ms),
        *(column.status, column.lease_owner, column.attempt_count),
    )
    for row in _rows_of_groups(connection, query.where(column.due_at_ms > since_ms), column, groups):
        is_open = row.status == MessageStatus.PENDING.value and row.lease_owner is None and row.attempt_count == 0
        # A message that was tried is due again later than it went out.
        latest = _Latest(row.id, row.due_at_ms) if is_open else _Latest(None, min(row.due_at_ms, row.updated_at_ms))
        yield (row.channel, row.recipient, row.grouping_key), latest


def _planned_turns(connection: Connection, groups: Collection[Group]) -> Iterator[tuple[Group, _Latest]]:
    """Yield when these groups last had a turn that an alert used that was earlier."""
    for row in _rows_of_groups(connection, select(paced_time), paced_time.c, groups):
        yield (row.channel, row.recipient, row.grouping_key), _Latest(None, row.due_at_ms, is_planned=True)


def _rows_of_groups(
    connection: Connection, query: Select[Any], column: Any, groups: Collection[Group]
) -> Iterator[Row[Any]]:  # Any: columns by name
    """Yield the rows of ``query`` with the channel, recipient and key of one of these groups: a look-up for each."""
    for chunk in chunks_of(sorted(groups), KEYS_PER_STATEMENT):
        channel, recipient, key = listed_tuples(connection, chunk)
        is_group = and_(column.channel == channel, column.recipient == recipient, column.grouping_key == key)
        yield from connection.execute(query.where(is_group)).all()


def _keep_planned(connection: Connection, planned: Mapping[Group, int]) -> None:
    """Store the turns that alerts would have had; those that have no effect any more are dropped."""
    if not planned:
        return
    names = ("channel", "recipient", "grouping_key")
    insert = insert_into(connection, paced_time)
    for chunk in chunks_of(sorted(planned.items()), KEYS_PER_STATEMENT):
        *group, due_at_ms = listed_tuples(connection, [(*group, due_at_ms) for group, due_at_ms in chunk])
        turns = select(*group, cast(due_at_ms, BigInteger)).where(true())  # SQLite wants a WHERE before ON CONFLICT
        upsert = insert.from_select((*names, "due_at_ms"), turns).on_conflict_do_update(
            index_elements=names,
            set_={"due_at_ms": insert.excluded.due_at_ms},
            where=insert.excluded.due_at_ms > paced_time.c.due_at_ms,
        )
        connection.execute(upsert)
    oldest_ms = max(planned.values()) - 2 * _LOOK_BACK_MS
    connection.execute(paced_time.delete().where(paced_time.c.due_at_ms < oldest_ms))


def _open(connection: Connection, notifications: Sequence[ScheduledNotification]) -> set[str]:
    """Store the messages of these notifications where they are new; return those that nobody has claimed, locked."""
    new = {timed.message_id: timed for timed in notifications if timed.message_id}
    ids = sorted(new)
    MESSAGES.run(connection, [message_row(new[one]) for one in ids])
    untouched = (message.c.status == MessageStatus.PENDING.value, message.c.lease_owner.is_(None))
    query = select(message.c.id).where(message.c.attempt_count == 0, *untouched).order_by(message.c.id)
    return {row.id for row in rows_by_key(connection, query.with_for_update(), message.c.id, ids)}


def message_row(scheduled: ScheduledNotification) -> ValueRow:
    """Return the message of a notification, the columns of ``MESSAGES``."""
    draft, slot, at_ms = scheduled.draft, scheduled.slot, scheduled.created_at_ms
    is_queued = draft.channel is Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT
    return (
        *(scheduled.message_id, draft.channel.value, draft.key, draft.recipient_id, draft.target, *scheduled.sender),
        *(slot.grouping_key, scheduled.sent_at_ms, scheduled.wait_ms, at_ms, at_ms),
        *((MessageStatus.QUEUED if is_queued else MessageStatus.PENDING).value, 0),
    )


def add_messages(connection: Connection, notifications: Iterable[ScheduledNotification]) -> None:
    """Store the messages of a few notifications where they are new."""
    message_rows = [dict(zip(MESSAGES.columns, message_row(one), strict=True)) for one in notifications]
    connection.execute(insert_into(connection, message).on_conflict_do_nothing(), message_rows)
