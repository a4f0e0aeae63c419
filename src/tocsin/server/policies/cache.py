"""Short-lived cache of the policy revision: it queries the store a few times a second, not on every request.

Changes by this server are visible at once; those by another process at most ``TRUSTED_S`` later.
Next: ``access/permission_cache.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import Engine

from tocsin.server.login.token_cache import TRUSTED_S
from tocsin.store.catalogue.access.subjects import SqlSubjects


class CachedSubjects(SqlSubjects):
    """The subjects of a store, its revision trusted for a moment; ``changed_here`` counts changes made here."""

    def __init__(self, engine: Engine, changed_here: Callable[[], int]) -> None:
        super().__init__(engine)
        self._changed_here = changed_here
        self._last = (-1, 0.0, 0)

    def revision(self) -> int:
        """Return the store's revision, as of now or of a moment ago."""
        last_changed, until_s, revision = self._last
        changed = self._changed_here()
        if last_changed == changed and time.monotonic() < until_s:
            return revision
        revision = super().revision()
        self._last = (changed, time.monotonic() + TRUSTED_S, revision)
        return revision
