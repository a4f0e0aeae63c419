"""Messages in queues, and room for the name of their channel.

Revision ID: 0016_queues
Revises: 0015_held_back
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016_queues"
down_revision = "0015_held_back"

_QUEUED = sa.text("status = 'queued'")


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":  # SQLite ignores the length
        for table in ("notification", "message"):
            op.alter_column(table, "channel", type_=sa.String(40), existing_type=sa.String(20), existing_nullable=False)
    columns = ["subscription_id", "due_at_ms"]
    op.create_index("ix_message_queued", "message", columns, sqlite_where=_QUEUED, postgresql_where=_QUEUED)
