"""Retention as administrators see it: settings, readers, what was removed, and a dry run of the log.

Next: ``server/routes/system/retention.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine, select

from tocsin.flow.eventlog.retention import expiries, log_days_of
from tocsin.model.retention import RetentionSettings
from tocsin.store.database.engine import reading
from tocsin.store.database.retention_tables import passed_reader
from tocsin.store.upkeep.retention.events import PREVIEW_PORTION, EventRemoval, LogPlan, RemovalCounts
from tocsin.store.upkeep.retention.policy import Holds, read_settings
from tocsin.store.upkeep.retention.progress import RetentionProgress
from tocsin.store.upkeep.retention.readers import Reader, readers_on


@dataclass(frozen=True)
class ReaderState:
    """A reader of the log; ``told_at_ms`` and the counts are 0 for one that was never too far behind."""

    reader: Reader
    told_at_ms: int = 0
    passed_count: int = 0


class RetentionOverview:
    """Retention in one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.holds, self.progress = Holds(engine), RetentionProgress(engine)

    def settings(self) -> RetentionSettings:
        """Return the settings."""
        return read_settings(self._engine)

    def readers(self, settings: RetentionSettings) -> list[ReaderState]:
        """Return the readers that are waited for, by name."""
        row = passed_reader.c
        with reading(self._engine) as connection:
            passed_readers = {one.name: one for one in connection.execute(select(passed_reader).order_by(row.name))}
            readers = readers_on(connection, needs_lake=settings.outlives_the_log())
        return [
            ReaderState(reader, passed_readers[reader.name].told_at_ms, passed_readers[reader.name].passed_count)
            if reader.name in passed_readers
            else ReaderState(reader)
            for reader in readers
        ]

    def preview(
        self, settings: RetentionSettings, *, now_ms: int, is_over: Callable[[], bool]
    ) -> tuple[RemovalCounts, bool]:
        """Return what a run would remove from the log, and whether everything was counted before ``is_over``."""
        trusted_ms, counts = self.progress.trusted_ms(now_ms), RemovalCounts()
        with reading(self._engine) as connection:
            readers = tuple(readers_on(connection, needs_lake=settings.outlives_the_log()))
        plan = LogPlan(expiries(settings.rules, log_days_of, trusted_ms), readers)
        for portion_counts in EventRemoval(self._engine, portion=PREVIEW_PORTION).preview(plan):
            counts = portion_counts
            if is_over():
                return counts, False
        return counts, True
