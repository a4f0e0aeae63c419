"""Substitutes of people who are away, and for whom a step of an incident assigned it.

Revision ID: 0073_substitutes
Revises: 0072_recommendations
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0073_substitutes"
down_revision = "0072_recommendations"


def upgrade() -> None:
    op.create_table(
        "substitute",
        sa.Column("user_id", sa.String(36), primary_key=True),
        sa.Column("substitute_id", sa.String(36), nullable=False),
        sa.Column("is_accepted", sa.Boolean, nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_substitute_substitute_id", "substitute", ["substitute_id"])
    op.add_column("alert_incident_step", sa.Column("for_id", sa.String(36)))
    op.add_column("alert_incident_step", sa.Column("away_until_ms", sa.BigInteger))
