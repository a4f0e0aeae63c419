"""Status of destinations in the store: conversion between rows and ``DestinationStatus``.

The rules are in ``flow/track/destination_status.py``; the rows change inside the transaction that records the
attempts; a person may resume one that is paused or stopped. Next: ``server/routes``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, bindparam, func, select, tuple_

from tocsin.flow.track.attempts import Finished
from tocsin.flow.track.breaker import Breaker
from tocsin.flow.track.destination_status import (
    UNTRIED,
    DestinationStatus,
    concerns_destination,
    standing_after,
    standing_after_deliveries,
)
from tocsin.flow.track.failing import Failing
from tocsin.model.destination_failure import DestinationFailure
from tocsin.model.entity import Document
from tocsin.model.message import Delivered, MessageStatus
from tocsin.model.own_address import own_address_of
from tocsin.model.subscription import SubscriptionState
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.statements import Prepared
from tocsin.store.database.tables import OPEN_MESSAGE, destination_status, entity, message
from tocsin.store.outbox.pauses import probe_again

_KEYS = (destination_status.c.subscription_id, destination_status.c.destination_id)
_THESE = tuple_(*_KEYS).in_(bindparam("keys", expanding=True))
_KNOWN = select(*_KEYS).where(_THESE)
_HELD = select(destination_status).where(_THESE).order_by(*_KEYS).with_for_update()
_CHANGED = select(entity.c.id, entity.c.updated_at_ms).where(entity.c.id.in_(bindparam("ids", expanding=True)))
_CHANGE = Prepared(
    destination_status.update().where(
        destination_status.c.subscription_id == bindparam("key_subscription"),
        destination_status.c.destination_id == bindparam("key_destination"),
    ),
    [one.name for one in destination_status.c if one not in _KEYS],
)
_PLAIN = tuple(one.name for one in fields(DestinationStatus) if one.name not in ("breaker", "failing"))
_WAITING = (MessageStatus.AWAITING_RETRY.value, MessageStatus.AWAITING_REPLAY.value)
Key = tuple[str, str]
_AT = destination_status.c


class DestinationStatuses:
    """The status of every destination of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, subscription_ids: Collection[str]) -> dict[str, dict[str, DestinationStatus]]:
        """Return the standings of destinations, by subscription and destination; none yet: no entry."""
        standings: dict[str, dict[str, DestinationStatus]] = {}
        with reading(self._engine) as connection:
            for row in rows_by_key(connection, select(destination_status), _AT.subscription_id, subscription_ids):
                standings.setdefault(row.subscription_id, {})[row.destination_id] = _standing(row)
        return standings

    def resume(self, subscription_id: str, destination_id: str, *, now_ms: int) -> None:
        """Let a paused or stopped destination be sent to at once, and what awaits a retry there be due."""
        column = message.c
        of_messages = and_(column.destination_id == destination_id, column.subscription_id == subscription_id)
        waits = and_(of_messages, column.status.in_(_WAITING), column.due_at_ms > now_ms)
        with writing(self._engine) as connection:
            connection.execute(message.update().where(waits).values(due_at_ms=now_ms, wait_ms=0))
            resumed = {**_health_columns(Breaker(), Failing()), "next_attempt_ms": None}
            of_status = _is_of(subscription_id, destination_id)
            connection.execute(destination_status.update().where(of_status).values(**resumed))

    def unreported_failures(self) -> list[DestinationFailure]:
        """Return the failures that are not reported yet, oldest first."""
        query = select(
            _AT.subscription_id,
            _AT.destination_id,
            _AT.failing_since_ms.label("since_ms"),
            _AT.failing_percent.label("percent"),
            _AT.failing_count.label("count"),
            _AT.last_failed_reason.label("last_reason"),
            _AT.last_failed_status_code.label("last_status_code"),
        )
        unreported_query = query.where(_AT.failing_percent > _AT.reported_percent).order_by(_AT.failing_since_ms)
        with reading(self._engine) as connection:
            return [DestinationFailure(**row._mapping) for row in connection.execute(unreported_query)]

    def mark_reported(self, failure: DestinationFailure) -> None:
        """Note that a failure was reported, unless another streak has begun since."""
        same = _is_of(failure.subscription_id, failure.destination_id) & (_AT.failing_since_ms == failure.since_ms)
        with writing(self._engine) as connection:
            connection.execute(destination_status.update().where(same).values(reported_percent=failure.percent))


