"""Edges and followers that sources brought.

Revision ID: 0042_source_links
Revises: 0041_event_portions
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tocsin.store.database.tables import ID

revision = "0042_source_links"
down_revision = "0041_event_portions"


def upgrade() -> None:
    op.create_table(
        "source_link",
        sa.Column("source", sa.String(80), primary_key=True),
        sa.Column("kind", sa.String(10), primary_key=True),
        sa.Column("from_id", ID, primary_key=True),
        sa.Column("to_id", ID, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
    )
    for column in ("from_id", "to_id"):
        op.create_index(f"ix_source_link_{column}", "source_link", [column])
