"""Messages instead of deliveries: one or many notifications that go out together; a notification names its message.

Revision ID: 0004_messages
Revises: 0003_notified
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004_messages"
down_revision = "0003_notified"

_ID = sa.String(36)
_OPEN = sa.text("status IN ('pending', 'awaitingRetry')")
_SENT = sa.text("message_id IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "message",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("channel", sa.String(20), nullable=False),
        sa.Column("recipient", sa.Text, nullable=False),
        sa.Column("recipient_id", _ID),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("subscription_id", _ID, nullable=False),
        sa.Column("destination_id", _ID, nullable=False),
        sa.Column("grouping_key", sa.Text),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("attempt_count", sa.Integer, nullable=False),
        sa.Column("due_at_ms", sa.BigInteger, nullable=False),
        sa.Column("wait_ms", sa.BigInteger, nullable=False),
        sa.Column("lease_owner", sa.String(80)),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    )
    # What is sent keeps its id, which receivers have seen, with its status, its count of attempts and its claim.
    op.execute(
        "INSERT INTO message (id, channel, recipient, recipient_id, target, subscription_id, destination_id, status,"
        " attempt_count, due_at_ms, wait_ms, lease_owner, created_at_ms, updated_at_ms)"
        " SELECT d.id, d.channel, coalesce(n.recipient, d.target), n.recipient_id, d.target, d.subscription_id,"
        " d.destination_id, d.status, d.attempt_count, d.due_at_ms, d.wait_ms, d.lease_owner, d.created_at_ms,"
        " d.updated_at_ms FROM delivery d LEFT JOIN notification n ON n.id = d.notification_id"
    )
    op.create_index(
        "ix_message_open", "message", ["destination_id", "due_at_ms"], sqlite_where=_OPEN, postgresql_where=_OPEN
    )
    op.add_column("notification", sa.Column("message_id", _ID))
    op.execute(
        "UPDATE notification SET message_id = (SELECT min(d.id) FROM delivery d"
        " WHERE d.notification_id = notification.id) WHERE channel <> 'ActivityFeed'"
    )
    op.create_index("ix_notification_sent", "notification", ["message_id"], sqlite_where=_SENT, postgresql_where=_SENT)
    op.execute("ALTER TABLE attempt RENAME COLUMN delivery_id TO message_id")
    op.drop_table("delivery")
