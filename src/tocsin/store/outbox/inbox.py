"""Inbox of a person: in-app notifications in tabs, those that are unread first.

The pipeline writes the rows; a notification that was scheduled for later is not shown earlier. The notifications of a
whole and of its parts are one entry. The text comes from the change event that the row references.
Next: ``server/routes/notifications/inbox.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog
from sqlalchemy import Connection, Engine, Row, Select, and_, case, func, select

from tocsin.conditions.asset_states import with_own_states
from tocsin.delivery.wording.naming import DisplayNaming, Sees
from tocsin.flow.eventlog.position import BEGINNING, LogPosition
from tocsin.flow.eventlog.readers import MATCH_STREAM, READERS, STREAK_STREAM
from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.model.change import ChangeEvent
from tocsin.model.inbox import (
    UNTOUCHED_STATE,
    EarlierState,
    EntryState,
    Mark,
    Marked,
    Snooze,
    Tab,
    TabCounts,
    sum_of_marks,
)
from tocsin.model.inbox_filter import NO_FILTER, EntryFilter
from tocsin.model.needs import Need
from tocsin.model.notification import Reason, parse_reasons
from tocsin.model.subscription import Channel
from tocsin.store.database.engine import STORE_FAILURES, reading, writing
from tocsin.store.database.faults import Fault, fault_of
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.page_bytes import BoundedList, bounded_list
from tocsin.store.database.snapshots import EVENT_TEXT, Texts
from tocsin.store.database.tables import change_event, notification, pipeline_progress
from tocsin.store.outbox import inbox_marks
from tocsin.store.outbox.display_names import display_names_of_actors, read_naming
from tocsin.store.outbox.inbox_counts import tab_counts
from tocsin.store.outbox.inbox_filters import may_match
from tocsin.store.outbox.inbox_groups import (
    GROUP,
    PARTS,
    UNREAD_PART,
    GroupedNotification,
    TabPart,
    is_at_once,
    is_of,
    is_shown_to,
    leads,
    member_counts,
    members_of,
)
from tocsin.store.outbox.inbox_heads import (
    FirstHeads,
    InboxHead,
    TabExcerpt,
    first_rows,
    heads_of,
    heads_of_ids,
    kinds_of_rows,
    select_heads,
    select_ids,
    select_kinds,
    unique_rows,
)
from tocsin.store.outbox.inbox_waking import due_rows
from tocsin.store.outbox.open_needs import open_needs
from tocsin.store.recipients.subject_assets import find_subject_assets

_log = structlog.get_logger()
_NOTIFIED = (
    notification.c.id,
    GROUP.label("group_id"),
    notification.c.log_offset,
    notification.c.recipient_id,
    notification.c.reasons,
    *inbox_marks.STATE_COLUMNS,
)
_IN_APP = notification.c.channel == Channel.ACTIVITY_FEED.value
_SHOWN_ONCE = and_(_IN_APP, notification.c.due_at_ms < NEVER_MS)
"""Rows that are shown some day: not those that their recipient never wants in the app."""


@dataclass(frozen=True)
class InboxEntry:
    """One in-app notification: what happened, why this person is notified, and whether they have read it.

    It may lead a group (``store/outbox/inbox_groups.py``) of ``notification_count``. ``naming`` has the display names
    for its event where these were read for several entries at once.
    """

    id: str
    group: str
    log_offset: int
    recipient_id: str
    event: ChangeEvent
    reasons: tuple[Reason, ...]
    read: bool
    notification_count: int = 1
    state: EntryState = UNTOUCHED_STATE
    naming: DisplayNaming | None = field(default=None, compare=False, repr=False)

    @property
    def is_of_whole(self) -> bool:
        """Return whether it is of a whole or a part of one, so that its group may have more notifications."""
        return self.event.is_whole or self.group != self.event.id


@dataclass(frozen=True)
class InboxCursor:
    """Where a page ended: of all entries and of a group, the unread come first, newest first; then the others.

    Without a ``log_offset`` none of those, read or not, has been shown. Other tabs have no others.
    """

    read: bool
    log_offset: int | None


@dataclass(frozen=True)
class PageOf:
    """What a page is of: a tab, or the notifications of a ``group``, each by itself, wherever they are.

    Of a tab, an ``entry_filter`` leaves out entries that cannot match; others are left to who shows them. What is
    beyond the offset ``through`` is left out.
    """

    tab: Tab = Tab.ALL
    group: str | None = None
    entry_filter: EntryFilter = NO_FILTER
    through: int | None = None

    @property
    def has_two_parts(self) -> bool:
        """Return whether others follow the unread ones."""
        return self.group is not None or len(PARTS[self.tab]) > 1

    def place_of(self, entry: InboxEntry) -> InboxCursor:
        """Return where a page that ends with an entry ended."""
        is_other = entry.state.is_read or entry.state.snooze is not None
        return self.place_at(entry.log_offset, is_other=is_other)

    def place_at(self, log_offset: int, *, is_other: bool) -> InboxCursor:
        """Return where a page ended whose last entry is at an offset of the log, among the others or not."""
        return InboxCursor(read=self.has_two_parts and is_other, log_offset=log_offset)


EVERYTHING = PageOf()

MOST_NOTIFICATIONS = 20_000
"""Notifications that the entries of a page lead together; one entry may lead more."""


@dataclass(frozen=True)
class Arrival:
    """A row that the pipeline has added, as far as a listener must know it; ``due_at_ms`` is 0 for at once."""

    log_offset: int
    recipient_id: str
    due_at_ms: int


@dataclass(frozen=True)
class InboxProgress:
    """Progress of notifications: the newest notified event, and the offset up to which all queries are done.

    Between the two, notifications may still be written for earlier events: several queries write them.
    """

    newest: LogPosition
    processed_through: int


class Inbox:
    """Everybody's inbox in one store."""

    def __init__(self, engine: Engine, *, page_bytes: int | None = None) -> None:
        self._engine, self._page_bytes = engine, page_bytes
        self._fault: Fault | None = None  # why nothing could be woken at the last attempt

    def page(
        self, user_id: str, now_ms: int, *, limit: int, after: InboxCursor | None = None, kind: PageOf = EVERYTHING
    ) -> BoundedList[InboxEntry]:
        """Return at most ``limit`` entries, and a page full, that follow ``after``: unread first, then newest."""
        entries = BoundedList[InboxEntry]()
        if after is None or not after.read:
            below_offset = after.log_offset if after else None
            entries = self._part(user_id, now_ms, limit, kind, InboxCursor(read=False, log_offset=below_offset))
        if kind.has_two_parts and len(entries) < limit and not entries.is_cut:
            below_offset = after.log_offset if after and after.read else None
            place = InboxCursor(read=True, log_offset=below_offset)
            read_entries = self._part(user_id, now_ms, limit - len(entries), kind, place)
            unread_ids = {entry.id for entry in entries}  # one may have been read since
            entries += [entry for entry in read_entries if entry.id not in unread_ids]
            entries.is_cut = read_entries.is_cut
        return entries if kind.group else self._with_counts(user_id, now_ms, entries)

    def group_of(self, user_id: str, notification_id: str, now_ms: int) -> str:
        """Return the group that a notification belongs to.

        Raises
        ------
        NotFound : this person's inbox does not show it
        """
        with reading(self._engine) as connection:
            return inbox_marks.group_of(connection, user_id, notification_id, now_ms)

    def members(self, user_id: str, now_ms: int, groups: Collection[str]) -> dict[str, list[GroupedNotification]]:
        """Return the notifications of each of these groups, the lead first."""
        with reading(self._engine) as connection:
            return members_of(connection, user_id, now_ms, groups)

    def entries_of(self, user_id: str, now_ms: int, ids: Collection[str]) -> dict[str, InboxEntry]:
        """Return the entries of these notifications by their ids, each by itself."""
        query = _select_entries().where(is_shown_to(user_id, now_ms))
        with reading(self._engine) as connection:
            texts = Texts(connection)
            entry_rows = list(rows_by_key(connection, query, notification.c.id, ids))
            return {row.id: _notified_entry(row, texts) for row in entry_rows}

    def led_entries_of(self, user_id: str, now_ms: int, ids: Collection[str]) -> dict[str, InboxEntry]:
        """Return the entries of these notifications by their ids, each with how many it leads."""
        entries = BoundedList(self.entries_of(user_id, now_ms, ids).values())
        return {entry.id: entry for entry in self._with_counts(user_id, now_ms, entries)}

    def heads(self, user_id: str, now_ms: int, *, limit: int, kind: PageOf) -> FirstHeads:
        """Return the heads of the first entries of a tab that may match its filter, as ``page`` has them."""
        excerpt = TabExcerpt(user_id, now_ms, limit, may_match(kind.entry_filter))
        with reading(self._engine) as connection:
            head_rows = first_rows(connection, select_heads, kind.tab, excerpt)
            return FirstHeads(heads_of(connection, unique_rows(head_rows)), is_full=len(head_rows) >= limit)

    def ids_of(self, user_id: str, now_ms: int, *, limit: int, kind: PageOf) -> list[str]:
        """Return the ids of the first entries of a tab that may match its filter."""
        excerpt = TabExcerpt(user_id, now_ms, limit, may_match(kind.entry_filter))
        with reading(self._engine) as connection:
            return [row.id for row in unique_rows(first_rows(connection, select_ids, kind.tab, excerpt))]

    def kinds(self, user_id: str, now_ms: int, *, limit: int, kind: PageOf) -> list[frozenset[str]]:
        """Return the kinds of change of each of the first entries of a tab."""
        excerpt = TabExcerpt(user_id, now_ms, limit, may_match(kind.entry_filter))
        with reading(self._engine) as connection:
            return kinds_of_rows(first_rows(connection, select_kinds, kind.tab, excerpt))

    def heads_of(self, ids: Sequence[str]) -> list[InboxHead]:
        """Return the heads of these notifications, in the same order."""
        with reading(self._engine) as connection:
            return heads_of_ids(connection, ids)

    def open_needs(self, ids: Collection[str]) -> dict[str, Need]:
        """Return what those of these notifications need that still need their person."""
        with reading(self._engine) as connection:
            return open_needs(connection, ids) if ids else {}

    def named_events(self, events: Sequence[ChangeEvent], sees: Sees) -> list[ChangeEvent]:
        """Return events, in the same order, with the display names of those whom their reader may see."""
        with reading(self._engine) as connection:
            naming = read_naming(connection, events)
        visible_naming = naming.without_hidden(sees)
        return [visible_naming.event_of(event) for event in events]

    def actor_names(self, names: Collection[str], sees: Sees) -> dict[str, str]:
        """Return the display names of these people and bots, by their names, where they have one that may be seen."""
        with reading(self._engine) as connection:
            actors = display_names_of_actors(connection, names)
        visible_ids = sees({"type": "user", "id": one.user_id} for one in actors.values())
        return {name: one.display_name for name, one in actors.items() if one.user_id in visible_ids}

    def subject_assets(self, entity_ids: Collection[str]) -> dict[str, str]:
        """Return the asset that each of these tests and threads is about."""
        with reading(self._engine) as connection:
            return dict(find_subject_assets(connection, entity_ids).items())

    def counts(self, user_id: str, now_ms: int) -> TabCounts:
        """Return how many entries each tab has."""
        with reading(self._engine) as connection:
            return tab_counts(connection, user_id, now_ms)

    def mark(
        self,
        user_id: str,
        ids: Collection[str],
        mark: Mark,
        now_ms: int,
        *,
        snooze: Snooze | None = None,
        among: Collection[str] | None = None,
    ) -> Marked:
        """Mark the entries of these notifications and say what they were before.

        Each is marked with all that it stands for, or with those of it that are ``among`` these ids.
        """
        with writing(self._engine) as connection:
            return inbox_marks.mark_entries(connection, user_id, ids, mark, now_ms=now_ms, snooze=snooze, among=among)

    def restore(self, user_id: str, states: Sequence[EarlierState], now_ms: int) -> Marked:
        """Give notifications states that they had before, and say what they were until now."""
        with writing(self._engine) as connection:
            return inbox_marks.restore_states(connection, user_id, states, now_ms)

    def mark_read(self, user_id: str, notification_id: str, now_ms: int) -> Marked:
        """Mark an entry as read, with all notifications of its group; marking it twice changes nothing.

        Raises
        ------
        NotFound : this person's inbox shows no such entry
        """
        with writing(self._engine) as connection:
            inbox_marks.group_of(connection, user_id, notification_id, now_ms)
            return inbox_marks.mark_entries(connection, user_id, [notification_id], Mark.READ, now_ms=now_ms)

    def mark_all_read(self, user_id: str, now_ms: int) -> Marked:
        """Mark everything that is unread as read, in portions; what comes meanwhile stays unread."""
        through, results, groups = self.reach().newest.offset, list[Marked](), set[str]()
        while not results or results[-1].notification_count:
            with writing(self._engine) as connection:
                marked, groups_marked = inbox_marks.mark_portion_read(connection, user_id, now_ms, through=through)
            results.append(marked)
            groups |= groups_marked
        return replace(sum_of_marks(results), entry_count=len(groups))

    def event_id_of(self, user_id: str, notification_id: str) -> str | None:
        """Return the id of the event of which a notification told this person; None if it is none of theirs."""
        query = select(notification.c.event_id).where(notification.c.id == notification_id)
        with reading(self._engine) as connection:
            return connection.scalar(query.where(notification.c.recipient_id == user_id))

    def mark_seen(self, user_id: str, now_ms: int) -> int:
        """Mark everything that is unread as seen and return how many notifications that were."""
        with writing(self._engine) as connection:
            return inbox_marks.mark_seen(connection, user_id, now_ms)

    def wake(self, now_ms: int, user_ids: Collection[str] | None = None) -> set[str]:
        """Bring back the snoozed entries that are due, of these people or of all; return whose inbox has changed.

        An entry that is snoozed until its asset changes comes back only where its person is named. Where the store
        cannot be written, nothing comes back until it can: the inbox can still be read.
        """
        with reading(self._engine) as connection:
            if not due_rows(connection, now_ms, user_ids):
                return set()
        try:
            with writing(self._engine) as connection:
                people = inbox_marks.wake_due(connection, now_ms, user_ids)
        except STORE_FAILURES as error:
            self._note_fault(error)
            return set()
        self._fault = None
        return people

    def _note_fault(self, error: Exception) -> None:
        """Log a fault of the store, once until it is gone; raise what is none."""
        fault = fault_of(error)
        if fault is None:
            raise error
        if fault != self._fault:
            _log.warning("snoozed_not_woken", fault=fault.name, reason=fault.sentence)
        self._fault = fault

    def changes(self, *, limit: int) -> list[tuple[str, int]]:
        """Return whose inboxes were changed last, newest first, each with a number that grows with its changes."""
        with reading(self._engine) as connection:
            return inbox_marks.newest_changes(connection, limit)

    def entries_after(self, user_id: str, offset: int, now_ms: int, *, limit: int) -> list[InboxEntry]:
        """Return this person's notifications after log offset ``offset``, oldest first, a page full at most."""
        condition = and_(is_shown_to(user_id, now_ms), notification.c.log_offset > offset)
        return self._entries(_select_entries().where(condition).order_by(notification.c.log_offset).limit(limit))

    def entries_at(self, places: Iterable[tuple[int, str]]) -> list[InboxEntry]:
        """Return the entries at these (log offset, user id) places, in log order; those of one event share it.

        All have the display names for their events, so that thousands of listeners look up none.
        """
        wanted_places = set(places)
        offsets = {offset for offset, _ in wanted_places}
        users = {user_id for _, user_id in wanted_places}
        condition = and_(_IN_APP, notification.c.log_offset.in_(offsets), notification.c.recipient_id.in_(users))
        query = select(*_NOTIFIED, notification.c.event_id).where(condition).order_by(notification.c.log_offset)
        with reading(self._engine) as connection:
            notification_rows = [
                row for row in connection.execute(query) if (row.log_offset, row.recipient_id) in wanted_places
            ]
            of_them = change_event.c.id.in_({row.event_id for row in notification_rows})
            event_rows = connection.execute(select(change_event.c.id, *EVENT_TEXT).where(of_them))
            texts = Texts(connection)
            events = {row.id: ChangeEvent.model_validate_json(texts.of(row)) for row in event_rows}
            naming = read_naming(connection, list(events.values()))
        return [replace(_entry(row, events[row.event_id]), naming=naming) for row in notification_rows]

    def reach(self) -> InboxProgress:
        """Return the progress of notifications; later reads see all up to its ``processed_through``."""
        last = select(notification.c.log_offset, notification.c.event_id).order_by(notification.c.log_offset.desc())
        with reading(self._engine) as connection:
            through, row = processed_through(connection), connection.execute(last.limit(1)).first()
        return InboxProgress(BEGINNING if row is None else LogPosition(row.log_offset, row.event_id), through)

    def arrivals(self, after: int, *, limit: int, through: int | None = None) -> list[Arrival]:
        """Return the rows beyond log offset ``after``, oldest first, whether due or not; whole offsets only."""
        due_column = case((is_at_once(), 0), else_=notification.c.due_at_ms).label("due_at_ms")
        columns = (notification.c.log_offset, notification.c.recipient_id, due_column)
        beyond = and_(_SHOWN_ONCE, notification.c.log_offset > after)
        if through is not None:
            beyond = and_(beyond, notification.c.log_offset <= through)
        query = select(*columns).where(beyond).order_by(notification.c.log_offset).limit(limit)
        with reading(self._engine) as connection:
            notification_rows = connection.execute(query).all()
            if len(notification_rows) == limit:  # the last offset may have been cut in two: read it again, whole
                last = notification_rows[-1].log_offset
                at_last = select(*columns).where(_SHOWN_ONCE, notification.c.log_offset == last)
                notification_rows = [row for row in notification_rows if row.log_offset < last] + list(
                    connection.execute(at_last)
                )
        return [Arrival(row.log_offset, row.recipient_id, row.due_at_ms) for row in notification_rows]

    def _part(self, user_id: str, now_ms: int, limit: int, kind: PageOf, place: InboxCursor) -> BoundedList[InboxEntry]:
        query = _select_entries()
        if kind.group:
            is_in = ~UNREAD_PART.is_in if place.read else UNREAD_PART.is_in
            query = query.where(is_shown_to(user_id, now_ms), is_of(kind.group), is_in)
        else:
            part: TabPart = PARTS[kind.tab][int(place.read)]
            query = query.where(part.is_shown_to(user_id, now_ms), leads(user_id, now_ms, part))
            if (condition := may_match(kind.entry_filter)) is not None:
                query = query.where(condition)
        if kind.through is not None:
            query = query.where(notification.c.log_offset <= kind.through)
        if place.log_offset is not None:
            query = query.where(notification.c.log_offset < place.log_offset)
        return self._entries(query.order_by(notification.c.log_offset.desc()).limit(limit))

    def _with_counts(self, user_id: str, now_ms: int, entries: BoundedList[InboxEntry]) -> BoundedList[InboxEntry]:
        """Return entries with how many notifications each leads; fewer where these are too many together."""
        with reading(self._engine) as connection:
            counts = member_counts(connection, user_id, now_ms, {entry.group for entry in entries})
        counted, total = BoundedList[InboxEntry](), 0
        counted.is_cut = entries.is_cut
        for entry in entries:
            count = counts[entry.group]
            total += count
            if counted and total > MOST_NOTIFICATIONS:
                counted.is_cut = True
                break
            counted.append(entry if count == 1 else replace(entry, notification_count=count))
        return counted

    def _entries(self, query: Select[tuple[object, ...]]) -> BoundedList[InboxEntry]:
        with reading(self._engine) as connection:
            texts = Texts(connection)
            return bounded_list(connection, query, lambda row: _notified_entry(row, texts), self._page_bytes)


