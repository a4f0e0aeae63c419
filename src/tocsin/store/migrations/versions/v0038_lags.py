"""Lags of the readers of the log.

Revision ID: 0038_lags
Revises: 0037_erasures
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0038_lags"
down_revision = "0037_erasures"


def upgrade() -> None:
    op.create_table(
        "reader_lag",
        sa.Column("reader", sa.String(400), primary_key=True),
        sa.Column("event_count", sa.BigInteger, nullable=False),
        sa.Column("measured_at_ms", sa.BigInteger, nullable=False),
        sa.Column("growing_since_ms", sa.BigInteger),
        sa.Column("exceeded_since_ms", sa.BigInteger),
    )
    op.create_table(
        "consumer_groups",
        sa.Column("relay_name", sa.String(100), primary_key=True),
        sa.Column("measured_at_ms", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
    )
