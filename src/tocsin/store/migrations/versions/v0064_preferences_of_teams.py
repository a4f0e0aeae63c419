"""Preferences that teams have for their members.

Revision ID: 0064_preferences_of_teams
Revises: 0063_types_of_what_is_followed
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0064_preferences_of_teams"
down_revision = "0063_types_of_what_is_followed"


def upgrade() -> None:
    op.create_table(
        "team_preference",
        sa.Column("team_id", sa.String(36), primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    )
