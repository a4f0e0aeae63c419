"""Datasets and jobs of lineage events that nothing in the catalogue stands for, counted.

Revision ID: 0081_unresolved_lineage
Revises: 0080_push_browsers
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0081_unresolved_lineage"
down_revision = "0080_push_browsers"


def upgrade() -> None:
    op.create_table(
        "unresolved_lineage",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("namespace", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("events", sa.BigInteger, nullable=False),
        sa.Column("first_at_ms", sa.BigInteger, nullable=False),
        sa.Column("last_at_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_unresolved_lineage_last_at_ms", "unresolved_lineage", ["last_at_ms"])
