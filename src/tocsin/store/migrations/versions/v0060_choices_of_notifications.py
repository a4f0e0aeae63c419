"""By which preference notifications have their times.

Revision ID: 0060_choices_of_notifications
Revises: 0059_times_of_labels
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0060_choices_of_notifications"
down_revision = "0059_times_of_labels"


def upgrade() -> None:
    op.add_column("notification", sa.Column("preferred", sa.Text))
