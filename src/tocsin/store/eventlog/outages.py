"""Outages that the pipeline's queries wait out, with cause and start time, shown by the health check.

They are in the store, and in a file next to it while the store accepts no writes (``store/eventlog/outage_file.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import Engine, delete, select

from tocsin.store.database.engine import inserting, reading, writing
from tocsin.store.database.log_tables import pipeline_wait
from tocsin.store.database.tables import pipeline_progress
from tocsin.store.eventlog.outage_file import Wait, WaitNotes


@dataclass(frozen=True)
class QueryHealth:
    """Progress of a query, the time of its last report, and its wait, if any, with its start."""

    query_name: str
    log_offset: int
    updated_at_ms: int
    waits_for: str | None
    waits_since_ms: int | None


class Waits:
    """The waits in one store, and in the notes file next to it, if there are any."""

    def __init__(self, engine: Engine, notes: WaitNotes | None = None) -> None:
        self._engine, self._notes = engine, notes

    def begin(self, query_name: str, fault: str, *, since_ms: int) -> None:
        """Note that a query waits for a fault to pass."""
        if self._notes is not None:
            self._notes.begin(query_name, Wait(fault, since_ms))
        row = {"query_name": query_name, "fault": fault, "since_ms": since_ms}
        with writing(self._engine) as connection:
            insert = inserting(connection, pipeline_wait).values(row)
            connection.execute(insert.on_conflict_do_update(index_elements=["query_name"], set_=row))

    def end(self, query_name: str) -> None:
        """Note that a query works."""
        with writing(self._engine) as connection:
            connection.execute(delete(pipeline_wait).where(pipeline_wait.c.query_name == query_name))
        if self._notes is not None:
            self._notes.end(query_name)

    def health(self) -> list[QueryHealth]:
        """Return how each streaming query that ever ran fares, by name."""
        progress, wait = pipeline_progress.c, pipeline_wait.c
        query = (
            select(progress.query_name, progress.log_offset, progress.updated_at_ms, wait.fault, wait.since_ms)
            .join_from(pipeline_progress, pipeline_wait, progress.query_name == wait.query_name, isouter=True)
            .where(progress.query_name.like("%\\_stream", escape="\\"))  # others note there how far they are, too
            .order_by(progress.query_name)
        )
        with reading(self._engine) as connection:
            states = [QueryHealth(*row) for row in connection.execute(query)]
        noted = self._notes.all() if self._notes is not None else {}
        return [one if one.waits_for else _with(one, noted.get(one.query_name)) for one in states]


def _with(health: QueryHealth, wait: Wait | None) -> QueryHealth:
    return health if wait is None else replace(health, waits_for=wait.fault, waits_since_ms=wait.since_ms)
