"""Job of idle follows: every hour, warns people of follows that they do not use, and ends those that nobody has kept.

It does so only if ``follow_idle_days`` says after how many days. A person is warned by a notice that names what ends;
a week later, counted in days on which this job ran, it ends if it is still not used. Only follows of one's own end,
none of a team. Next: ``store/recipients/idle_follows.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

import structlog
from sqlalchemy import Engine

from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock, SystemClock
from tocsin.errors import TocsinError
from tocsin.jobs.notices import NoticeBeginning
from tocsin.model.follow_review import NEVER_TOLD, AssetFollow
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.personal_notice import NoticeKind, notice_of
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.outbox.told_counts import ToldCounts
from tocsin.store.recipients.followed_assets import FollowedAssets
from tocsin.store.recipients.idle_follows import DAY_MS, FollowPlace, IdleFollow, IdleFollows

EVERY_S = 3_600.0
PEOPLE_EACH_TIME = 1_000
"""People whose follows one run judges; the next goes on with others."""

_MOST_ENDED = 1_000
_WARNING = (
    "some of what you follow you have not used for long: it ends in a week. See it: tocsin follows --review expiring. "
    "Keep it: tocsin follow --review expiring"
)
_LOG = structlog.get_logger(__name__)


class IdleFollowsJob:
    """The job over the store behind ``engine``; with 0 ``idle_days`` nothing ends."""

    def __init__(self, engine: Engine, idle_days: int, clock: Clock | None = None) -> None:
        self._idle_days, self._clock = idle_days, clock or SystemClock()
        self._idle, self._follows, self._told = IdleFollows(engine), FollowedAssets(engine), ToldCounts(engine)
        self._writes = Writes(SqlCatalogue(engine), self._clock)
        self._notices = NoticeBeginning(engine, self._clock)
        self._after = ""

    def look(self) -> int:
        """Warn and end what is due; return how many follows that concerns."""
        if not self._idle_days:
            self._idle.forget_warnings()
            return 0
        now_ms = self._clock.now_ms()
        self._idle.count_days(now_ms)
        ended_count = sum(self._end(user_id, list(group), now_ms) for user_id, group in self._due())
        warned_count = sum(self._find_idle(user_id, now_ms) for user_id in self._next_people())
        for notice_id, user_id in self._idle.untold(PEOPLE_EACH_TIME):
            if self._notices.begin(notice_id, user_id, _WARNING):
                self._idle.note_warned(notice_id, self._clock.now_ms())
            else:
                self._idle.forget_notice(notice_id)
        return ended_count + warned_count

    def _due(self) -> Iterator[tuple[str, Iterator[FollowPlace]]]:
        return groupby(self._idle.due(_MOST_ENDED), attrgetter("user_id"))

    def _next_people(self) -> list[str]:
        people = self._idle.people(self._after, PEOPLE_EACH_TIME)
        self._after = people[-1] if len(people) == PEOPLE_EACH_TIME else ""
        return people

    def _end(self, user_id: str, places: list[FollowPlace], now_ms: int) -> int:
        """End what a person still does not use of this; the rest goes on."""
        idle_follows = {_place_of(user_id, one): one for one in self._idle_follows(user_id, now_ms)}
        ended_count = 0
        for place in places:
            followed = idle_follows.get(place)
            if followed is not None and self._idle.is_due(place):
                ended_count += self._unfollow(place, followed)
            self._idle.forget_due(place)
        if ended_count:
            _LOG.info("idle_follows_ended", user_id=user_id, follows=ended_count)
        return ended_count

    def _unfollow(self, place: FollowPlace, followed: AssetFollow) -> bool:
        asset_type = str(followed.reference["type"])
        try:
            written = self._writes.unfollow(
                asset_type, place.entity_id, place.user_id, actor=self._actor(), column=followed.column
            )
        except TocsinError:  # the asset or the person has gone meanwhile
            return False
        return written.event is not None

    def _actor(self) -> Actor:
        return replace(SYSTEM, reason=f"not used for {self._idle_days} days; the follower was warned a week before")

    def _find_idle(self, user_id: str, now_ms: int) -> int:
        """Have a person warned of what they do not use, and were not warned of; return how much that is."""
        earlier = self._idle.of(user_id)
        new_places = [
            _place_of(user_id, idle)
            for idle in self._idle_follows(user_id, now_ms)
            if not _has_notice(earlier.get((str(idle.reference["id"]), idle.column)))
        ]
        if new_places:
            notice = notice_of(NoticeKind.EXPIRING, user_id, now_ms - self._idle_days * DAY_MS, now_ms)
            self._notices.add(notice)
            self._idle.add(notice.thread_id, new_places)
        return len(new_places)

    def _idle_follows(self, user_id: str, now_ms: int) -> list[AssetFollow]:
        """Return what a person follows and has not used for the days of the setting."""
        edge_ms, earlier = now_ms - self._idle_days * DAY_MS, self._idle.of(user_id)
        unknown_since_ms = self._idle.unknown_since_ms()
        follows = self._follows.of(user_id)
        fqns = {str(one.reference["id"]): str(one.reference["fullyQualifiedName"]) for one in follows}
        counts = self._told.of(user_id, now_ms, fqns) if follows else {}
        idle_follows = []
        for follow in follows:
            key = (str(follow.reference["id"]), follow.column)
            kept_ms = (earlier[key].kept_ms if key in earlier else None) or 0
            since_ms = max(unknown_since_ms if follow.since_ms is None else follow.since_ms, kept_ms)
            if replace(follow, told_count=counts.get(key, NEVER_TOLD)).is_idle(since_ms, edge_ms):
                idle_follows.append(follow)
        return idle_follows


def _place_of(user_id: str, followed: AssetFollow) -> FollowPlace:
    return FollowPlace(user_id, str(followed.reference["id"]), followed.column or "")


def _has_notice(idle: IdleFollow | None) -> bool:
    """Return whether a notice warns of the end of a follow, or is about to."""
    return idle is not None and idle.notice_id is not None
