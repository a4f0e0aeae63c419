"""Consumers of the log whose positions the server keeps.

Revision ID: 0039_consumers
Revises: 0038_lags
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0039_consumers"
down_revision = "0038_lags"


def upgrade() -> None:
    op.create_table(
        "consumer",
        sa.Column("name", sa.String(60), primary_key=True),
        sa.Column("user_id", sa.String(36), nullable=False),
        sa.Column("log_offset", sa.BigInteger, nullable=False),
        sa.Column("registered_at_ms", sa.BigInteger, nullable=False),
        sa.Column("committed_at_ms", sa.BigInteger),
    )
