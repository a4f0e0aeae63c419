"""Last heartbeat and last run of each scheduled job of the pipeline, and of what a store needs once.

Next: ``jobs/background.py``, ``server/bootstrap.py``.
"""

from __future__ import annotations

from sqlalchemy import Engine, select

from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.log_tables import scheduled_job


class ScheduledJobs:
    """Background jobs in one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def record_heartbeat(self, name: str, *, now_ms: int) -> None:
        """Record a heartbeat for this job."""
        self._note(name, "seen_at_ms", now_ms)

    def ran(self, name: str, *, now_ms: int) -> None:
        """Note that this job was done."""
        self._note(name, "ran_at_ms", now_ms)

    def seen_at_ms(self, name: str) -> int:
        """Return when a process last worked at this job (epoch milliseconds); 0 for never."""
        return self._read(name, "seen_at_ms")

    def run_times_ms(self) -> dict[str, int]:
        """Return when each job was last done (epoch milliseconds); 0 for never."""
        query = select(scheduled_job.c.name, scheduled_job.c.ran_at_ms)
        with reading(self._engine) as connection:
            return {row.name: row.ran_at_ms for row in connection.execute(query)}

    def ran_at_ms(self, name: str) -> int:
        """Return when this job was last done (epoch milliseconds); 0 for never."""
        return self._read(name, "ran_at_ms")

    def _read(self, name: str, column: str) -> int:
        query = select(scheduled_job.c[column]).where(scheduled_job.c.name == name)
        with reading(self._engine) as connection:
            return int(connection.execute(query).scalar_one_or_none() or 0)

    def _note(self, name: str, column: str, now_ms: int) -> None:
        with writing(self._engine) as connection:
            upsert = insert_into(connection, scheduled_job).values({"name": name, column: now_ms})
            connection.execute(upsert.on_conflict_do_update(index_elements=["name"], set_={column: now_ms}))
