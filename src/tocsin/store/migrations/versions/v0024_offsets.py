"""Start offsets of followers, participants and mutes, in place of timestamps.

Where the log has the event that created the row, its offset is used; otherwise the timestamp determines it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"

_SINCE = """
UPDATE {table} SET {column} = coalesce(
    (SELECT min(log_offset) FROM change_event AS e
        WHERE e.entity_id = {table}.{entity} AND e.timestamp_ms = {table}.{ms}),
    (SELECT min(log_offset) FROM change_event AS e WHERE e.timestamp_ms >= {table}.{ms}),
    (SELECT max(log_offset) + 1 FROM change_event),
    0
) WHERE {table}.{ms} > 0
"""
_AT = """
UPDATE {table} SET {ms} = coalesce(
    (SELECT e.timestamp_ms FROM change_event AS e WHERE e.log_offset = {table}.{column}), 0
)
"""
_ROWS = (
    ("follow", "since_offset", "entity_id", "followed_at_ms"),
    ("tombstone_relation", "since_offset", "entity_id", "since_ms"),
    ("thread_part", "at_offset", "thread_id", "at_ms"),
)


def upgrade() -> None:
    """Put offsets in the place of times; a mute keeps its time, to be shown."""
    for table, column, entity, ms in _ROWS:
        op.add_column(table, sa.Column(column, sa.BigInteger, nullable=False, server_default="0"))
        op.execute(_SINCE.format(table=table, column=column, entity=entity, ms=ms))
        op.drop_column(table, ms)
    op.add_column("mute", sa.Column("since_offset", sa.BigInteger, nullable=False, server_default="0"))
    op.execute(_SINCE.format(table="mute", column="since_offset", entity="about_id", ms="since_ms"))


def downgrade() -> None:
    """Bring back the times, those of the events."""
    op.drop_column("mute", "since_offset")
    for table, column, _, ms in _ROWS:
        op.add_column(table, sa.Column(ms, sa.BigInteger, nullable=False, server_default="0"))
        op.execute(_AT.format(table=table, column=column, ms=ms))
        op.drop_column(table, column)
