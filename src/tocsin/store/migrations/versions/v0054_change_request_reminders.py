"""Reminders of change requests.

Revision ID: 0054_change_request_reminders
Revises: 0053_reminders_of_incidents
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0054_change_request_reminders"
down_revision = "0053_reminders_of_incidents"


def upgrade() -> None:
    op.add_column("change_request", sa.Column("remind_every_days", sa.Integer))
    op.add_column("change_request", sa.Column("remind_at_ms", sa.BigInteger))
