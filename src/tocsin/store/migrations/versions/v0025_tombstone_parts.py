"""Table of participants of threads deleted with their asset, kept until their posts are notified.

Revision ID: 0025
Revises: 0024
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

_TABLE = "tombstone_part"


def upgrade() -> None:
    op.create_table(
        _TABLE,
        sa.Column("log_offset", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("thread_id", sa.String(36), primary_key=True),
        sa.Column("part", sa.String(10), primary_key=True),
        sa.Column("principal_id", sa.String(36), primary_key=True),
        sa.Column("place", sa.String(36), primary_key=True),
        sa.Column("principal_type", sa.String(10), nullable=False),
        sa.Column("at_offset", sa.BigInteger, nullable=False),
        sa.Column("about_id", sa.String(36), nullable=False),
    )
    op.create_index(f"ix_{_TABLE}_thread_id", _TABLE, ["thread_id"])


def downgrade() -> None:
    op.drop_table(_TABLE)
