"""Truncation of a store's end, as after failover to a lagging standby."""

from __future__ import annotations

from sqlalchemy import Engine, delete, update

from tocsin.store.database.schema import METADATA
from tocsin.store.database.tables import pipeline_progress


def lose(engine: Engine, after: int) -> None:
    """Take what comes after an offset out of the store; the next event gets the offset after that."""
    log_tables = [
        table for table in METADATA.sorted_tables if "log_offset" in table.c and table is not pipeline_progress
    ]
    with engine.begin() as connection:
        for table in log_tables:
            connection.execute(delete(table).where(table.c.log_offset > after))
        behind = update(pipeline_progress).where(pipeline_progress.c.log_offset > after)
        connection.execute(behind.values(log_offset=after))
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("UPDATE sqlite_sequence SET seq = ? WHERE name = 'change_event'", (after,))
        else:
            connection.exec_driver_sql(f"SELECT setval('change_event_log_offset_seq', {after})")
