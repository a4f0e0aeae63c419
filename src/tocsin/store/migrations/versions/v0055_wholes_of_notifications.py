"""Wholes of notifications.

Revision ID: 0055_wholes_of_notifications
Revises: 0054_change_request_reminders
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0055_wholes_of_notifications"
down_revision = "0054_change_request_reminders"
_PARTS = sa.text("whole_id IS NOT NULL")


def upgrade() -> None:
    op.add_column("notification", sa.Column("whole_id", sa.String(36)))
    op.create_index(
        "ix_notification_part",
        "notification",
        ["recipient_id", "whole_id", "log_offset"],
        sqlite_where=_PARTS,
        postgresql_where=_PARTS,
    )
