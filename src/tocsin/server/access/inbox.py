"""Entries of an inbox as one person may see them; of a group, the notifications of what may be seen.

Permissions may have changed since the notifications were written. A group whose lead is hidden is led by the next of
its notifications that is not. Next: ``store/outbox/inbox_groups.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tocsin.access.person_visibility import Visibility
from tocsin.chunks import chunks_of
from tocsin.conditions.breaking import reasons_of_event
from tocsin.model.causes import CauseToken, parse_token
from tocsin.model.change import ChangeEvent
from tocsin.model.inbox import (
    MOST_COUNTED,
    MOST_MARKED,
    Mark,
    Marked,
    Snooze,
    Standing,
    Tab,
    TabCounts,
    sum_of_marks,
)
from tocsin.model.inbox_filter import NO_FILTER, EntryFilter
from tocsin.model.needs import Need
from tocsin.server.access.cause_heads import with_visible_roots
from tocsin.server.access.events import visible_parts
from tocsin.server.access.pages import Read, visible_page
from tocsin.server.inbox.entry_filters import is_match
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.outbox.inbox import Inbox, InboxCursor, InboxEntry, PageOf
from tocsin.store.outbox.inbox_groups import GroupedNotification
from tocsin.store.outbox.inbox_marks import not_in_inbox

MOST_FILTERED = 2_000
"""Entries that one request looks at for a filter, of those that may match; the cursor goes on."""

_FILTERED_AT_ONCE, _MARKED_AT_ONCE = 200, 200


@dataclass(frozen=True)
class MatchingMarked:
    """What was marked of the entries that a filter finds, how many these are, and where those after them begin."""

    marked: Marked
    matched_count: int
    after: InboxCursor | None


@dataclass(frozen=True)
class AssetEntries:
    """Entries of an inbox that are about one asset, in the order of the inbox."""

    asset_id: str
    entries: tuple[InboxEntry, ...]

    @property
    def latest(self) -> InboxEntry:
        """Return the entry of what happened last."""
        return max(self.entries, key=lambda entry: entry.log_offset)

    @property
    def latest_of_itself(self) -> InboxEntry:
        """Return the latest entry of the asset itself, or else of what is about it."""
        return max(self.entries, key=lambda entry: (entry.event.entity_id == self.asset_id, entry.log_offset))

    def is_after(self, kind: PageOf, place: InboxCursor) -> bool:
        """Return whether the first of them follows a place."""
        own_place = kind.place_of(self.entries[0])
        return (own_place.read, -(own_place.log_offset or 0)) > (place.read, -(place.log_offset or 0))


@dataclass(frozen=True)
class InboxView:
    """The inbox of ``owner`` at a moment, as visible to one reader."""

    inbox: Inbox
    owner: str
    now_ms: int
    visibility: Visibility

    def visible_entries_of(self, entries: Sequence[InboxEntry]) -> list[InboxEntry | None]:
        """Return what may be shown of each entry: how many notifications it stands for, its event, and the reasons."""
        return list(entries) if self.visibility.is_whole else self._visible_parts_of(self._led_by_visible(entries))

    def present_entry_of(self, notification: InboxEntry) -> InboxEntry | None:
        """Return the entry of the inbox that a notification belongs to now, as far as it may be shown; None if not."""
        if not notification.is_of_whole:
            return self._visible_parts_of([notification])[0]
        members = self._visible_members({notification.group})[notification.group]
        lead, by_id = next(iter(members), None), {notification.id: notification}
        if lead is not None and lead.id != notification.id:
            by_id = self.inbox.entries_of(self.owner, self.now_ms, {lead.id})
        return self._visible_parts_of([_entry_led_by(by_id, lead, members)])[0]

    def page(self, kind: PageOf, place: InboxCursor | None, limit: int) -> Read[InboxEntry]:
        """Return what may be shown of a page that follows a place; with a filter, what of it matches."""

        def read(last: InboxEntry | None, count: int) -> BoundedList[InboxEntry]:
            after = kind.place_of(last) if last else place
            return self.inbox.page(self.owner, self.now_ms, limit=count, after=after, kind=kind)

        if kind.entry_filter == NO_FILTER:
            return visible_page(read, self.visible_entries_of, limit)
        as_shown = partial(self._matching_entries_of, kind.entry_filter)
        return visible_page(read, as_shown, limit, at_once=_FILTERED_AT_ONCE, limit_read=MOST_FILTERED)

    def matching_count(self, kind: PageOf) -> int:
        """Return how many entries match a filter, of the first ``MOST_FILTERED``; at most ``MOST_COUNTED``."""
        return len(self.page(kind, None, MOST_COUNTED).entries)

    def by_asset(self, kind: PageOf) -> list[AssetEntries]:
        """Return the first ``MOST_COUNTED`` entries that may be shown by the asset that they are about, in their order.

        An asset is where the first of its entries is.
        """
        entries = self.page(kind, None, MOST_COUNTED).entries
        assets = self.inbox.subject_assets({entry.event.entity_id for entry in entries})
        by_asset: dict[str, list[InboxEntry]] = {}
        for entry in entries:
            by_asset.setdefault(assets.get(entry.event.entity_id, entry.event.entity_id), []).append(entry)
        return [AssetEntries(asset_id, tuple(many)) for asset_id, many in by_asset.items()]

    def _matching_entries_of(self, entry_filter: EntryFilter, entries: Sequence[InboxEntry]) -> list[InboxEntry | None]:
        """Return what may be shown of each entry, and None of those that do not match as they are shown."""
        visible_entries = self.visible_entries_of(entries)
        entity_ids = {entry.event.entity_id for entry in visible_entries if entry is not None}
        subjects = self.inbox.subject_assets(entity_ids) if entry_filter.asset is not None else {}
        named_events = self._named_events_of(visible_entries) if entry_filter.words else {}
        matching_entries = [
            entry if entry is not None and is_match(entry, entry_filter, subjects, named_events.get(entry.id)) else None
            for entry in visible_entries
        ]
        if (token := parse_token(entry_filter.cause or "")) is not None:
            matching_entries = self._entries_of_cause(token, matching_entries)
        if entry_filter.needs_me is None:
            return matching_entries
        needs = self.needs_of([entry for entry in matching_entries if entry is not None])
        return [
            entry if entry is not None and (entry.id in needs) is entry_filter.needs_me else None
            for entry in matching_entries
        ]

    def needs_of(self, entries: Sequence[InboxEntry]) -> dict[str, Need]:
        """Return what those of these entries need that still need their person, as far as the reader may see why."""
        needs = self.inbox.open_needs([entry.id for entry in entries])
        unbroken_ids = {entry.id for entry in entries if not reasons_of_event(entry.event)}
        return {one: need for one, need in needs.items() if need is not Need.BREAKING or one not in unbroken_ids}

    def _named_events_of(self, entries: Sequence[InboxEntry | None]) -> dict[str, ChangeEvent]:
        """Return the events of entries with the display names of people, by the ids of the entries."""
        shown_entries = [entry for entry in entries if entry is not None]
        events = self.inbox.named_events([entry.event for entry in shown_entries], self.visibility.sees)
        return {entry.id: event for entry, event in zip(shown_entries, events, strict=True)}

    def _entries_of_cause(self, token: CauseToken, entries: Sequence[InboxEntry | None]) -> list[InboxEntry | None]:
        """Return these entries, and None of those that a cause did not have when it was listed."""
        heads = self.inbox.heads_of([entry.id for entry in entries if entry is not None])
        ids = {head.id for head in with_visible_roots(heads, self.visibility) if token.names(head.facts)}
        return [entry if entry is not None and entry.id in ids else None for entry in entries]

    def _visible_parts_of(self, visibly_led: Sequence[InboxEntry | None]) -> list[InboxEntry | None]:
        """Return entries with what may be seen of their events and reasons."""
        if self.visibility.is_whole:
            return list(visibly_led)
        shown_entries = visible_parts(self.visibility, [entry for entry in visibly_led if entry is not None])
        visible_entries = iter(
            None if entry is None else replace(entry, reasons=self.visibility.reasons(entry.reasons))
            for entry in shown_entries
        )
        return [None if entry is None else next(visible_entries) for entry in visibly_led]

    def counts_of(self, group: str) -> tuple[int, int]:
        """Return how many notifications of a group are unread, and how many there are, of those that may be seen."""
        members = self._visible_members({group})[group]
        return sum(member.standing is Standing.UNREAD for member in members), len(members)

    def counts(self) -> TabCounts:
        """Return how many entries each tab has.

        For who may not see everything, those that may be shown count, of the first ``MOST_COUNTED``.
        """
        if self.visibility.is_whole:
            return self.inbox.counts(self.owner, self.now_ms)
        entries = self._first_entries(Tab.ALL)
        counts = {tab: len(self._first_entries(tab)) for tab in (Tab.SAVED, Tab.SNOOZED, Tab.DONE)}
        return TabCounts(
            unread_count=sum(not entry.read for entry in entries),
            unseen_count=sum(not entry.state.is_seen for entry in entries),
            total_count=len(entries),
            saved_count=counts[Tab.SAVED],
            snoozed_count=counts[Tab.SNOOZED],
            done_count=counts[Tab.DONE],
        )

    def present_ids(self, ids: Collection[str]) -> set[str]:
        """Return which of these notifications the inbox shows to the reader."""
        entries = self.inbox.entries_of(self.owner, self.now_ms, ids) if not self.visibility.is_whole else {}
        visible_entries = self._visible_parts_of(list(entries.values()))
        visible_ids = {entry.id for entry in visible_entries if entry is not None}
        return set(ids) if self.visibility.is_whole else visible_ids

    def mark(self, ids: Collection[str], mark: Mark, snooze: Snooze | None = None) -> Marked:
        """Mark the entries of these notifications, each with what the reader is shown of it, as an undo would be."""
        shown_ids = None
        if not self.visibility.is_whole:
            groups = {entry.group for entry in self.inbox.entries_of(self.owner, self.now_ms, ids).values()}
            shown_ids = {member.id for members in self._visible_members(groups).values() for member in members}
        return self.inbox.mark(self.owner, ids, mark, self.now_ms, snooze=snooze, among=shown_ids)

    def mark_matching(
        self, kind: PageOf, place: InboxCursor | None, mark: Mark, snooze: Snooze | None, *, is_dry_run: bool
    ) -> MatchingMarked:
        """Mark the next entries that a filter finds, ``MOST_MARKED`` at most, in portions; or only count them.

        Each portion is a transaction of its own, so that others need not wait for all of them. As read only what is
        unread is marked: once read, it would be found again, among what was read before.
        """
        if mark is Mark.READ and kind.tab is Tab.ALL:
            kind = replace(kind, tab=Tab.UNREAD)
        page = self.page(kind, place, MOST_MARKED)
        ids = [entry.id for entry in page.entries]
        results = [] if is_dry_run else [self.mark(chunk, mark, snooze) for chunk in chunks_of(ids, _MARKED_AT_ONCE)]
        after = kind.place_of(page.last) if page.last is not None and page.has_more else None
        return MatchingMarked(sum_of_marks(results), len(ids), after)

    def mark_all_read(self) -> int:
        """Mark as read what the inbox shows to the reader, and nothing that is hidden; return how many entries."""
        if self.visibility.is_whole:
            return self.inbox.mark_all_read(self.owner, self.now_ms).entry_count
        kind, entry_count, place = PageOf(Tab.UNREAD, through=self.inbox.reach().newest.offset), 0, None
        while page := self.inbox.page(self.owner, self.now_ms, limit=MOST_COUNTED, after=place, kind=kind):
            visible_ids = [entry.id for entry in self.visible_entries_of(page) if entry is not None]
            entry_count += self.mark(visible_ids, Mark.READ).entry_count
            place = kind.place_of(page[-1])
        return entry_count

    def mark_read(self, notification_id: str) -> None:
        """Mark an entry as read.

        Raises
        ------
        NotFound : the inbox shows no such notification to the reader
        """
        if notification_id not in self.present_ids([notification_id]):
            raise not_in_inbox(notification_id)
        if self.visibility.is_whole:
            self.inbox.mark_read(self.owner, notification_id, self.now_ms)
        else:
            self.mark([notification_id], Mark.READ)

    def _first_entries(self, tab: Tab) -> list[InboxEntry]:
        page = self.inbox.page(self.owner, self.now_ms, limit=MOST_COUNTED, kind=PageOf(tab))
        return [entry for entry in self.visible_entries_of(page) if entry is not None]

    def _led_by_visible(self, entries: Sequence[InboxEntry]) -> list[InboxEntry | None]:
        groups = {entry.group for entry in entries if entry.notification_count > 1}
        if not groups:
            return list(entries)
        members = self._visible_members(groups)
        leads = {group: many[0] for group, many in members.items() if many}
        known_ids = {entry.id for entry in entries}
        substitutes_by_id = self.inbox.entries_of(
            self.owner, self.now_ms, {lead.id for lead in leads.values() if lead.id not in known_ids}
        )
        by_id = substitutes_by_id | {entry.id: entry for entry in entries}
        return [
            entry if entry.group not in groups else _entry_led_by(by_id, leads.get(entry.group), members[entry.group])
            for entry in entries
        ]

    def _visible_members(self, groups: set[str]) -> dict[str, list[GroupedNotification]]:
        """Return the notifications of each group whose entities may be seen; parts are about their entity alone."""
        members = self.inbox.members(self.owner, self.now_ms, groups)
        references = [{"type": one.entity_type, "id": one.entity_id} for many in members.values() for one in many]
        visible_ids = self.visibility.sees(references)
        return {group: [one for one in many if one.entity_id in visible_ids] for group, many in members.items()}


def _entry_led_by(
    by_id: Mapping[str, InboxEntry], lead: GroupedNotification | None, members: Sequence[GroupedNotification]
) -> InboxEntry | None:
    """Return the entry of a group that is led by one of these; None of none, or of one that has gone meanwhile."""
    entry = by_id.get(lead.id) if lead is not None else None
    return None if entry is None else replace(entry, notification_count=len(members))
