"""Table of mutes.

Revision ID: 0009
Revises: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "mute",
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("about_id", sa.String(36), nullable=False),
        sa.Column("channel", sa.String(20), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
        sa.Column("until_ms", sa.BigInteger, nullable=False),
        sa.Column("unsubscribed", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("who", "about_id", "channel", name="pk_mute"),
    )
    op.create_index("ix_mute_about_id", "mute", ["about_id"])


def downgrade() -> None:
    """Drop the table: nothing is muted any more."""
    op.drop_table("mute")
