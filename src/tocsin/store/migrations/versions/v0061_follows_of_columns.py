"""Follows of single columns.

Revision ID: 0061_follows_of_columns
Revises: 0060_choices_of_notifications
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0061_follows_of_columns"
down_revision = "0060_choices_of_notifications"


def upgrade() -> None:
    path_type = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "column_follow",
        sa.Column("entity_id", sa.String(36), primary_key=True),
        sa.Column("column_path", path_type, primary_key=True),
        sa.Column("user_id", sa.String(36), primary_key=True),
        sa.Column("since_offset", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("until_offset", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_column_follow_user_id", "column_follow", ["user_id"])
