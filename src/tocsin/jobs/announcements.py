"""Job of announcements: every 15 seconds, tells of those whose start has come, each once.

Next: ``catalogue/feed/thread_writes.py`` (``announce``).
"""

from __future__ import annotations

import structlog
from sqlalchemy import Engine

from tocsin.catalogue.feed.operations import FeedWrites
from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock, SystemClock
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.feed.announcements import AnnouncementList

EVERY_S = 15.0
_LOG = structlog.get_logger(__name__)


class AnnouncementsJob:
    """The job over the store behind ``engine``."""

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._announcements = AnnouncementList(engine)
        self._feed = FeedWrites(Writes(SqlCatalogue(engine), self._clock))

    def look(self) -> int:
        """Tell of the announcements that begin; return how many."""
        count = sum(map(self._feed.announce, self._announcements.due(self._clock.now_ms())))
        if count:
            _LOG.info("announcements_begun", count=count)
        return count
