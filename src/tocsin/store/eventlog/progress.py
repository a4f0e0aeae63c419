"""Combined progress of the queries that read the log (``flow/eventlog/readers.py``)."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from tocsin.flow.eventlog.readers import MATCH_STREAM, READERS, STREAK_STREAM
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.tables import pipeline_progress


def processed_through(connection: Connection) -> int:
    """Return the offset up to which every reader has processed every event; one that has not begun is at 0.

    A query that reads only reports has passed everything before the next report.
    """
    progress = pipeline_progress.c
    query = select(progress.query_name, progress.log_offset).where(progress.query_name.in_(READERS))
    at = {name: int(offset) for name, offset in connection.execute(query)}
    through = at.get(MATCH_STREAM, 0)
    report = status_report.c.log_offset
    coming = select(func.min(report)).where(report > at.get(STREAK_STREAM, 0), report <= through)
    first = connection.execute(coming).scalar()
    return through if first is None else int(first) - 1
