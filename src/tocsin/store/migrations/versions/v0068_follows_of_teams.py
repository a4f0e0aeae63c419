"""What members of teams follow by default, and what single ones of them do not.

Revision ID: 0068_follows_of_teams
Revises: 0067_verified_addresses
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0068_follows_of_teams"
down_revision = "0067_verified_addresses"


def upgrade() -> None:
    op.create_table(
        "team_follow",
        sa.Column("entity_id", sa.String(36), primary_key=True),
        sa.Column("team_id", sa.String(36), primary_key=True),
        sa.Column("since_offset", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("until_offset", sa.BigInteger, nullable=False),
        sa.Column("entity_type", sa.String(40), nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_team_follow_team_id", "team_follow", ["team_id"])
    op.create_index("ix_team_follow_entity_type", "team_follow", ["entity_type"])
    op.create_table(
        "follow_refusal",
        sa.Column("entity_id", sa.String(36), primary_key=True),
        sa.Column("user_id", sa.String(36), primary_key=True),
        sa.Column("since_offset", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_follow_refusal_user_id", "follow_refusal", ["user_id"])
