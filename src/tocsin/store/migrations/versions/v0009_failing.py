"""Streaks of failures of destinations.

Revision ID: 0009_failing
Revises: 0008_breakers
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009_failing"
down_revision = "0008_breakers"


def upgrade() -> None:
    op.add_column("destination_status", sa.Column("failing_since_ms", sa.BigInteger))
    for name in ("failing_count", "failing_percent", "reported_percent"):
        op.add_column("destination_status", sa.Column(name, sa.Integer, nullable=False, server_default="0"))
    op.add_column("destination_status", sa.Column("stopped_at_ms", sa.BigInteger))
    gone = "last_failed_status_code = 410 AND status = 'failed'"
    op.execute(  # what a receiver had asked to stop stays stopped, and is not reported again
        "UPDATE destination_status SET opened_at_ms = last_failed_at_ms, stopped_at_ms = last_failed_at_ms,"  # noqa: S608
        " failing_since_ms = last_failed_at_ms, failing_count = 1, failing_percent = 100, reported_percent = 100"
        f" WHERE {gone}"
    )
