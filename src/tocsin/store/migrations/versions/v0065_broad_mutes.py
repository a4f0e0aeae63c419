"""Index on mutes of kinds, actors and everything.

Revision ID: 0065_broad_mutes
Revises: 0064_preferences_of_teams
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0065_broad_mutes"
down_revision = "0064_preferences_of_teams"


def upgrade() -> None:
    is_broad = sa.text("kind IN ('kind', 'actor', 'everything')")
    op.create_index("ix_mute_broad", "mute", ["who"], sqlite_where=is_broad, postgresql_where=is_broad)
