"""Limits of what is written: by each person per hour, and by each bot per minute as events of other systems.

What is used up is answered 429 until the next hour or minute; one write is never cut in two. Each process counts for
itself, so that counting writes nothing. Administrators and bots write as much as they like by requests.
Next: ``flow/capture/bounds.py``, ``server/routes/ingest.py``.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tocsin.clock import Clock
from tocsin.errors import TooManyRequests
from tocsin.model.people import Actor
from tocsin.model.stored import CapturedEvent

_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000
_MINUTE_S = 60


@dataclass
class _Written:
    events: int = 0
    size: int = 0


class PersonalWriteCounts:
    """What people have written in this hour in one process, and how much they may."""

    def __init__(self, clock: Clock, *, most_events: int, most_bytes: int) -> None:
        self._clock, self._most_events, self._most_bytes = clock, most_events, most_bytes
        self._lock = threading.Lock()
        self._hour, self._written = 0, defaultdict[str, _Written](_Written)

    def check(self, actor: Actor) -> None:
        """Refuse one more write of a person who has used up this hour's.

        Raises
        ------
        TooManyRequests : this hour's quota is used up; it says until when
        """
        if actor.is_admin or actor.is_bot:
            return
        now_ms = self._clock.now_ms()
        counts = self._counts_of(actor, now_ms)
        if counts.events >= self._most_events or counts.size >= self._most_bytes:
            wait_s = (_HOUR_MS - now_ms % _HOUR_MS + 999) // 1000
            raise TooManyRequests(
                f"At most {self._most_events} changes (events_per_person_per_hour) with {self._most_bytes} bytes"
                f" in total (event_bytes_per_person_per_hour) per hour; try again in {-(-wait_s // _MINUTE_S)}"
                " min.",
                retry_after_s=wait_s,
            )

    def add(self, actor: Actor, events: Sequence[CapturedEvent]) -> None:
        """Count what a person has written."""
        if actor.is_admin or actor.is_bot:
            return
        size = sum(len(one.event.to_json()) for one in events)
        now_ms = self._clock.now_ms()
        with self._lock:
            counts = self._counts_of(actor, now_ms)
            counts.events += len(events)
            counts.size += size

    def _counts_of(self, actor: Actor, now_ms: int) -> _Written:
        if self._hour != (hour := now_ms // _HOUR_MS):
            self._hour, self._written = hour, defaultdict(_Written)
        return self._written[actor.id]


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
