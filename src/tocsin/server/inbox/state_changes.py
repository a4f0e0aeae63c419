"""Changes of the states of notifications, as the store numbers them: whose inbox has changed since the last look.

Numbers may become visible out of order, so the newest are compared with those of the last look; who appears in vain is
told counts that have not changed. Next: ``server/inbox/streams.py``.
"""

from __future__ import annotations

from collections.abc import Callable

_FEW = 100
_MANY = 5_000

Changes = Callable[[int], list[tuple[str, int]]]
"""Returns so many people whose inboxes changed last, newest first, each with the number of their last change."""


class StateChanges:
    """Where a process is in the changes of all inboxes."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._last: dict[str, int] = {}

    def begin(self) -> None:
        """Begin with what changes from now on."""
        self._last = dict(self._changes(_MANY))

    def next(self) -> set[str]:
        """Return whose inboxes have changed since the last look."""
        page = self._changes(_FEW)
        people = self._people_in(page)
        if len(people) == _FEW:
            page = self._changes(_MANY)
            people = self._people_in(page)
        self._last = dict(page)
        return people

    def _people_in(self, page: list[tuple[str, int]]) -> set[str]:
        return {person for person, number in page if self._last.get(person) != number}
