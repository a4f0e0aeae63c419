"""Alerts that incidents of other alerts hold back.

Revision ID: 0015_held_back
Revises: 0014_remote_ids
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015_held_back"
down_revision = "0014_remote_ids"


def upgrade() -> None:
    op.create_table(
        "alert_held_back",
        sa.Column("incident_id", sa.String(36), primary_key=True),
        sa.Column("subscription_id", sa.String(36), primary_key=True),
        sa.Column("log_offset", sa.BigInteger, nullable=False),
    )
