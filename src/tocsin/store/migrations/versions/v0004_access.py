"""Tables of revocable tokens and failed log-ins, and a counter of access rule changes.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    counter = op.create_table(
        "access_revision",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_access_revision"),
    )
    op.bulk_insert(counter, [{"id": 1, "revision": 1}])
    op.create_table(
        "issued_token",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("user_id", sa.String(36), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("issued_at_ms", sa.BigInteger, nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_issued_token"),
    )
    op.create_index("ix_issued_token_user_id", "issued_token", ["user_id"])
    op.create_index("ix_issued_token_expires_at_ms", "issued_token", ["expires_at_ms"])
    op.create_table(
        "login_attempt",
        sa.Column("key", sa.String(330), nullable=False),
        sa.Column("failed_count", sa.Integer, nullable=False),
        sa.Column("first_failed_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_login_attempt"),
    )
