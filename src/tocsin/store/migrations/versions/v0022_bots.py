"""Which bot the secrets of a destination belong to. The server, which has the key, fills it in when it starts.

Revision ID: 0022_bots
Revises: 0021_paced_times
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022_bots"
down_revision = "0021_paced_times"


def upgrade() -> None:
    op.add_column("destination_secret", sa.Column("bot", sa.String(32)))
    op.create_index("ix_destination_secret_bot", "destination_secret", ["bot"])
