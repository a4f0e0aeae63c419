"""States of notifications in the inbox of their person.

Revision ID: 0062_states_of_notifications
Revises: 0061_follows_of_columns
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0062_states_of_notifications"
down_revision = "0061_follows_of_columns"

_TIMES = ("opened_at_ms", "seen_at_ms", "done_at_ms", "saved_at_ms", "snoozed_until_ms", "snoozed_after")
_INDEXES = (
    ("inbox", ("recipient_id", "channel", "log_offset", "read_at_ms"), None),
    (
        "read",
        ("recipient_id", "log_offset", "read_at_ms", "done_at_ms", "snoozed_until_ms"),
        "read_at_ms IS NOT NULL AND done_at_ms IS NULL AND snoozed_until_ms IS NULL",
    ),
    ("done", ("recipient_id", "log_offset", "done_at_ms"), "done_at_ms IS NOT NULL"),
    ("saved", ("recipient_id", "log_offset", "saved_at_ms"), "saved_at_ms IS NOT NULL"),
    ("snoozed", ("recipient_id", "log_offset", "snoozed_until_ms"), "snoozed_until_ms IS NOT NULL"),
    ("later", ("recipient_id", "due_at_ms"), "channel = 'ActivityFeed' AND due_at_ms > created_at_ms"),
    ("waking", ("snoozed_until_ms", "snoozed_after"), "snoozed_until_ms IS NOT NULL"),
)


def upgrade() -> None:
    for name in _TIMES:
        op.add_column("notification", sa.Column(name, sa.BigInteger))
    op.add_column("notification", sa.Column("snoozed_incident", sa.String(36)))
    for name, columns, condition in _INDEXES:
        where = None if condition is None else sa.text(condition)
        op.create_index(
            f"ix_notification_{name}", "notification", list(columns), sqlite_where=where, postgresql_where=where
        )
    op.drop_index("ix_notification_recipient_id_channel_log_offset", "notification")
    op.create_table(
        "inbox_change",
        sa.Column("user_id", sa.String(36), nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_inbox_change"),
    )
    op.create_index("ix_inbox_change_sequence", "inbox_change", ["sequence"])
