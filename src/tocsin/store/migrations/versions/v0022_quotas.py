"""Table of quota usage per person and hour.

Revision ID: 0022
Revises: 0021
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Make the table; nobody has used anything."""
    op.create_table(
        "quota_use",
        sa.Column("user_id", sa.String(36), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("hour", sa.BigInteger, nullable=False),
        sa.Column("used", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "kind", "hour", name="pk_quota_use"),
    )


def downgrade() -> None:
    op.drop_table("quota_use")
