"""Filtered pages: if some rows may not be shown, more are read until the page is full.

A log is read by offset, so a page that ends early for lack of visible entries still returns where to continue.
Next: ``server/access/permissions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tocsin.store.database.page_bytes import BoundedList

MOST_LOOKED_AT = 20_000
"""Entries one request looks at; a caller who may see hardly any of them goes on with the cursor."""

_MOST_AT_ONCE = 1_000

T = TypeVar("T")


@dataclass(frozen=True)
class Read(Generic[T]):
    """The visible entries, the last entry read (None: there was none), and whether there may be more."""

    entries: list[T]
    last: T | None
    has_more: bool


def visible_page(
    read: Callable[[T | None, int], BoundedList[T]],
    as_shown: Callable[[Sequence[T]], Sequence[T | None]],
    limit: int,
    *,
    at_once: int = 0,
    limit_read: int = MOST_LOOKED_AT,
) -> Read[T]:
    """Return a page of at most ``limit`` visible entries.

    ``read`` returns at most so many entries after one (None: from the start); fewer mean that there are no more, or
    that more would be too large for a page, which ends there.
    ``as_shown`` returns the visible part of each of many entries at once. Where few are shown, twice as many are read
    each time, at least ``at_once`` and at most 1,000 together; after ``limit_read`` entries the page ends.
    """
    visible_entries: list[T] = []
    last: T | None = None
    entry_count, count = 0, max(limit, at_once)
    while len(visible_entries) < limit:
        entries = read(last, count)
        entry_count += len(entries)
        for place, (entry, visible_entry) in enumerate(zip(entries, as_shown(entries), strict=True)):
            last = entry
            if visible_entry is not None:
                visible_entries.append(visible_entry)
            if len(visible_entries) == limit:
                return Read(
                    visible_entries, last, has_more=entries.is_cut or len(entries) == count or place + 1 < len(entries)
                )
        if entries.is_cut or len(entries) < count:
            return Read(visible_entries, last, has_more=entries.is_cut)
        if entry_count >= limit_read:
            return Read(visible_entries, last, has_more=True)
        count = min(2 * count, max(limit, _MOST_AT_ONCE), limit_read - entry_count)
    return Read(visible_entries, last, has_more=True)
