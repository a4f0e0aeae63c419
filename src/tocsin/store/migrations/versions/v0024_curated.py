"""Which values of an entity a person wrote last. What is stored already is worked out when a bot would replace it.

Revision ID: 0024_curated
Revises: 0023_masked_bodies
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024_curated"
down_revision = "0023_masked_bodies"


def upgrade() -> None:
    op.add_column("entity", sa.Column("curated", sa.Text))
