"""Columns of match results and firings renamed from told to notified.

Revision ID: 0003_notified
Revises: 0002_past_relations
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003_notified"
down_revision = "0002_past_relations"


def upgrade() -> None:
    op.create_table(
        "match_result",
        sa.Column("log_offset", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("subscription_id", sa.String(36), primary_key=True),
        sa.Column("notified_count", sa.Integer, nullable=False),
        sa.Column("resolved_at_ms", sa.BigInteger, nullable=False),
        sa.Column("missing_count", sa.Integer, nullable=False, server_default="0"),
    )
    op.execute(
        "INSERT INTO match_result (log_offset, subscription_id, notified_count, resolved_at_ms, missing_count)"
        " SELECT log_offset, subscription_id, told_count, told_at_ms, missing_count FROM telling"
    )
    op.drop_table("telling")
    op.execute("ALTER TABLE firing RENAME COLUMN told_count TO notified_count")
    op.execute("UPDATE pipeline_progress SET query_name = 'match_results' WHERE query_name = 'tellings'")
