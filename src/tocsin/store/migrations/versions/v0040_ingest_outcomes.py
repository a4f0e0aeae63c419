"""Counts of what events of other systems came to.

Revision ID: 0040_ingest_outcomes
Revises: 0039_consumers
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0040_ingest_outcomes"
down_revision = "0039_consumers"


def upgrade() -> None:
    op.create_table(
        "ingest_outcome",
        sa.Column("state", sa.String(20), primary_key=True),
        sa.Column("reason", sa.String(60), primary_key=True),
        sa.Column("event_count", sa.BigInteger, nullable=False),
    )
