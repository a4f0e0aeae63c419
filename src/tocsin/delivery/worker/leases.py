"""Leases of one worker: its claimed, unfinished messages, how many it claims, and until when it may rely on them.

Times are those of a monotonic clock, in seconds. A worker relies on its session for one lease from the moment it asked
to renew it; an observer counts one lease from the moment it saw the renewal, which is later. So a worker stops
relying on it before anybody else may end its session, whatever their clocks. Next: ``delivery/worker/deliver.py``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from tocsin.model.message import Message
from tocsin.model.own_address import is_of_holder
from tocsin.store.outbox.pauses import NO_PAUSES, Pauses
from tocsin.store.outbox.sessions import Session

ROOM_SHARES = 8
"""One destination may have one of so many shares of the room that is left, so that many that hang never fill it."""


class Leases:
    """Messages claimed under the present session: how many per destination, lane, channel, and their events' bytes."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._sure_until_s = float("-inf")
        self._held: dict[str, Message] = {}
        self.session_id = ""
        self.per_destination: Counter[str] = Counter()
        self.per_lane: Counter[str] = Counter()
        self.per_channel: Counter[str] = Counter()
        self.event_bytes: Counter[str] = Counter()
        self._bytes: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._held)

    def begin(self, session_id: str, *, asked_at_s: float) -> None:
        """Go on under a new session; what was held under the one before is lost."""
        self._held.clear()
        self.per_destination.clear()
        self.per_lane.clear()
        self.per_channel.clear()
        self.event_bytes.clear()
        self._bytes.clear()
        self.session_id = session_id
        self.renew(asked_at_s=asked_at_s)

    def renew(self, *, asked_at_s: float) -> None:
        """Note that the session was there when it was asked for."""
        self._sure_until_s = asked_at_s + self._lease_s

    def are_sure(self, now_s: float) -> bool:
        """Return whether nobody can have ended the session yet."""
        return now_s < self._sure_until_s

    def take(
        self, session_id: str, messages: Iterable[Message], sizes: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Add the claims of a session, unless it has ended; ``sizes`` are the bytes of their events, by message."""
        if session_id != self.session_id:
            return
        for message in messages:
            self._held[message.id] = message
            self.per_destination[message.destination_id] += 1
            self.per_lane[message.lane] += 1
            self.per_channel[message.channel] += 1
            if size := sizes.get(message.id, 0):
                self._bytes[message.id] = size
                self.event_bytes[message.lane] += size

    def drop(self, session_id: str, ids: Iterable[str]) -> None:
        """Drop finished messages from the claims of a session; unknown ids are ignored."""
        for message_id in ids if session_id == self.session_id else ():
            if (claim := self._held.pop(message_id, None)) is not None:
                self._forget(claim)

    def _forget(self, message: Message) -> None:
        self.event_bytes[message.lane] -= self._bytes.pop(message.id, 0)
        self.per_channel[message.channel] -= 1
        for counts, name in ((self.per_destination, message.destination_id), (self.per_lane, message.lane)):
            counts[name] -= 1
            if not counts[name]:
                del counts[name]
        if message.lane not in self.per_lane:
            del self.event_bytes[message.lane]

    def holds(self, session_id: str, message_id: str) -> bool:
        """Return whether the message is held under that session, as far as is known."""
        return session_id == self.session_id and message_id in self._held

    def ids(self) -> list[str]:
        """Return the ids of everything that is held."""
        return list(self._held)


class Capacity:
    """Room for messages: in memory, by the bytes of their events as JSON, and in lanes of own addresses.

    ``in_hand`` holds the bytes of each lane, ``refused`` are the messages that did not fit. As long as the room is not
    full, the first message of a lane fits whatever its size, or others could keep it out for ever. Where one does not
    fit, no later one of its lane does: small ones would pass it for ever. Of the messages to an own address, or to the
    browsers of a person, at most ``most_own`` are in hand: one that hangs must not take the place of others of its
    destination; ``counts`` hold how many are.
    """

    def __init__(
        self,
        limit: int,
        in_hand: Mapping[str, int],
        *,
        counts: Mapping[str, int] = MappingProxyType({}),
        most_own: int = 1,
    ) -> None:
        self._limit, self._taken, self._total = limit, Counter(in_hand), sum(in_hand.values())
        self._counts, self._most_own = Counter(counts), most_own
        self.refused: set[str] = set()
        self._closed: set[str] = set()

    @property
    def full_lanes(self) -> frozenset[str]:
        """The lanes of own addresses that get nothing more now."""
        return frozenset(lane for lane, count in self._counts.items() if count >= self._most_own and _is_own(lane))

    def take(self, message: Message, size: int) -> bool:
        """Return whether the events of a message fit, and take the room for them."""
        lane = message.lane
        lane_bytes, free = self._taken[lane], self._limit - self._total
        fits = free > 0 if not lane_bytes else lane_bytes + size <= free // ROOM_SHARES
        is_full = self._counts[lane] >= self._most_own and _is_own(lane)
        if lane in self._closed or is_full or not fits:
            self._closed.add(lane)
            self.refused.add(message.id)
            return False
        self._taken[lane] += size
        self._counts[lane] += 1
        self._total += size
        return True


def _is_own(lane: str) -> bool:
    channel, _, target = lane.partition(" ")
    return is_of_holder(channel, target)


class Watch:
    """What a worker has seen of all sessions, and since when each has not been renewed."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Session, float]] = {}

    def silent(self, sessions: Iterable[Session], now_s: float) -> list[Session]:
        """Return those of the sessions that were not renewed for a whole lease, seen from here."""
        self._seen = {one.id: self._sighting_of(one, now_s) for one in sessions}
        return [one for one, since_s in self._seen.values() if now_s >= since_s + one.lease_ms / 1000]

    def next_look_s(self, now_s: float) -> float:
        """Return in how many seconds the first of them may be found silent."""
        return min(
            (since_s + one.lease_ms / 1000 - now_s for one, since_s in self._seen.values()), default=float("inf")
        )

    def _sighting_of(self, session: Session, now_s: float) -> tuple[Session, float]:
        last_seen = self._seen.get(session.id)
        return last_seen if last_seen is not None and last_seen[0] == session else (session, now_s)


def fair_shares(
    due: Sequence[str],
    in_hand: Mapping[str, int],
    *,
    limit: int,
    most_each: int,
    after: str = "",
    pauses: Pauses = NO_PAUSES,
) -> dict[str, int]:
    """Return how many messages each destination may have of a claim of ``limit`` rows.

    Turns go round, one row a turn, beginning with the destination that follows ``after`` (the last one
    served); a destination with ``most_each`` rows in hand already gets none, and one that is paused at most one, its
    probe. ``due`` is in order.
    """
    start = bisect_right(due, after)
    room = {name: pauses.room(name, most_each - in_hand.get(name, 0)) for name in (*due[start:], *due[:start])}
    shares: dict[str, int] = {}
    while limit > 0 and (open_ones := [name for name, left in room.items() if left > 0]):
        turn = max(1, limit // len(open_ones))
        for name in open_ones[:limit]:
            share = min(turn, room[name])
            shares[name] = shares.get(name, 0) + share
            room[name] -= share
            limit -= share
    return shares