def _select_entries() -> Select[tuple[object, ...]]:
    return select(*_NOTIFIED, *EVENT_TEXT).join(change_event, change_event.c.id == notification.c.event_id)


def _notified_entry(row: Row[tuple[object, ...]], texts: Texts) -> InboxEntry:
    return _entry(row, ChangeEvent.model_validate_json(texts.of(row)))


def _entry(row: Any, event: ChangeEvent) -> InboxEntry:  # Any: a row with the columns of _NOTIFIED
    reasons = parse_reasons(row.reasons)
    return InboxEntry(
        id=row.id,
        group=row.group_id,
        log_offset=row.log_offset,
        recipient_id=row.recipient_id,
        event=with_own_states(event, reasons),
        reasons=reasons,
        read=row.state_read_at is not None,
        state=inbox_marks.state_of(row),
    )


def processed_through(connection: Connection) -> int:
    """Return the offset up to which every reader has processed every event; one that has not begun is at 0.

    A query that reads only reports has passed everything before the next report.
    """
    progress = pipeline_progress.c
    query = select(progress.query_name, progress.log_offset).where(progress.query_name.in_(READERS))
    at = {name: int(offset) for name, offset in connection.execute(query)}
    through = at.get(MATCH_STREAM, 0)
    report = status_report.c.log_offset
    next_report = select(func.min(report)).where(report > at.get(STREAK_STREAM, 0), report <= through)
    first = connection.execute(next_report).scalar()
    return through if first is None else int(first) - 1
