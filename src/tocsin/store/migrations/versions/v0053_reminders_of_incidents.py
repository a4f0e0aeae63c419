"""Reminders of incidents: when each alert last reminded of each that it watches.

Revision ID: 0053_reminders_of_incidents
Revises: 0052_ways_of_answers
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0053_reminders_of_incidents"
down_revision = "0052_ways_of_answers"


def upgrade() -> None:
    op.add_column("incident_watcher", sa.Column("reminded_at_ms", sa.BigInteger))
