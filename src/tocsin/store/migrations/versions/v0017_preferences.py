"""Notification preferences of people.

Revision ID: 0017_preferences
Revises: 0016_queues
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017_preferences"
down_revision = "0016_queues"


def upgrade() -> None:
    op.create_table(
        "notification_preference",
        sa.Column("user_id", sa.String(36), primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    )
