"""Causes of an inbox, gathered from what one reader may see of its entries.

Next: ``model/causes.py`` for the rules, ``server/routes/notifications/inbox_causes.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tocsin.model.causes import CauseGroup, CauseKind, gather_causes
from tocsin.model.inbox import MOST_COUNTED
from tocsin.model.inbox_filter import NO_FILTER, EntryFilter
from tocsin.server.access.cause_heads import with_visible_roots
from tocsin.server.access.inbox import InboxView
from tocsin.store.outbox.inbox import InboxCursor, InboxEntry, PageOf
from tocsin.store.outbox.inbox_heads import InboxHead

_MOST_IMPORTANT = ("testFailure", "runFailure", "freshness", "sla", "breaking", "deletion", "softDeletion", "creation")
"""Kinds of change, that of the headline first; then everything else."""


@dataclass(frozen=True)
class CauseEntries:
    """Entries of an inbox that have one cause, in the order of the inbox, at least one."""

    group: CauseGroup
    heads: tuple[InboxHead, ...]

    @cached_property
    def leading_head(self) -> InboxHead:
        """Return what its row shows: of a failure the latest of what failed first, else the most important."""
        return max(self.heads, key=self._rank_of)

    @property
    def is_unread(self) -> bool:
        """Return whether one of them is unread."""
        return any(not head.is_read for head in self.heads)

    def _rank_of(self, head: InboxHead) -> tuple[bool, int, int]:
        if self.group.kind is CauseKind.FAILURE:
            return head.facts.entity_id == self._root_asset, 0, head.facts.offset
        kinds = head.kinds
        places = [place for place, kind in enumerate(_MOST_IMPORTANT) if kind in kinds]
        return False, -min(places, default=len(_MOST_IMPORTANT)), head.facts.offset

    @property
    def _root_asset(self) -> str:
        """Return the asset of the root if the reader was told of it, else what they were told of first."""
        assets = {head.facts.entity_id for head in self.heads}
        root = next((one for one in self.heads[0].roots if one.incident_id == self.group.key.place), None)
        return root.entity_id if root is not None and root.entity_id in assets else self.group.events[0].entity_id

    def is_after(self, kind: PageOf, place: InboxCursor) -> bool:
        """Return whether the first of them follows a place."""
        own_place = self.place(kind)
        return (own_place.read, -(own_place.log_offset or 0)) > (place.read, -(place.log_offset or 0))

    def place(self, kind: PageOf) -> InboxCursor:
        """Return the place of the first of them."""
        return kind.place_at(self.heads[0].facts.offset, is_other=self.heads[0].is_other)


@dataclass(frozen=True)
class CauseWindow:
    """The causes of ``MOST_COUNTED`` entries at most, and the place of the last entry where more may follow."""

    causes: list[CauseEntries]
    end: InboxCursor | None


def causes_of_inbox(view: InboxView, kind: PageOf) -> list[CauseEntries]:
    """Return the causes of the first ``MOST_COUNTED`` entries that may be shown, ordered by the first entry of each."""
    return causes_after(view, kind, None).causes


def causes_after(view: InboxView, kind: PageOf, start: InboxCursor | None) -> CauseWindow:
    """Return the causes of the next ``MOST_COUNTED`` entries that may be shown after a place; None: of the first.

    What lies on both sides of that place is two causes.
    """
    heads, end = _visible_heads(view, kind, start)
    return CauseWindow(_gather(with_visible_roots(heads, view.visibility)), end)


def _gather(heads: Sequence[InboxHead]) -> list[CauseEntries]:
    groups = gather_causes(head.facts for head in heads)
    number_by_offset = {facts.offset: number for number, group in enumerate(groups) for facts in group.events}
    by_number: dict[int, list[InboxHead]] = {}
    for head in heads:
        by_number.setdefault(number_by_offset[head.facts.offset], []).append(head)
    return [CauseEntries(groups[number], tuple(many)) for number, many in by_number.items()]


def _visible_heads(
    view: InboxView, kind: PageOf, start: InboxCursor | None
) -> tuple[list[InboxHead], InboxCursor | None]:
    """Return the heads of entries that may be shown and match: without their documents where everything may be.

    With them, the place of the last entry that was looked at, where more may follow.
    """
    needs_me = kind.entry_filter.needs_me
    if start is None and view.visibility.is_whole and kind.entry_filter in (NO_FILTER, EntryFilter(needs_me=needs_me)):
        heads, is_full = view.inbox.heads(view.owner, view.now_ms, limit=MOST_COUNTED, kind=kind)
        last = heads[-1] if is_full else None
        end = kind.place_at(last.facts.offset, is_other=last.is_other) if last else None
        if needs_me is None:
            return heads, end
        needs = view.inbox.open_needs([head.id for head in heads])
        return [head for head in heads if (head.id in needs) is needs_me], end
    page = view.page(kind, start, MOST_COUNTED)
    end = kind.place_of(page.last) if page.has_more and page.last else None
    return view.inbox.heads_of([entry.id for entry in page.entries]), end


def leading_entries(view: InboxView, causes: Sequence[CauseEntries]) -> dict[str, InboxEntry]:
    """Return the entries that lead these causes, by id, as far as they may be shown now."""
    ids = [one.leading_head.id for one in causes]
    entries = view.inbox.led_entries_of(view.owner, view.now_ms, ids)
    visible_entries = view.visible_entries_of([entries[one] for one in ids if one in entries])
    return {entry.id: entry for entry in visible_entries if entry is not None}
