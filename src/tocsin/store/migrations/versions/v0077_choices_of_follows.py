"""Choices of people for single follows, beside their preferences.

Revision ID: 0077_choices_of_follows
Revises: 0076_notices_and_idle_follows
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0077_choices_of_follows"
down_revision = "0076_notices_and_idle_follows"


def upgrade() -> None:
    op.add_column("notification_preference", sa.Column("follows", sa.Text))
