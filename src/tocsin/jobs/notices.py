"""Beginning of the threads by which jobs tell one person something, each once.

Next: ``store/outbox/personal_notices.py``.
"""

from __future__ import annotations

from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from tocsin.catalogue.feed.operations import FeedWrites
from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock
from tocsin.errors import Conflict, NotFound
from tocsin.model.people import SYSTEM
from tocsin.model.personal_notice import PersonalNotice, notice_thread
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.outbox.personal_notices import PersonalNotices

_RESOLVED = [{"op": "replace", "path": "/resolved", "value": True}]


class NoticeBeginning:
    """Notices to people of the store behind ``engine``."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._catalogue, self._clock = SqlCatalogue(engine), clock
        self._feed = FeedWrites(Writes(self._catalogue, clock))
        self._notices = PersonalNotices(engine)

    def add(self, notice: PersonalNotice) -> None:
        """Store what a notice is about, before its thread begins."""
        self._notices.add(notice)

    def begin(self, thread_id: str, user_id: str, message: str, *, is_resolved: bool = False) -> bool:
        """Begin the thread of a notice, unless it has been begun; return whether there is one: of who is gone none.

        One that ``is_resolved`` needs nothing of its person.
        """
        user = self._catalogue.reference("user", Key.by_id(user_id))
        if user is None or user.get("deleted"):
            return False
        try:
            self._feed.create_once(thread_id, notice_thread(user["fullyQualifiedName"], message), actor=SYSTEM)
        except NotFound:
            return False
        except (Conflict, IntegrityError):  # another pipeline has just begun it
            return True
        if is_resolved:
            self._feed.patch(thread_id, _RESOLVED, actor=SYSTEM)
        return True
