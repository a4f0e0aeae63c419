"""Numbers of an inbox beside those of its tabs: entries that need their person, and entries of each kind of change.

They are those of what the reader may see, and what the filters of the same names find.
Next: ``server/inbox/entry_filters.py``.
"""

from __future__ import annotations

from collections import Counter

from tocsin.model.inbox import MOST_COUNTED, Tab
from tocsin.model.inbox_filter import FILTER_KINDS, EntryFilter
from tocsin.server.access.inbox import InboxView
from tocsin.server.inbox.entry_filters import shown_kinds
from tocsin.store.outbox.inbox import PageOf

_NEEDS_ME = PageOf(entry_filter=EntryFilter(needs_me=True))


def needs_count(view: InboxView) -> int:
    """Return how many entries still need their person, at most ``MOST_COUNTED``."""
    if not view.visibility.is_whole:
        return view.matching_count(_NEEDS_ME)
    ids = view.inbox.ids_of(view.owner, view.now_ms, limit=MOST_COUNTED, kind=_NEEDS_ME)
    return len(view.inbox.open_needs(ids))


def kind_counts(view: InboxView, tab: Tab) -> dict[str, int]:
    """Return how many of the first ``MOST_COUNTED`` entries of a tab are of each kind; without kinds of none."""
    if view.visibility.is_whole:
        kinds = view.inbox.kinds(view.owner, view.now_ms, limit=MOST_COUNTED, kind=PageOf(tab))
    else:
        kinds = [frozenset(shown_kinds(entry.event)) for entry in view.page(PageOf(tab), None, MOST_COUNTED).entries]
    counts = Counter(kind for of_entry in kinds for kind in of_entry)
    return {kind: counts[kind] for kind in FILTER_KINDS if counts[kind]}
