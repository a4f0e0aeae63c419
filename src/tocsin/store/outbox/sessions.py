"""Worker sessions: each holds its worker's claims until it is ended.

A worker renews its session by incrementing its heartbeat counter. No other machine's clock decides when a session has
expired: an observer that sees the same counter for a whole lease, by its own monotonic clock, ends the session
(``delivery/worker/leases.py``), if the counter is still the same. Next: ``store/outbox/messages.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Delete, Engine, delete, exists, literal, or_, select

from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.tables import message, worker_session

_AT = worker_session.c
UNCLAIMED = or_(
    message.c.lease_owner.is_(None), ~exists(literal(1)).where(_AT.id == message.c.lease_owner).correlate(message)
)
"""Whether no session holds a message."""


@dataclass(frozen=True)
class Session:
    """A worker's session: how often it was renewed, and how long it is valid without renewal."""

    id: str
    lease_ms: int
    beat: int


class Sessions:
    """The sessions of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begin(self, session_id: str, *, lease_ms: int, now_ms: int) -> None:
        """Begin a session; beginning it again changes nothing."""
        row = {"id": session_id, "lease_ms": lease_ms, "beat": 0, "renewed_at_ms": now_ms}
        with writing(self._engine) as connection:
            connection.execute(insert_into(connection, worker_session).values(row).on_conflict_do_nothing())

    def renew(self, session_id: str, *, now_ms: int) -> bool:
        """Increment the session's heartbeat; say whether it still existed. ``now_ms`` is informational."""
        change = worker_session.update().where(_AT.id == session_id)
        with writing(self._engine) as connection:
            return connection.execute(change.values(beat=_AT.beat + 1, renewed_at_ms=now_ms)).rowcount > 0

    def all(self) -> list[Session]:
        """Return all sessions, in the order of their ids."""
        with reading(self._engine) as connection:
            session_rows = connection.execute(select(_AT.id, _AT.lease_ms, _AT.beat).order_by(_AT.id))
            return [Session(**row._mapping) for row in session_rows]

    def end(self, session_id: str) -> None:
        """End a session: all that it held is free."""
        with writing(self._engine) as connection:
            connection.execute(delete(worker_session).where(_AT.id == session_id))

    def end_silent(self, silent: Iterable[Session]) -> list[str]:
        """End those of the sessions that were not renewed since they were seen; return their ids."""
        with writing(self._engine) as connection:
            return [one.id for one in silent if connection.execute(_deletion_of(one)).rowcount > 0]


def _deletion_of(session: Session) -> Delete:
    return delete(worker_session).where(_AT.id == session.id, _AT.beat == session.beat)
