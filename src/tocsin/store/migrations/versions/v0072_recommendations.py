"""Recommendations of assets, the runs that make them, and what people have dismissed.

Revision ID: 0072_recommendations
Revises: 0071_tasks
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0072_recommendations"
down_revision = "0071_tasks"

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "recommendation_run",
        sa.Column("id", _NUMBER, primary_key=True, autoincrement=True),
        sa.Column("through_offset", sa.BigInteger, nullable=False),
        sa.Column("completed_at_ms", sa.BigInteger),
    )
    op.create_table(
        "recommendation",
        sa.Column("run_id", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("user_id", sa.String(36), primary_key=True),
        sa.Column("entity_id", sa.String(36), primary_key=True),
        sa.Column("kind", sa.String(10), primary_key=True),
        sa.Column("via_id", sa.String(36), nullable=False),
        sa.Column("through_id", sa.String(36), nullable=False),
        sa.Column("people_count", sa.Integer, nullable=False),
        sa.Column("member_count", sa.Integer, nullable=False),
        sa.Column("strength", sa.Float, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
    )
    op.create_index("ix_recommendation_user_id", "recommendation", ["user_id"])
    op.create_table(
        "dismissed_recommendation",
        sa.Column("user_id", sa.String(36), primary_key=True),
        sa.Column("entity_id", sa.String(36), primary_key=True),
        sa.Column("dismissed_at_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_dismissed_recommendation_entity_id", "dismissed_recommendation", ["entity_id"])
