"""Reasons that an attempt left out.

Revision ID: 0006_dropped_reasons
Revises: 0005_differences
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006_dropped_reasons"
down_revision = "0005_differences"


def upgrade() -> None:
    op.add_column("attempt", sa.Column("dropped", sa.Text))
