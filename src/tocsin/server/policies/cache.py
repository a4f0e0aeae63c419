"""Short-lived cache of the policy revision: the store is asked a few times a second, not on every request.

Changes by this server are visible at once; those by another process at most ``TRUSTED_S`` later.
Next: ``access/permission_cache.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping

from tocsin.access.permission_cache import Subjects
from tocsin.access.rules import Policy
from tocsin.access.subject import Subject
from tocsin.server.login.token_cache import TRUSTED_S


class PolicyCache:
    """The subjects of a store, its revision trusted for a moment; ``changed_here`` counts changes made here."""

    def __init__(self, subjects: Subjects, changed_here: Callable[[], int]) -> None:
        self._subjects, self._changed_here = subjects, changed_here
        self._last = (-1, 0.0, 0)

    def revision(self) -> int:
        """Return the store's revision, as of now or of a moment ago."""
        last_changed, until_s, revision = self._last
        changed = self._changed_here()
        if last_changed == changed and time.monotonic() < until_s:
            return revision
        revision = self._subjects.revision()
        self._last = (changed, time.monotonic() + TRUSTED_S, revision)
        return revision

    def subjects(self, user_ids: Collection[str]) -> Mapping[str, Subject]:
        """Return the people and bots of those ids."""
        return self._subjects.subjects(user_ids)

    def stranger(self) -> Subject:
        """Return what everybody is at least."""
        return self._subjects.stranger()

    def policies(self) -> Iterable[Policy]:
        """Return all policies."""
        return self._subjects.policies()

    def policies_in_use(self) -> Collection[str]:
        """Return the ids of the policies that some team or role has."""
        return self._subjects.policies_in_use()
