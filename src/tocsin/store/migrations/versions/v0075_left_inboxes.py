"""When notifications left the inbox of their person, after the days that the person has chosen.

Revision ID: 0075_left_inboxes
Revises: 0074_events_by_actor
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0075_left_inboxes"
down_revision = "0074_events_by_actor"

_INDEXES = (
    (
        "ix_notification_read",
        ("recipient_id", "log_offset", "read_at_ms", "done_at_ms", "snoozed_until_ms", "left_at_ms"),
        "read_at_ms IS NOT NULL AND done_at_ms IS NULL AND snoozed_until_ms IS NULL AND left_at_ms IS NULL",
    ),
    (
        "ix_notification_done",
        ("recipient_id", "log_offset", "done_at_ms", "left_at_ms"),
        "done_at_ms IS NOT NULL AND left_at_ms IS NULL",
    ),
)


def upgrade() -> None:
    op.add_column("notification", sa.Column("left_at_ms", sa.BigInteger))
    for name, columns, condition in _INDEXES:
        where = sa.text(condition)
        op.drop_index(name, "notification")
        op.create_index(name, "notification", list(columns), sqlite_where=where, postgresql_where=where)
