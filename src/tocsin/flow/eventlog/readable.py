"""The readable end of the log on PostgreSQL: a lower offset may commit after a higher one there.

A writer *announces* itself before it takes offsets: it reads the sequence's current value and holds a shared
advisory lock on that number until its transaction ends. Every offset it takes is above the number. A reader
first reads the sequence's value, then the announcements that are held, and may go up to the lowest of all.

Why that is enough: say a writer took an offset no higher than the end a reader found. It took it before the
reader read the sequence, so it had announced itself before the reader looked at the locks. Either the lock was
still held, and then the end is below its offset; or the transaction had ended, and then what it committed is
visible to every later statement (PostgreSQL makes a commit visible before it releases the locks). Nobody ever
waits for these locks, and a transaction that does not write to the log delays no reader.

The SQL is shared by both readers of the log: ``store/eventlog/log.py`` and ``spark/sources.py``.
"""

from __future__ import annotations

POSTGRESQL_TAKE = """
WITH announced AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared((28869::bigint << 48) | (last_value - (NOT is_called)::int))::text AS held
    FROM change_event_log_offset_seq
)
SELECT nextval('change_event_log_offset_seq'), held FROM announced, generate_series(1, :count)
"""
"""Announces a writer, then takes ``:count`` offsets, one a row. 28869 distinguishes our locks from other programs'."""

POSTGRESQL_ANNOUNCE = """
SELECT last_value - (NOT is_called)::int, pg_advisory_xact_lock_shared(
    (28869::bigint << 48) | (last_value - (NOT is_called)::int)
)::text
FROM change_event_log_offset_seq
"""
"""Announces a writer that takes no offset: no reader passes the number before its transaction has ended."""

POSTGRESQL_TAKEN = "SELECT last_value - (NOT is_called)::int FROM change_event_log_offset_seq"
"""The highest offset that was taken, whether its writer has committed or not."""

# Only locks below `taken` are read, so PostgreSQL must have read the sequence before them.
POSTGRESQL_END = """
WITH sequence AS MATERIALIZED (
    SELECT last_value - (NOT is_called)::int AS taken FROM change_event_log_offset_seq
)
SELECT least(taken, (
    SELECT min(number & ((1::bigint << 48) - 1))
    FROM (
        SELECT (classid::bigint << 32) | objid::bigint AS number
        FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) AS lock
    WHERE number >> 48 = 28869 AND number & ((1::bigint << 48) - 1) < taken
))
FROM sequence
"""
"""The highest offset a reader may pass; read the events themselves in a later statement."""
