"""Which deliveries are due, who is at them, and what became of them? Claims, leases and records.

A claim is a lease: until it ends no other worker gets the row; a worker that dies leaves rows that come
back by themselves. What is recorded counts only while the lease is still the recorder's. PostgreSQL
skips rows that another worker is claiming; SQLite has one writer at a time. Next: ``store/outbox/status.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, bindparam, exists, func, literal, select

from tocsin.flow.send.dispatch import Dispatch
from tocsin.flow.track.attempts import Finished, kind_of, reason_of
from tocsin.model.change import ChangeEvent
from tocsin.model.delivery import Delivery
from tocsin.model.notification import Reason
from tocsin.store.engine import reading, writing
from tocsin.store.outbox.status import count_in
from tocsin.store.tables import OPEN_DELIVERY, attempt, change_event, delivery, entity, notification

_COLUMNS = tuple(delivery.c[field.name] for field in fields(Delivery))


class Deliveries:
    """The deliveries of one store, as workers see them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def due_destinations(self, now_ms: int) -> list[str]:
        """Return the ids of all destinations for which something is due and free, in order.

        Walks the index of open deliveries from destination to destination: its cost follows the number
        of destinations with open deliveries, not the number of deliveries.
        """
        first = select(func.min(delivery.c.destination_id).label("id")).where(OPEN_DELIVERY).cte("d", recursive=True)
        following = (
            select(func.min(delivery.c.destination_id))
            .where(OPEN_DELIVERY, delivery.c.destination_id > first.c.id)
            .correlate(first)
            .scalar_subquery()
        )
        walk = first.union_all(select(following).where(first.c.id.is_not(None)))
        free = exists(literal(1)).where(_is_free(now_ms), delivery.c.destination_id == walk.c.id).correlate(walk)
        with reading(self._engine) as connection:
            return list(connection.execute(select(walk.c.id).where(free).order_by(walk.c.id)).scalars())

    def claim(
        self, owner: str, limit: int, *, lease_s: float, now_ms: int, shares: Mapping[str, int] | None = None
    ) -> list[Delivery]:
        """Take at most ``limit`` due deliveries for ``owner`` until ``lease_s`` from now; the longest due first.

        ``shares`` says how many of them each destination may have; without it all are due alike.
        """
        if shares is None:
            shares = dict.fromkeys(self.due_destinations(now_ms), limit)
        claimed: list[Delivery] = []
        with writing(self._engine) as connection:
            for destination_id, share in shares.items():
                room = min(share, limit - len(claimed))
                if room > 0:
                    claimed += _free_rows(connection, destination_id, room, now_ms)
            _lease(connection, owner, [one.id for one in claimed], now_ms + round(lease_s * 1000))
        return claimed

    def dispatches(self, deliveries: Sequence[Delivery]) -> list[Dispatch]:
        """Return the deliveries with the events and reasons they carry, in the same order."""
        query = (
            select(delivery.c.id, change_event.c.document, notification.c.reasons, notification.c.recipient_id)
            .add_columns(entity.c.deleted)
            .join(notification, notification.c.id == delivery.c.notification_id)
            .join(change_event, change_event.c.id == delivery.c.event_id)
            .outerjoin(entity, entity.c.id == notification.c.recipient_id)
            .where(delivery.c.id.in_([one.id for one in deliveries]))
        )
        with reading(self._engine) as connection:
            rows = {row.id: row for row in connection.execute(query)}
        return [_dispatch(one, rows[one.id]) for one in deliveries if one.id in rows]

    def renew(self, owner: str, ids: Iterable[str], *, lease_s: float, now_ms: int) -> set[str]:
        """Lengthen the leases that are still ``owner``'s to ``lease_s`` from now; return which these are."""
        with writing(self._engine) as connection:
            held = _held(connection, owner, ids)
            _lease(connection, owner, sorted(held), now_ms + round(lease_s * 1000))
        return held

    def release(self, owner: str, ids: Iterable[str]) -> None:
        """Give back what ``owner`` has not tried, so that others need not wait for the lease to end."""
        with writing(self._engine) as connection:
            _lease(connection, None, sorted(_held(connection, owner, ids)), 0)

    def record(self, owner: str, finished: Sequence[Finished], *, now_ms: int) -> set[str]:
        """Write what became of these deliveries, all in one transaction; return the ids that were written.

        A delivery whose lease somebody else holds by now is left to them.
        """
        with writing(self._engine) as connection:
            held = _held(connection, owner, (one.delivery.id for one in finished))
            ours = [one for one in finished if one.delivery.id in held]
            if ours:
                connection.execute(attempt.insert(), [_attempt_row(one) for one in ours])
                connection.execute(_STEP, [_step_row(one, now_ms) for one in ours])
                count_in(connection, ours)
        return held


_STEP = (
    delivery.update()
    .where(delivery.c.id == bindparam("delivery_id"))
    .values(
        status=bindparam("next_status"),
        attempt_count=bindparam("number"),
        due_at_ms=bindparam("next_due_at_ms"),
        lease_owner=None,
        lease_until_ms=0,
        updated_at_ms=bindparam("now_ms"),
    )
)


def _is_free(now_ms: int) -> ColumnElement[bool]:
    return and_(OPEN_DELIVERY, delivery.c.due_at_ms <= now_ms, delivery.c.lease_until_ms <= now_ms)


def _free_rows(connection: Connection, destination_id: str, limit: int, now_ms: int) -> list[Delivery]:
    query = (
        select(*_COLUMNS)
        .where(_is_free(now_ms), delivery.c.destination_id == destination_id)
        .order_by(delivery.c.due_at_ms)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return [Delivery(**row._mapping) for row in connection.execute(query)]


def _held(connection: Connection, owner: str, ids: Iterable[str]) -> set[str]:
    """Return which of ``ids`` are leased to ``owner``, locked until the transaction ends."""
    mine = and_(delivery.c.id.in_(list(ids)), delivery.c.lease_owner == owner)
    return set(
        connection.execute(select(delivery.c.id).where(mine).order_by(delivery.c.id).with_for_update()).scalars()
    )


def _lease(connection: Connection, owner: str | None, ids: Sequence[str], until_ms: int) -> None:
    if ids:
        update = delivery.update().where(delivery.c.id.in_(ids))
        connection.execute(update.values(lease_owner=owner, lease_until_ms=until_ms))


def _dispatch(claimed: Delivery, row: Row[tuple[str, str, str, str | None, bool | None]]) -> Dispatch:
    return Dispatch(
        delivery=claimed,
        event=ChangeEvent.model_validate_json(row.document),
        reasons=tuple(Reason.model_validate(reason) for reason in json.loads(row.reasons)),
        recipient_gone=row.recipient_id is not None and row.deleted is not False,
    )


def _attempt_row(one: Finished) -> dict[str, object]:
    outcome = one.attempt.outcome
    return {
        "delivery_id": one.delivery.id,
        "number": one.attempt.number,
        "started_at_ms": one.attempt.started_at_ms,
        "duration_ms": one.attempt.duration_ms,
        "outcome": kind_of(outcome),
        "reason": reason_of(outcome).value,
        "status_code": outcome.status_code,
        "detail": outcome.detail,
    }


def _step_row(one: Finished, now_ms: int) -> dict[str, object]:
    due_at_ms = one.delivery.due_at_ms if one.step.due_at_ms is None else one.step.due_at_ms
    return {
        "delivery_id": one.delivery.id,
        "next_status": one.step.status.value,
        "number": one.attempt.number,
        "next_due_at_ms": due_at_ms,
        "now_ms": now_ms,
    }
