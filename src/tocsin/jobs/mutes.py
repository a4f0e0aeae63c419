"""Job of mutes: every minute, writes down which have ended by an event, deletes old ones, tells people of theirs.

A person is told before a mute ends, and when one without an end has held for a month: by a notice, so by their
preferences, at most once a day. Others may read its thread, so it does not say what is muted.
Next: ``store/recipients/mute_ends.py``.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from uuid import uuid5

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from tocsin.catalogue.feed.operations import FeedWrites
from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock, SystemClock
from tocsin.errors import Conflict, NotFound
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.model.notification import NAMESPACE
from tocsin.model.people import SYSTEM
from tocsin.model.personal_notice import notice_thread
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.mutes import Mutes

EVERY_S = 60.0
KEPT_MS = 30 * 24 * 3_600_000
"""How long a mute is kept after its end: messages that were held back meanwhile are judged by it."""

_DAY_MS = 24 * 3_600_000
_NOTICE = (
    "One of your mutes ends soon or has just ended, or has held for a month without an end. See them: tocsin mutes. "
    "Keep one longer: tocsin mute … --for 7d. End one: tocsin unmute …"
)

_LOG = structlog.get_logger(__name__)


class MutesJob:
    """The job over the store behind ``engine``."""

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        self._mutes, self._events, self._catalogue = Mutes(engine), EventLog(engine), SqlCatalogue(engine)
        self._clock = clock or SystemClock()
        self._feed = FeedWrites(Writes(self._catalogue, self._clock))

    def look(self) -> int:
        """Settle and delete what is over, and tell people of the others; return how many mutes that concerns."""
        through_offset = self._events.progress(MATCH_STREAM)
        ended_count = self._mutes.settle(through_offset)
        purged_count = self._mutes.purge(through_offset, before_ms=self._clock.now_ms() - KEPT_MS)
        if purged_count:
            _LOG.info("mutes_purged", mutes=purged_count)
        return ended_count + purged_count + self._tell()

    def _tell(self) -> int:
        now_ms = self._clock.now_ms()
        mutes = sorted(self._mutes.to_tell(now_ms), key=attrgetter("who"))
        for who, group in groupby(mutes, key=attrgetter("who")):
            own_mutes = list(group)
            self._tell_once(who, now_ms)
            self._mutes.note_told(own_mutes, now_ms)
            _LOG.info("mutes_told", user_id=who, mutes=len(own_mutes))
        return len(mutes)

    def _tell_once(self, user_id: str, now_ms: int) -> None:
        """Begin the thread of a day that mentions a person, unless it has been begun: here, or by another pipeline."""
        user = self._catalogue.reference("user", Key.by_id(user_id))
        if user is None or user.get("deleted"):
            return
        thread_id = str(uuid5(NAMESPACE, f"mute notice|{user_id}|{now_ms // _DAY_MS}"))
        try:
            self._feed.create_once(thread_id, notice_thread(user["fullyQualifiedName"], _NOTICE), actor=SYSTEM)
        except (Conflict, IntegrityError, NotFound):
            return
