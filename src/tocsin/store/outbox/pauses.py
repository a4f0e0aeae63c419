"""Paused destinations, as workers see them: which wait, and which of them may be probed now.

A probe begins in the transaction that claims its message, so that no two workers probe at once.
Next: ``store/outbox/messages.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    Select,
    and_,
    bindparam,
    exists,
    or_,
    select,
    tuple_,
)

from tocsin.flow.track.breaker import PROBE_LIMIT_MS
from tocsin.store.database.engine import reading
from tocsin.store.database.statements import Prepared
from tocsin.store.database.tables import OPEN_BREAKER, destination_status, entity

_AT = destination_status.c
_KEYS = (_AT.subscription_id, _AT.destination_id)


@dataclass(frozen=True)
class Pauses:
    """The ids of paused destinations: ``waiting`` get nothing now, ``probed`` one message.

    ``full_lanes`` are lanes (``Message.lane``) of own addresses that get nothing now.
    """

    waiting: frozenset[str] = frozenset()
    probed: frozenset[str] = frozenset()
    full_lanes: frozenset[str] = frozenset()

    def __contains__(self, destination_id: object) -> bool:
        return destination_id in self.waiting or destination_id in self.probed

    def room(self, destination_id: str, count: int) -> int:
        """Return how many of ``count`` messages a destination may have."""
        if destination_id in self.waiting:
            return 0
        return 1 if destination_id in self.probed else count


NO_PAUSES = Pauses()


def pauses_at(engine: Engine, now_ms: int) -> Pauses:
    """Return the destinations that are paused now.

    An id that a destination of another alert has as well is not paused: nobody pauses what is another person's.
    """
    with reading(engine) as connection:
        paused = _PAUSED.run(connection, {"now_ms": now_ms}).fetchall()
    probed = frozenset(destination_id for destination_id, is_due in paused if is_due)
    return Pauses(frozenset(destination_id for destination_id, _ in paused) - probed, probed)


def begin_probe(connection: Connection, destination_id: str, now_ms: int) -> bool:
    """Begin a probe of a paused destination, unless another process has; part of the caller's transaction.

    It does not wait: the holder of the row records an attempt or begins a probe, and may wait for another row of the
    caller's.
    """
    due_probe = and_(_AT.destination_id == destination_id, OPEN_BREAKER, _is_due(now_ms))
    free_destinations = select(*_KEYS).where(due_probe).with_for_update(skip_locked=True, of=destination_status)
    if not (keys := [(row.subscription_id, row.destination_id) for row in connection.execute(free_destinations)]):
        return False
    probe_start = (
        destination_status.update().where(tuple_(*_KEYS).in_(keys)).values(probe_at_ms=now_ms + PROBE_LIMIT_MS)
    )
    connection.execute(probe_start)
    return True


def probe_again(connection: Connection, keys: Iterable[tuple[str, str]], now_ms: int) -> None:
    """Let destinations be probed at once whose probe was not sent; part of the caller's transaction."""
    to_probe = and_(tuple_(*_KEYS).in_(list(keys)), OPEN_BREAKER)
    connection.execute(select(*_KEYS).where(to_probe).order_by(*_KEYS).with_for_update())  # in one order: no deadlock
    connection.execute(destination_status.update().where(to_probe).values(probe_at_ms=now_ms))


def _is_due(now_ms: int | ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition for a probe to be due; what is later than any is was planned by a clock that is wrong.

    A destination that is stopped is not probed unless its alert has been changed since.
    """
    changed_at_ms = select(entity.c.updated_at_ms).where(entity.c.id == _AT.subscription_id).scalar_subquery()
    may_resume = or_(_AT.stopped_at_ms.is_(None), _AT.configured_at_ms.is_distinct_from(changed_at_ms))
    is_time = or_(_AT.probe_at_ms.is_(None), _AT.probe_at_ms <= now_ms, _AT.probe_at_ms > now_ms + PROBE_LIMIT_MS)
    return and_(may_resume, is_time)


def _select_paused() -> Select[tuple[str, bool]]:
    namesake = destination_status.alias()
    is_shared = exists().where(
        namesake.c.destination_id == _AT.destination_id,
        namesake.c.subscription_id != _AT.subscription_id,
        namesake.c.opened_at_ms.is_(None),
    )
    return select(_AT.destination_id, _is_due(bindparam("now_ms", type_=BigInteger))).where(OPEN_BREAKER, ~is_shared)


_PAUSED = Prepared(_select_paused())
