"""Ids of notifications in the order of the log; those of the events that are there keep theirs.

Revision ID: 0043_notification_ids
Revises: 0042_source_links
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0043_notification_ids"
down_revision = "0042_source_links"

_TAKEN = {
    "sqlite": "SELECT seq FROM sqlite_sequence WHERE name = 'change_event'",
    "postgresql": "SELECT last_value - (NOT is_called)::int FROM change_event_log_offset_seq",
}
_INSERT = """
INSERT INTO notification_ids (id, hashed_through)
SELECT 1, coalesce(max(log_offset), 0) FROM (
    SELECT max(log_offset) AS log_offset FROM notification UNION ALL {taken}
) AS known
"""


def upgrade() -> None:
    op.create_table(
        "notification_ids",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("hashed_through", sa.BigInteger, nullable=False),
    )
    op.execute(_INSERT.format(taken=_TAKEN[op.get_bind().dialect.name]))
