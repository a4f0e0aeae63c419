"""Token cache for authenticated requests: a verified token is trusted for a fraction of a second.

A token is checked against the store, which can cost more than the response. Changes that this server makes to people
invalidate the cache at once; those by another process after at most ``TRUSTED_S``. Next: ``server/login/tokens.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tocsin.model.people import Actor

TRUSTED_S = 0.2
"""How long nobody looks again."""

_MOST = 10_000


@dataclass(frozen=True)
class _Finding:
    actor: Actor
    revision: int
    until_s: float
    expires_at_ms: int | None


class TokenCache:
    """Whom the headers of the last moments belong to; ``revision`` changes whenever this process changes people."""

    def __init__(
        self, revision: Callable[[], int] = lambda: 0, *, trusted_s: float = TRUSTED_S, max_count: int = _MOST
    ) -> None:
        self._revision, self._trusted_s, self._max_count = revision, trusted_s, max_count
        self._findings: dict[str, _Finding] = {}

    def revision(self) -> int:
        """Return the revision that a finding which is about to be made will rest on."""
        return self._revision()

    def keep(self, header: str, actor: Actor, *, revision: int, expires_at_ms: int | None) -> None:
        """Remember whom a header belongs to, as found out after ``revision`` was read."""
        if len(self._findings) >= self._max_count:
            self._findings.clear()
        self._findings[header] = _Finding(actor, revision, time.monotonic() + self._trusted_s, expires_at_ms)

    def find(self, header: str | None, now_ms: int) -> Actor | None:
        """Return the person of the header; None if it is not cached."""
        finding = self._findings.get(header or "")
        if finding is None or finding.revision != self._revision() or time.monotonic() > finding.until_s:
            return None
        return None if finding.expires_at_ms is not None and finding.expires_at_ms <= now_ms else finding.actor
