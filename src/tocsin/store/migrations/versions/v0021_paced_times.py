"""Turns of paced alerts whose notifications other alerts have sent earlier.

Revision ID: 0021_paced_times
Revises: 0020_withheld
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021_paced_times"
down_revision = "0020_withheld"


def upgrade() -> None:
    op.create_table(
        "paced_time",
        sa.Column("channel", sa.String(20).with_variant(sa.String(40), "postgresql"), primary_key=True),
        sa.Column("recipient", sa.Text, primary_key=True),
        sa.Column("grouping_key", sa.Text, primary_key=True),
        sa.Column("due_at_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_paced_time_due_at_ms", "paced_time", ["due_at_ms"])
