"""Portions of the recipients of events that have very many.

Revision ID: 0041_event_portions
Revises: 0040_ingest_outcomes
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0041_event_portions"
down_revision = "0040_ingest_outcomes"


def upgrade() -> None:
    op.create_table(
        "event_portion",
        sa.Column("log_offset", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("people", sa.Text, nullable=False),
        sa.Column("counts", sa.Text),
        sa.Column("new_count", sa.Integer, nullable=False, server_default="0"),
    )
