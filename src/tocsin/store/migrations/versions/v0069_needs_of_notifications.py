"""What notifications need of their person.

Revision ID: 0069_needs_of_notifications
Revises: 0068_follows_of_teams
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0069_needs_of_notifications"
down_revision = "0068_follows_of_teams"


def upgrade() -> None:
    op.add_column("notification", sa.Column("need", sa.String(10)))
    where = sa.text("need IS NOT NULL")
    columns = ["recipient_id", "channel", "log_offset", "read_at_ms"]
    op.create_index("ix_notification_need", "notification", columns, sqlite_where=where, postgresql_where=where)
