"""Ids of the source for what is written here."""

from __future__ import annotations

from collections.abc import Callable

from tocsin.flow.capture.write import Ids


def ids_with(ids: Ids, *, entity_id: str | None = None, event_id: str | None = None, skipped: int = 0) -> Ids:
    """Return the same sources of ids, which begin with the given ones; ``event_id`` follows after some others."""

    def begin(first: str | None, later: Callable[[], str], skipped: int = 0) -> Callable[[], str]:
        waiting = [first, *[None] * skipped]
        return lambda: (waiting.pop() if waiting else None) or later()

    return Ids(begin(entity_id, ids.entity), begin(event_id, ids.event, skipped))
