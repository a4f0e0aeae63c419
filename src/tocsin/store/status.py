"""How does each destination fare, as the store remembers it? Rows to standings and back.

The rules stand in ``flow/track/standing.py``; the rows change inside the transaction that records the
attempts. Next: ``server/routes``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy import Column, Connection, Engine, Row, Table, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from tocsin.flow.track.attempts import Finished
from tocsin.flow.track.standing import Standing, standing_after
from tocsin.model.subscription import SubscriptionState
from tocsin.store.engine import is_sqlite, reading
from tocsin.store.tables import destination_status

_KEYS = (destination_status.c.subscription_id, destination_status.c.destination_id)
Key = tuple[str, str]


class Standings:
    """The standing of every destination of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, subscription_id: str) -> dict[str, Standing]:
        """Return the standings of a subscription's destinations by their id; none yet: no entry."""
        query = select(destination_status).where(destination_status.c.subscription_id == subscription_id)
        with reading(self._engine) as connection:
            return {row.destination_id: _standing(row) for row in connection.execute(query)}


def count_in(connection: Connection, finished: Iterable[Finished]) -> None:
    """Bring the standings up to date with these attempts, in their order; part of the caller's transaction."""
    by_key: dict[Key, list[Finished]] = {}
    for one in finished:
        by_key.setdefault((one.delivery.subscription_id, one.delivery.destination_id), []).append(one)
    known = _locked(connection, sorted(by_key))
    rows = []
    for key in sorted(by_key):
        standing = known.get(key)
        for one in by_key[key]:
            standing = standing_after(standing, one.attempt, one.step)
        if standing is not None:
            rows.append({"subscription_id": key[0], "destination_id": key[1], **asdict(standing)})
    _upsert(connection, rows)


def _locked(connection: Connection, keys: list[Key]) -> dict[Key, Standing]:
    """Return the standings at ``keys``, held against other workers until the transaction ends."""
    query = select(destination_status).where(tuple_(*_KEYS).in_(keys)).order_by(*_KEYS).with_for_update()
    return {(row.subscription_id, row.destination_id): _standing(row) for row in connection.execute(query)}


def _upsert(connection: Connection, rows: list[dict[str, object]]) -> None:
    if not rows:
        return
    insert = sqlite.insert(destination_status) if is_sqlite(connection) else postgresql.insert(destination_status)
    values = {column.name: insert.excluded[column.name] for column in _values_of(destination_status)}
    connection.execute(insert.on_conflict_do_update(index_elements=list(_KEYS), set_=values), rows)


def _values_of(table: Table) -> list[Column[Any]]:  # Any: columns of several types
    return [column for column in table.c if not column.primary_key]


def _standing(row: Row[tuple[object, ...]]) -> Standing:
    held = dict(row._mapping)
    for key in _KEYS:
        del held[key.name]
    return Standing(**{**held, "status": SubscriptionState(held["status"])})
