"""Queries on the lake by the API, with their answers.

Revision ID: 0035_lake_queries
Revises: 0034_retention
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035_lake_queries"
down_revision = "0034_retention"

_INDEXES = (("state", "requested_at_ms"), ("requested_by", "requested_at_ms"), ("ended_at_ms",))


def upgrade() -> None:
    op.create_table(
        "lake_query",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("requested_by", sa.String(36), nullable=False),
        sa.Column("requested_at_ms", sa.BigInteger, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("asked_at_ms", sa.BigInteger, nullable=False),
        sa.Column("runner", sa.String(80)),
        sa.Column("seen_at_ms", sa.BigInteger, nullable=False),
        sa.Column("row_count", sa.BigInteger),
        sa.Column("answer", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("code", sa.String(40)),
        sa.Column("ended_at_ms", sa.BigInteger),
    )
    for columns in _INDEXES:
        op.create_index(f"ix_lake_query_{'_'.join(columns)}", "lake_query", list(columns))
