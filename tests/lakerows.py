"""Events of a lake and its log, in the order of the log, for tests."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row

from tocsin.jobs.lake import LakeParts
from tocsin.spark.lake import history, log_events


def rows(events: DataFrame) -> list[Row]:
    """Return events as rows."""
    return sorted(events.collect(), key=lambda row: row.log_offset)


def all_log_rows(parts: LakeParts) -> list[Row]:
    """Return every event of the log."""
    return rows(log_events(parts.session, parts.place, 0, parts.log.readable_end()))


def read_rows(parts: LakeParts) -> list[Row]:
    """Return every event of lake and log together."""
    return rows(history(parts.session, parts.place, parts.extent()))
