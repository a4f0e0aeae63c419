"""Scheduled checks.

Revision ID: 0051_scheduled_checks
Revises: 0050_events_of_change_requests
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tocsin.store.database.tables import ID

revision = "0051_scheduled_checks"
down_revision = "0050_events_of_change_requests"


def upgrade() -> None:
    op.create_table(
        "scheduled_check",
        sa.Column("schedule_id", ID, primary_key=True),
        sa.Column("due_at_ms", sa.BigInteger, nullable=False),
        sa.Column("through_offset", sa.BigInteger),
    )
