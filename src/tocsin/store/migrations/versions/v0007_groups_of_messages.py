"""Groups of messages are found by their recipient.

Revision ID: 0007_groups_of_messages
Revises: 0006_dropped_reasons
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007_groups_of_messages"
down_revision = "0006_dropped_reasons"

_GROUPED = sa.text("grouping_key IS NOT NULL")


def upgrade() -> None:
    columns = ["recipient", "grouping_key", "due_at_ms"]
    op.create_index("ix_message_group", "message", columns, sqlite_where=_GROUPED, postgresql_where=_GROUPED)
