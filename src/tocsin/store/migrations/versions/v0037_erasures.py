"""Requested erasures of users, with their certificates.

Revision ID: 0037_erasures
Revises: 0036_sources
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0037_erasures"
down_revision = "0036_sources"


def upgrade() -> None:
    op.create_table(
        "erasure",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("user_id", sa.String(36), nullable=False),
        sa.Column("requested_by", sa.String(36), nullable=False),
        sa.Column("requested_at_ms", sa.BigInteger, nullable=False),
        sa.Column("is_dry", sa.Boolean, nullable=False),
        sa.Column("identity", sa.Text),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("runner", sa.String(80)),
        sa.Column("seen_at_ms", sa.BigInteger, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("done_count", sa.BigInteger, nullable=False),
        sa.Column("total_count", sa.BigInteger, nullable=False),
        sa.Column("result", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("ended_at_ms", sa.BigInteger),
    )
    op.create_index("ix_erasure_state_requested_at_ms", "erasure", ["state", "requested_at_ms"])
    op.create_index("ix_erasure_user_id_requested_at_ms", "erasure", ["user_id", "requested_at_ms"])
