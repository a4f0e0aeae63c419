"""How does a page stay full when some of what is read may not be shown? Reading on until it is.

A log is read by place, so a page that ends early for want of visible entries still says where to go on.
Next: ``server/permissions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

MOST_LOOKED_AT = 20_000
"""Entries one request looks at; whoever may see hardly any of them goes on with the cursor."""

T = TypeVar("T")


@dataclass(frozen=True)
class Read(Generic[T]):
    """What may be shown, the last entry that was looked at (None: there was none), and whether there may be more."""

    entries: list[T]
    last: T | None
    has_more: bool


def visible_page(read: Callable[[T | None, int], Sequence[T]], may_show: Callable[[T], bool], limit: int) -> Read[T]:
    """Return a page of at most ``limit`` entries that may be shown.

    ``read`` gives at most so many entries after one (None: from the start); fewer mean that there are no more.
    """
    shown: list[T] = []
    last: T | None = None
    looked_at = 0
    while len(shown) < limit:
        wanted = limit - len(shown) if looked_at == 0 else max(limit - len(shown), min(limit, 1_000))
        entries = read(last, wanted)
        looked_at += len(entries)
        for place, entry in enumerate(entries):
            last = entry
            if may_show(entry):
                shown.append(entry)
            if len(shown) == limit:
                return Read(shown, last, has_more=len(entries) == wanted or place + 1 < len(entries))
        if len(entries) < wanted:
            return Read(shown, last, has_more=False)
        if looked_at >= MOST_LOOKED_AT:
            return Read(shown, last, has_more=True)
    return Read(shown, last, has_more=True)