def count_in(connection: Connection, finished: Sequence[Finished], *, now_ms: int) -> None:
    """Bring the standings up to date with these attempts, in their order; part of the caller's transaction.

    An attempt counts for every destination whose reason it carried: alerts that agree share one message. A probe that
    was not sent leaves the next one due.
    """
    if unsent := [result for result in finished if result.is_probe and not concerns_destination(result.attempt)]:
        probe_again(
            connection, {(result.message.subscription_id, result.message.destination_id) for result in unsent}, now_ms
        )
    by_key: dict[Key, list[Finished]] = {}
    for result in finished:
        is_own = own_address_of(result.message.target) is not None  # the address of one person pauses nobody else's
        for key in _destination_keys(result) if concerns_destination(result.attempt) and not is_own else ():
            by_key.setdefault(key, []).append(result)
    # When each alert was last changed, by the clock of its writer.
    changed_rows = connection.execute(_CHANGED, {"ids": list({subscription_id for subscription_id, _ in by_key})})
    changed_at_ms = {row.id: row.updated_at_ms for row in changed_rows}
    standing_rows: list[Document] = []
    for key, before in _lock_statuses(connection, sorted(by_key)).items():
        standing = _standing_after_all(before, by_key[key], changed_at_ms.get(key[0]))
        standing_rows.append({"key_subscription": key[0], "key_destination": key[1], **_columns(standing)})
    if standing_rows:
        _CHANGE.run_for(connection, standing_rows)


def _standing_after_all(
    before: DestinationStatus, finished: Sequence[Finished], configured_at_ms: int | None
) -> DestinationStatus:
    """Return a destination's status after attempts, in their order; deliveries that follow each other count at once."""
    standing = before
    for (has_delivered, channel), results in groupby(finished, key=_delivery_and_channel):
        if has_delivered:
            times_ms = [one.attempt.started_at_ms + one.attempt.duration_ms for one in results]
            standing = standing_after_deliveries(standing, times_ms, channel=channel, configured_at_ms=configured_at_ms)
            continue
        for result in results:
            standing = standing_after(
                standing, result.attempt, result.step, channel=channel, configured_at_ms=configured_at_ms
            )
    return standing


def _delivery_and_channel(finished: Finished) -> tuple[bool, str]:
    return isinstance(finished.attempt.outcome, Delivered), finished.message.channel


def plan_again(connection: Connection, now_ms: int) -> None:
    """Update the next attempts of all destinations to those of their messages, which were rescheduled."""
    status = destination_status.c
    of_destination = and_(
        message.c.subscription_id == status.subscription_id, message.c.destination_id == status.destination_id
    )
    next_ms = select(func.min(message.c.due_at_ms)).where(of_destination, OPEN_MESSAGE).scalar_subquery()
    late = destination_status.update().where(status.next_attempt_ms > now_ms)
    connection.execute(late.values(next_attempt_ms=func.coalesce(next_ms, status.next_attempt_ms)))


def _destination_keys(finished: Finished) -> set[Key]:
    """Return the destinations whose reasons the message carried; the one it was claimed under if none are known."""
    carried = {reason.destination_key for entry in finished.entries for reason in entry.reasons}
    return carried or {(finished.message.subscription_id, finished.message.destination_id)}


def _lock_statuses(connection: Connection, keys: list[Key]) -> dict[Key, DestinationStatus]:
    """Return the standings at ``keys``, held against other workers until the transaction ends.

    Rows that are not there yet are made first: what does not exist cannot be held. Nothing is held before that: who
    waits for a row that another worker makes must hold none that this one needs.
    """
    if not keys:
        return {}
    known_keys = {tuple(row) for row in connection.execute(_KNOWN, {"keys": keys})}
    if new := [one for one in keys if one not in known_keys]:
        new_rows = [{"subscription_id": one[0], "destination_id": one[1], **_columns(UNTRIED)} for one in new]
        connection.execute(insert_into(connection, destination_status).on_conflict_do_nothing(), new_rows)
    status_rows = connection.execute(_HELD, {"keys": keys})
    return {(row.subscription_id, row.destination_id): _standing(row) for row in status_rows}


def _columns(standing: DestinationStatus) -> dict[str, object]:
    plain = {name: getattr(standing, name) for name in _PLAIN}
    return plain | _health_columns(standing.breaker, standing.failing)


def _health_columns(breaker: Breaker, failing: Failing) -> dict[str, object]:
    return {
        "recent_attempts": json.dumps(breaker.slices) if breaker.slices else None,
        "opened_at_ms": breaker.opened_at_ms,
        "probe_at_ms": breaker.probe_at_ms,
        "failing_since_ms": failing.since_ms,
        "failing_count": failing.count,
        "failing_percent": failing.percent,
        "reported_percent": failing.reported_percent,
        "stopped_at_ms": failing.stopped_at_ms,
    }


def _standing(row: Row[*tuple[Any, ...]]) -> DestinationStatus:  # Any: a column's value
    values = dict(row._mapping)
    slices = tuple((begin, total, bad) for begin, total, bad in json.loads(values["recent_attempts"] or "[]"))
    breaker = Breaker(slices, values["opened_at_ms"], values["probe_at_ms"])
    failing = Failing(
        since_ms=values["failing_since_ms"],
        count=values["failing_count"],
        percent=values["failing_percent"],
        reported_percent=values["reported_percent"],
        stopped_at_ms=values["stopped_at_ms"],
    )
    plain = {name: values[name] for name in _PLAIN}
    return DestinationStatus(
        **{**plain, "status": SubscriptionState(values["status"])}, breaker=breaker, failing=failing
    )


def _is_of(subscription_id: str, destination_id: str) -> ColumnElement[bool]:
    return and_(_AT.subscription_id == subscription_id, _AT.destination_id == destination_id)
