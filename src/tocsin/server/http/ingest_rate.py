"""Rate limit of events of other systems: how many each bot may send per minute.

Kept by each process for itself. Next: ``server/routes/ingest.py``.
"""

from __future__ import annotations

import threading
from collections import defaultdict

from tocsin.clock import Clock
from tocsin.errors import TooManyRequests

_MINUTE_MS = 60_000


class IngestRate:
    """What bots have sent in this minute."""

    def __init__(self, clock: Clock, limit: int) -> None:
        self._clock, self._limit = clock, limit
        self._lock = threading.Lock()
        self._minute, self._counts = 0, defaultdict[str, int](int)

    def take(self, bot_id: str, count: int) -> None:
        """Count events that a bot sends.

        Raises
        ------
        TooManyRequests : they are more than are left of this minute's; none is counted
        """
        now_ms = self._clock.now_ms()
        with self._lock:
            if self._minute != (minute := now_ms // _MINUTE_MS):
                self._minute, self._counts = minute, defaultdict(int)
            if self._counts[bot_id] + count > self._limit:
                wait_s = (_MINUTE_MS - now_ms % _MINUTE_MS + 999) // 1000
                raise TooManyRequests(
                    f"At most {self._limit} events per minute (ingest_events_per_minute); try again in {wait_s} s.",
                    retry_after_s=wait_s,
                )
            self._counts[bot_id] += count
