"""Ids that receivers gave to what was delivered, by attempt.

Revision ID: 0014_remote_ids
Revises: 0013_triggers
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014_remote_ids"
down_revision = "0013_triggers"


def upgrade() -> None:
    op.add_column("attempt", sa.Column("remote_id", sa.Text))
