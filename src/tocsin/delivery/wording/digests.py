"""Words for messages of several notifications, common to all channels for people.

Next: ``delivery/channels``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.delivery.wording.changes import asset_of
from tocsin.model import fqn
from tocsin.model.message import Entry

_NAMES_LIMIT = 3
_HIDDEN = "another asset"


def digest_headline(entries: Sequence[Entry]) -> str:
    """Return how many changes there are, and of what: ``12 changes: orders, revenue, sales and 4 more``.

    What follows a failure upstream is counted apart: ``12 failures downstream of orders; 1 change: orders``.
    """
    roots = {entry.notification_id: _root(entry) for entry in entries}
    root_names = {root for root in roots.values() if root is not None}
    if len(root_names) != 1:
        return _count_text(entries)
    other_entries = [entry for entry in entries if roots[entry.notification_id] is None]
    count = len(entries) - len(other_entries)
    failures = "1 failure" if count == 1 else f"{count:,} failures"
    failures_text = f"{failures} downstream of {fqn.split(root_names.pop())[-1]}"
    return f"{failures_text}; {_count_text(other_entries)}" if other_entries else failures_text


def _root(entry: Entry) -> str | None:
    """Return the full name of the asset upstream whose failure a notification follows; None if it follows none."""
    names = (one.downstream_of for one in entry.reasons)
    return next((name or _HIDDEN for name in names if name is not None), None)


def _count_text(entries: Sequence[Entry]) -> str:
    names = list(dict.fromkeys(asset_of(one.event).name for one in entries))
    more_text = f" and {len(names) - _NAMES_LIMIT:,} more" if len(names) > _NAMES_LIMIT else ""
    count = "1 change" if len(entries) == 1 else f"{len(entries):,} changes"
    return f"{count}: {', '.join(names[:_NAMES_LIMIT])}{more_text}"
