"""Breakers of destinations.

Revision ID: 0008_breakers
Revises: 0007_groups_of_messages
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008_breakers"
down_revision = "0007_groups_of_messages"

_OPEN = sa.text("opened_at_ms IS NOT NULL")


def upgrade() -> None:
    op.add_column("destination_status", sa.Column("recent_attempts", sa.Text))
    op.add_column("destination_status", sa.Column("opened_at_ms", sa.BigInteger))
    op.add_column("destination_status", sa.Column("probe_at_ms", sa.BigInteger))
    name, columns = "ix_destination_status_open", ["destination_id"]
    op.create_index(name, "destination_status", columns, sqlite_where=_OPEN, postgresql_where=_OPEN)
    op.create_index("ix_destination_status_destination_id", "destination_status", columns)
