"""Ids that receivers gave to what was delivered, by attempt.

Revision ID: 0011_remote_ids
Revises: 0014_triggers
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011_remote_ids"
down_revision = "0014_triggers"


def upgrade() -> None:
    op.add_column("attempt", sa.Column("remote_id", sa.Text))
