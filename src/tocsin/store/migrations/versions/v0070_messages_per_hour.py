"""Messages that have a place among those of a person in an hour; when the person of a mute was told of its end.

Revision ID: 0070_messages_per_hour
Revises: 0069_needs_of_notifications
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0070_messages_per_hour"
down_revision = "0069_needs_of_notifications"


def upgrade() -> None:
    op.create_table(
        "hourly_message",
        sa.Column("message_id", sa.String(36), primary_key=True),
        sa.Column("user_id", sa.String(36), primary_key=True),
        sa.Column("channel", sa.String(40), nullable=False),
        sa.Column("hour_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_hourly_message_user_id_channel_hour_ms", "hourly_message", ["user_id", "channel", "hour_ms"])
    op.add_column("mute", sa.Column("told_ms", sa.BigInteger))
