"""Job of mutes: every minute, writes down which have ended by an event, and deletes those that ended long ago.

Next: ``store/recipients/mute_ends.py``.
"""

from __future__ import annotations

import structlog
from sqlalchemy import Engine

from tocsin.clock import Clock, SystemClock
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.mutes import Mutes

EVERY_S = 60.0
KEPT_MS = 30 * 24 * 3_600_000
"""How long a mute is kept after its end: messages that were held back meanwhile are judged by it."""

_LOG = structlog.get_logger(__name__)


class MutesJob:
    """The job over the store behind ``engine``."""

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        self._mutes, self._events = Mutes(engine), EventLog(engine)
        self._clock = clock or SystemClock()

    def look(self) -> int:
        """Settle and delete what is over; return how many mutes that concerns."""
        through_offset = self._events.progress(MATCH_STREAM)
        ended_count = self._mutes.settle(through_offset)
        purged_count = self._mutes.purge(through_offset, before_ms=self._clock.now_ms() - KEPT_MS)
        if purged_count:
            _LOG.info("mutes_purged", mutes=purged_count)
        return ended_count + purged_count
