"""Leases of one worker: its claimed, unfinished messages, and the time until which it may rely on them.

Times are those of a monotonic clock, in seconds. A worker relies on its session for one lease from the moment it asked
to renew it; an observer counts one lease from the moment it saw the renewal, which is later. So a worker stops
relying on it before anybody else may end its session, whatever their clocks. Next: ``worker/deliver.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tocsin.model.message import Message
from tocsin.store.outbox.sessions import Session


class Leases:
    """The messages claimed under the worker's present session, counted per destination."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._sure_until_s = float("-inf")
        self._held: dict[str, Message] = {}
        self.session_id = ""
        self.per_destination: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._held)

    def begin(self, session_id: str, *, asked_at_s: float) -> None:
        """Go on under a new session; what was held under the one before is lost."""
        self._held.clear()
        self.per_destination.clear()
        self.session_id = session_id
        self.renew(asked_at_s=asked_at_s)

    def renew(self, *, asked_at_s: float) -> None:
        """Note that the session was there when it was asked for."""
        self._sure_until_s = asked_at_s + self._lease_s

    def are_sure(self, now_s: float) -> bool:
        """Return whether nobody can have ended the session yet."""
        return now_s < self._sure_until_s

    def take(self, session_id: str, messages: Iterable[Message]) -> None:
        """Add the claims of a session, unless it has ended."""
        if session_id != self.session_id:
            return
        for message in messages:
            self._held[message.id] = message
            self.per_destination[message.destination_id] += 1

    def drop(self, session_id: str, ids: Iterable[str]) -> None:
        """Drop finished messages from the claims of a session; unknown ids are ignored."""
        for one in ids if session_id == self.session_id else ():
            if (held := self._held.pop(one, None)) is not None:
                name = held.destination_id
                self.per_destination[name] -= 1
                if not self.per_destination[name]:
                    del self.per_destination[name]

    def holds(self, session_id: str, message_id: str) -> bool:
        """Return whether the message is held under that session, as far as is known."""
        return session_id == self.session_id and message_id in self._held

    def ids(self) -> list[str]:
        """Return the ids of everything that is held."""
        return list(self._held)


class Watch:
    """What a worker has seen of all sessions, and since when each has not been renewed."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Session, float]] = {}

    def silent(self, sessions: Iterable[Session], now_s: float) -> list[Session]:
        """Return those of the sessions that were not renewed for a whole lease, seen from here."""
        self._seen = {one.id: self._since(one, now_s) for one in sessions}
        return [one for one, since_s in self._seen.values() if now_s >= since_s + one.lease_ms / 1000]

    def next_look_s(self, now_s: float) -> float:
        """Return in how many seconds the first of them may be found silent."""
        return min(
            (since_s + one.lease_ms / 1000 - now_s for one, since_s in self._seen.values()), default=float("inf")
        )

    def _since(self, session: Session, now_s: float) -> tuple[Session, float]:
        seen = self._seen.get(session.id)
        return seen if seen is not None and seen[0] == session else (session, now_s)
