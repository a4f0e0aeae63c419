"""Idempotent writes of notifications and messages to the store.

The pipeline writes a micro-batch's rows in one transaction: all of them or none. Next: ``store/outbox/messages.py``
for what is sent, ``store/outbox/inbox.py`` for in-app notifications.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Select, Table, select

from tocsin.flow.eventlog.position import BEGINNING, LogPosition
from tocsin.model.match_result import MatchResult
from tocsin.model.message import MessageStatus
from tocsin.store.alerts import match_results
from tocsin.store.alerts.firings import note_firings
from tocsin.store.engine import inserting, reading, writing
from tocsin.store.eventlog.log import check_holds, holds
from tocsin.store.tables import message, notification, pipeline_progress

_ROWS_PER_STATEMENT = 5_000
NotificationRow = Mapping[str, Any]  # Any: a row of spark/schedule.notifications, by column name


class Notifications:
    """Writes what the pipeline has decided."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(
        self, rows: Sequence[NotificationRow], results: Sequence[MatchResult] = (), *, last: LogPosition = BEGINNING
    ) -> None:
        """Store notifications, their messages and their match results (``results``) in one transaction.

        Existing rows stay unchanged, and notifications whose matches all have results already are left out.

        Raises
        ------
        LogDiverged : the log does not hold ``last``, the last event they are of: it was read from another store
        """
        with writing(self._engine) as connection:
            check_holds(connection, last)
            new = match_results.without_result(connection, rows, results)
            stored = _insert_new(connection, notification, [_notification(row) for row in new])
            _insert_new(connection, message, [_message(row) for row in new if row["message_id"]])
            pairs = [one.pair for one in results]
            note_firings(connection, pairs, [row for row in new if row["id"] in stored])
            match_results.keep(connection, results)

    def done(self, query_name: str) -> int:
        """Return the offset up to which a query is done with every event; 0 for one that never ran."""
        with reading(self._engine) as connection:
            return connection.execute(_offset_of(query_name)).scalar_one_or_none() or 0

    def holds(self, position: LogPosition) -> bool:
        """Say whether the log is the one that was read up to ``position``."""
        with reading(self._engine) as connection:
            return holds(connection, position)

    def advance(self, query_name: str, log_offset: int, *, now_ms: int, event_id: str | None = None) -> None:
        """Record that a query has processed every event up to ``log_offset``; it never decreases.

        Raises
        ------
        LogDiverged : the log does not hold ``event_id``, the last event up to there: it was read from another store
        """
        done = _offset_of(query_name)
        with writing(self._engine) as connection:
            check_holds(connection, LogPosition(log_offset if event_id else 0, event_id))
            before = connection.execute(done.with_for_update()).scalar_one_or_none() or 0
            row = {"query_name": query_name, "log_offset": max(before, log_offset), "updated_at_ms": now_ms}
            insert = inserting(connection, pipeline_progress).values(row)
            connection.execute(insert.on_conflict_do_update(index_elements=["query_name"], set_=row))


def _offset_of(query_name: str) -> Select[int]:
    return select(pipeline_progress.c.log_offset).where(pipeline_progress.c.query_name == query_name)


def _insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, object]]) -> set[str]:
    """Store the rows that are not there yet; return their ids."""
    statement = inserting(connection, table).on_conflict_do_nothing().returning(table.c.id)
    stored: set[str] = set()
    for start in range(0, len(rows), _ROWS_PER_STATEMENT):
        stored.update(connection.execute(statement, rows[start : start + _ROWS_PER_STATEMENT]).scalars())
    return stored


def _notification(row: NotificationRow) -> dict[str, object]:
    return {
        "id": row["id"],
        "event_id": row["event_id"],
        "log_offset": row["log_offset"],
        "channel": row["channel"],
        "recipient": row["key"],
        "recipient_id": row["recipient_id"],
        "reasons": row["reasons"],
        "due_at_ms": row["due_at_ms"],
        "created_at_ms": row["created_at_ms"],
        "message_id": row["message_id"],
    }


def _message(row: NotificationRow) -> dict[str, object]:
    return {
        "id": row["message_id"],
        "channel": row["channel"],
        "recipient": row["key"],
        "recipient_id": row["recipient_id"],
        "target": row["target"],
        "subscription_id": row["subscription_id"],
        "destination_id": row["destination_id"],
        "status": MessageStatus.PENDING.value,
        "attempt_count": 0,
        "due_at_ms": row["due_at_ms"],
        "wait_ms": 0,
        "created_at_ms": row["created_at_ms"],
        "updated_at_ms": row["created_at_ms"],
    }
